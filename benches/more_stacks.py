"""Measures the speed of the stacks of docs/more-stacks.md: data packets per CPU second on one core.

Each transfer sends 100 MB with the default control, aioquic's 10 MB: in longpipe, over 20 Mbit/s and 40 ms, and over
UDP sockets of the loopback interface in real time, without a limit of the rate. A data packet includes its ACKs and
both ends; in longpipe also the path, on the loopback interface also the kernel's sockets.

    .venv/bin/python benches/more_stacks.py [NAME ...]
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from longpipe import stacks
from longpipe.own_stacks import INCLUDE

ROOT: Final = Path(__file__).parent.parent
ENDS: Final = ROOT / "target" / "ends"
GO: Final = "quic-go"
AIOQUIC: Final = "aioquic"
PROGRAMS: Final = {GO: ENDS / GO, AIOQUIC: ROOT / "integrations" / "stacks" / "aioquic_end.py"}
SIZE: Final = 100_000_000
REPETITIONS: Final = 2
RUN: Final = """
import sys
from pathlib import Path
from longpipe import Scenario, simulate
name, file, size = sys.argv[1:]
network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
source = {".so": {"file": file}, ".py": {"command": ["python", file]}, "": {"command": [file]}}[Path(file).suffix]
traffic = {"kind": "own-stack", **source, "stack": name, "settings": {"size": int(size)}}
fields = {"framing": "ip", "duration": "100 s", "switch": {"buffer": "1 BDP"}}
scenario = Scenario(defaults="1996", **fields, network=network, traffic=traffic)
print(simulate(scenario).flows.sent_segments[0])
"""
# The object is loaded by Python because picoquic's, which is a module of Python, has symbols of the interpreter.
OVER_LOOPBACK: Final = """
import ctypes, sys
results = (ctypes.c_double * 3)()
ctypes.CDLL(sys.argv[1]).transfer(*(word.encode() for word in sys.argv[2:]), results)
print(*results)
"""


def file_of(name: str) -> Path:
    """Returns the object or the program of a stack."""
    if name in ("quinn", "noq"):
        return Path(str(stacks.installed()))
    return PROGRAMS.get(name, ENDS / f"{name}.so")


def output(*words: str | Path) -> str:
    """Returns the standard output of a command."""
    return subprocess.run([*map(str, words)], check=True, capture_output=True, text=True).stdout  # noqa: S603 - constant


def cost(name: str, size: int) -> tuple[int, float]:
    """Returns the number of packets that a transfer in longpipe sends, and the CPU time of its command [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    packets = output(sys.executable, "-c", RUN, name, file_of(name), str(size))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(packets), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate_in_longpipe(name: str, size: int) -> float:
    """Returns the packets per CPU second of a transfer in longpipe, without the CPU time of a short one."""
    short_s = min(cost(name, 1000)[1] for _ in range(REPETITIONS))
    packets, cpu_s = min((cost(name, size) for _ in range(REPETITIONS)), key=lambda measured: measured[1])
    return packets / (cpu_s - short_s)


def rate_over_loopback(name: str, size: int, driver: Path) -> float:
    """Returns the packets per CPU second of a transfer over the loopback interface."""
    if name == GO:
        words = output(file_of(name), "-test.run", "^$", "-test.bench", "Loopback", "-test.benchtime", "1x").split()
        return float(words[words.index("packets/CPU-s") - 1])
    if name == AIOQUIC:
        results = output(sys.executable, Path(__file__).parent / "loopback.py", str(size)).split()
    else:
        results = output(sys.executable, "-c", OVER_LOOPBACK, driver, file_of(name), name, str(size)).split()
    return float(results[0]) / float(results[1])


def main() -> None:
    """Prints, for each stack, the best of some transfers."""
    names = sys.argv[1:] or [*sorted(file.stem for file in ENDS.glob("*.so")), *PROGRAMS]
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder) / "loopback.so"
        source = Path(__file__).parent / "loopback.c"
        output("cc", "-O2", "-std=c11", "-shared", "-fPIC", f"-I{INCLUDE}", source, "-o", driver)
        for name in names:
            size = SIZE // 10 if name == AIOQUIC else SIZE
            simulated = rate_in_longpipe(name, size)
            real = max(rate_over_loopback(name, size, driver) for _ in range(REPETITIONS))
            print(f"{name}: {simulated:,.0f} data packets/s, {real:,.0f} over loopback", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
