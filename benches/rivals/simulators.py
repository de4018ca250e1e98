"""The simulators: what they require, and how one run of a work is performed."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from works import Work

HERE: Final = Path(__file__).parent
NS3_PROGRAM: Final = HERE.parents[1] / "target" / "rivals" / "ns3"
NS3_HEADER: Final = Path("/usr/include/ns3/core-module.h")
NS3_MODULES: Final = (
    "core", "network", "internet", "applications", "point-to-point", "traffic-control", "nix-vector-routing",
)  # fmt: skip
PACKAGES: Final = ("ns2", "libns3-dev", "g++")
LONGEST_S: Final = 3600
# Resolution [s] of a program's user CPU time, which is the minimum time that a simulation counts as.
RESOLUTION_S: Final = {"longpipe": 1e-4, "ns-2": 1e-2, "ns-3": 1e-4}

Mode = str
"""What links carry, "ip" or "cells"; or of IP what its queue is, or what sends over it."""
MODES: Final[dict[str, tuple[Mode, ...]]] = {"longpipe": ("ip", "cells"), "ns-2": ("ip",), "ns-3": ("ip",)}
KINDS: Final[dict[str, tuple[Mode, ...]]] = {
    "longpipe": (
        "ip",
        "red",
        "step-marking",
        "pie",
        "codel",
        "fq-codel",
        "cubic",
        "bbr",
        "wi-fi with 10 stations",
        "cellular with 10 users",
        "docsis with 10 modems",
        "dama with 10 terminals",
    ),
    "ns-3": ("ip", "red", "pie", "codel", "fq-codel", "cubic", "bbr"),
}

IDLE_BEAM: Final = "idle beam"


class RivalError(Exception):
    """One-line error for a simulator that cannot be run."""


@dataclass(frozen=True)
class Run:
    """Results of one run: packets delivered in order, and resources after loading, at simulated time 0, and at the end.

    User CPU time [s], and peak memory.
    """

    delivered_packets: int
    loaded_s: float
    loaded_bytes: int
    ready_s: float
    end_s: float
    peak_bytes: int

    @property
    def cpu_s(self) -> float:
        """Returns the user CPU time [s], excluding the start of the program."""
        return self.end_s - self.loaded_s

    @property
    def simulation_s(self) -> float:
        """Returns the user CPU time [s], excluding the start of the program and the construction of the network."""
        return self.end_s - self.ready_s


def missing(simulator: str) -> str | None:
    """Returns the reason why a simulator cannot be run, or None; compiles ns3.cc if it is newer than its program."""
    if simulator == "ns-2" and shutil.which("ns") is None:
        return "ns-2 is missing: Debian's package ns2, or make bench-rivals INSTALL=1"
    if simulator == "ns-3" and not NS3_HEADER.exists():
        return "ns-3 is missing: Debian's package libns3-dev, or make bench-rivals INSTALL=1"
    if simulator == "ns-3" and shutil.which("g++") is None:
        return "ns-3 needs a compiler: Debian's package g++, or make bench-rivals INSTALL=1"
    return _compile_ns3() if simulator == "ns-3" else None


def install() -> None:
    """Installs the rivals from Debian. Raises RivalError if that fails."""
    if shutil.which("apt-get") is None:
        raise RivalError("install: no apt-get here; needs Debian, or ns2 and libns3-dev by other means")
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *PACKAGES]):
        try:
            subprocess.run([*prefix, "apt-get", *arguments], check=True)  # noqa: S603
        except (OSError, subprocess.CalledProcessError) as error:
            raise RivalError(f"install: {error}; needs root or sudo, and a network") from None


def _compile_ns3() -> str | None:
    source = HERE / "ns3.cc"
    if NS3_PROGRAM.exists() and NS3_PROGRAM.stat().st_mtime > source.stat().st_mtime:
        return None
    NS3_PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    libraries = [f"-lns3-{name}" for name in NS3_MODULES]
    command = ["g++", "-std=c++17", "-O3", "-DNDEBUG", "-o", str(NS3_PROGRAM), str(source), *libraries]
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return None if made.returncode == 0 else f"ns-3 cannot be compiled: {made.stderr.strip().splitlines()[-1]}"


def run(simulator: str, work: Work, mode: Mode) -> Run:
    """Performs one run in a separate process. Raises RivalError if it fails."""
    command = _command(simulator, work, mode)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)  # noqa: S603
    try:
        delivered, loaded_s, loaded_bytes, ready_s, _, end_s, peak = map(float, done.stdout.split())
    except ValueError:
        raise RivalError(f"{simulator}, work {work.name}: {(done.stderr or done.stdout).strip()[-500:]}") from None
    end_s = max(end_s, ready_s + RESOLUTION_S[simulator])
    return Run(int(delivered), loaded_s, int(loaded_bytes), ready_s, end_s, int(peak))


def _command(simulator: str, work: Work, mode: Mode) -> list[str]:
    if simulator == "ns-2":
        return ["ns", str(HERE / "ns2.tcl"), *work.arguments()]
    if simulator == "ns-3":
        return [str(NS3_PROGRAM), *work.arguments(), mode]
    return [sys.executable, str(HERE / "longpipe_run.py"), mode, json.dumps(asdict(work))]
