"""Measures processor time of starts: `longpipe --help`, a small `longpipe run`, and `import numpy` for comparison.

Usage: python benches/startup.py [ROUNDS]. Bytecode is cached, as in an installed package. The commands of a round run
one after another, so that other work on the machine affects all of them equally. Each number is the minimum over all
rounds of the user plus system time [s], because other work on the machine can only add to it.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LONGPIPE = [sys.executable, "-m", "longpipe"]
# Commands by name. The store is created before the first round.
COMMANDS = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "--help": [*LONGPIPE, "--help"],
    "run --no-store": [*LONGPIPE, "run", "geo.toml", "--no-store"],
    "run, stored": [*LONGPIPE, "run", "geo.toml", "--store", "runs.db"],
    "run, to be stored": [*LONGPIPE, "run", "geo.toml", "--store", "runs.db", "--seed"],
}


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Returns the processor time [s] of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(command: list[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)  # noqa: S603 - commands of this file


def main(rounds: int) -> None:
    """Prints the minimum of each command, and the ratio of this minimum to that of `import numpy`."""
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([*LONGPIPE, "init", "geo.toml", "--example", "geo"], folder)
        scenario = folder / "geo.toml"
        scenario.write_text(scenario.read_text().replace('duration = "120 s"', 'duration = "1 s"'))
        _run(COMMANDS["run, stored"], folder)
        for number in range(rounds):
            for what, command in COMMANDS.items():
                seed = [str(number + 2)] if command[-1] == "--seed" else []
                found[what].append(cpu_seconds([*command, *seed], folder))
    unit = min(found["import numpy"])
    for what, seconds in found.items():
        sys.stdout.write(f"{what:<18} {min(seconds):6.3f} s {min(seconds) / unit:5.2f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
