"""Measures the speed of runs with the stacks of docs/more-stacks.md: data packets per CPU second on one core.

Each transfer sends 250 MB (100 s) with the default control over 20 Mbit/s and 40 ms, aioquic 10 MB. A data packet
includes its ACKs, both ends and the path.
Run with: .venv/bin/python benches/more_stacks.py [NAME ...]
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ENDS: Final = ROOT / "target" / "ends"
PROGRAMS: Final = {"quic-go": ENDS / "quic-go", "aioquic": ROOT / "integrations" / "stacks" / "aioquic_end.py"}
SIZE: Final = 250_000_000
RUN: Final = """
import sys
from pathlib import Path
from longpipe import Scenario, simulate
name, file, size = sys.argv[1:]
network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
source = {".so": {"file": file}, ".py": {"command": ["python", file]}, "": {"command": [file]}}[Path(file).suffix]
traffic = {"kind": "own-stack", **source, "stack": name, "settings": {"size": int(size)}}
fields = {"framing": "ip", "duration": "200 s", "switch": {"buffer": "1 BDP"}}
scenario = Scenario(defaults="1996", **fields, network=network, traffic=traffic)
print(simulate(scenario).flows.sent_segments[0])
"""


def cost(name: str, size: int) -> tuple[int, float]:
    """Returns the number of packets that a transfer sends, and the CPU time of its command [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    file = PROGRAMS.get(name, ENDS / f"{name}.so")
    words = [sys.executable, "-c", RUN, name, str(file), str(size)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603 - constant
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the best of three transfers with each stack, less the time of a short one."""
    names = sys.argv[1:] or [*sorted(file.stem for file in ENDS.glob("*.so")), *PROGRAMS]
    for name in names:
        short = min(cost(name, 1000)[1] for _ in range(3))
        size = 10_000_000 if name == "aioquic" else SIZE
        packets, cpu_s = min((cost(name, size) for _ in range(3)), key=lambda found: found[1])
        print(f"{name}: {cpu_s - short:.2f} s, {packets / (cpu_s - short):,.0f} data packets/s")  # noqa: T201


if __name__ == "__main__":
    main()
