"""ns-2 with settings that were usual in 2000: one TCP connection over one bottleneck.

The settings are coarse ticks, an initial window of 1, no SYN, no limited transmit, and windows halved to whole
segments.
"""

import math
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import as_file, files
from typing import Final, NamedTuple

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.scenario.timers import Coarse, FixedPhase
from longpipe.units import TIME

PROGRAM: Final = "ns"
SCRIPT: Final = "ns2.tcl"
AGENTS: Final[dict[str, tuple[str, str]]] = {
    "vanilla": ("Agent/TCP", "Agent/TCPSink"),
    "tahoe": ("Agent/TCP", "Agent/TCPSink"),
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink"),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink"),
    "sack": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
    "vegas": ("Agent/TCP/Vegas", "Agent/TCPSink"),
}
# Phase of ns-2's clock [fraction of a tick]: 1 minus `boot_time_`, drawn from its default seed.
PHASE: Final = Fraction("0.444119")
TIMEOUT_S: Final = 300
VARIABLE_FIELDS: Final = 7


@dataclass(frozen=True)
class Ns2Run:
    """Results of ns-2: data frames with `s` and `segment` in order of time, and the sender's counters."""

    sent: pd.DataFrame
    lost: pd.DataFrame
    arrived: pd.DataFrame
    timeouts: int
    retransmissions: int


class Step(NamedTuple):
    """A step of ns-2's sender: a segment sent (`send`), a cumulative ACK (`ack`), or a variable and its new value."""

    s: float
    kind: str
    value: float


def available() -> bool:
    """Returns whether ns-2 is installed."""
    return shutil.which(PROGRAM) is not None


def run(arguments: Sequence[object]) -> Ns2Run:
    """Runs ns2.tcl; that script documents its arguments. Raises ScenarioError if ns-2 is missing."""
    *output_lines, end = lines(arguments)
    data = [line for line in output_lines if line[4] == "tcp"]
    events = {
        name: pd.DataFrame(
            [(float(line[1]), int(line[10])) for line in data if (line[0], line[2]) == (event, node)],
            columns=["s", "segment"],
        )
        for name, event, node in (("sent", "+", "0"), ("lost", "d", "1"), ("arrived", "r", "2"))
    }
    return Ns2Run(**events, timeouts=int(end[1]), retransmissions=int(end[2]))


def watch(arguments: Sequence[object]) -> list[Step]:
    """Returns the steps of the sender in a run."""
    steps = []
    for line in lines([*arguments, 1])[:-1]:
        if len(line) == VARIABLE_FIELDS:
            steps.append(Step(float(line[0]), line[5], float(line[6])))
        elif (line[0], line[2], line[4]) == ("+", "0", "tcp"):
            steps.append(Step(float(line[1]), "send", int(line[10])))
        elif (line[0], line[3], line[4]) == ("r", "0", "ack"):
            steps.append(Step(float(line[1]), "ack", int(line[10]) + 1))
    return steps


def lines(arguments: Sequence[object], name: str = SCRIPT) -> list[list[str]]:
    """Returns the fields of each line that a script prints, by default ns2.tcl; the last line is "end".

    In a trace, packets have event, time, from, to, type, bytes, flags, flow, source, destination, number, packet;
    variables have time, source, port, destination, port, name, value.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise ScenarioError(f"{PROGRAM}: not found; needs ns-2, Debian's package ns2")
    with as_file(files(__package__) / name) as script:
        command = [program, str(script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
    rows = [line.split() for line in done.stdout.splitlines() or [""]]
    if done.returncode != 0 or rows[-1][:1] != ["end"]:
        raise RuntimeError(f"ns-2 failed: {done.stderr.strip() or done.stdout.strip()[-500:]}")
    return rows


def timer(tick: str) -> Coarse:
    """Returns ns-2's retransmission timer, which does not expire on ticks."""

    def ticks(time: str) -> str:
        return f"{math.ceil(Fraction(TIME.parse(time), TIME.parse(tick)))} ticks"

    return Coarse(
        tick=tick,
        phase=FixedPhase(at=f"{int(PHASE * TIME.parse(tick))} ps"),
        min_rto=ticks("200 ms"),
        initial_rto=ticks("3 s"),
        max_rto=ticks("64 s"),
        count_from_one=False,
        expires_on_tick=False,
    )
