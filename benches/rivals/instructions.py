"""Counts the instructions and mispredicted branches of longpipe per delivered packet and its ACK, with callgrind.

Unlike CPU time, these numbers do not depend on the load of the machine. Mispredictions are those of callgrind's model;
they vary by up to two per packet with the addresses of the branches.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import longpipe_run
from rich.console import Console
from rich.table import Table
from simulators import KINDS, RivalError
from works import WORKS, Work

# Only instructions between these times are counted, to exclude the start.
FROM_S: Final = 10.0
UNTIL_S: Final = 20.0
# Further buffers [packet] for BBR; with the buffer that suits ns-3, losses depend on the seed. With the first one, the
# seeds 1 to 8 lose nothing after 10 s; with the second one, they lose 18 % of the packets.
BBR_BUFFERS: Final = {"bbr, few losses": 2120, "bbr, many losses": 53}
OTHER_MODES: Final = (
    "cubic over fq-codel",
    "cubic through a proxy",
    longpipe_run.TWO_WAY,
    "paced cubic over hosts' fq",
    "prague over dualpi2",
    "arriving short flows",
)
# Instructions, conditional branches and their mispredictions, indirect branches and their mispredictions.
COUNT: Final = re.compile(r"Collected : (\d+) \d+ (\d+) \d+ (\d+)")


@dataclass(frozen=True)
class Count:
    """Instructions, mispredicted branches and delivered packets between `FROM_S` and `UNTIL_S`."""

    kind: str
    instructions: int
    mispredictions: int
    packets: int

    @property
    def per_packet(self) -> float:
        """Returns the instructions per delivered packet."""
        return self.instructions / self.packets

    @property
    def mispredictions_per_packet(self) -> float:
        """Returns the mispredicted branches per delivered packet."""
        return self.mispredictions / self.packets


def works() -> dict[str, tuple[str, Work]]:
    """Returns the mode and the work of each kind; tail drop comes first."""
    work = WORKS["A"]
    modes = ("ip", "cells", *longpipe_run.PATHS, *KINDS["longpipe"][1:], *OTHER_MODES)
    bbr = {kind: ("bbr", replace(work, buffer_packets=packets)) for kind, packets in BBR_BUFFERS.items()}
    return {**{mode: (mode, work.suiting(mode)) for mode in modes}, **bbr}


def count(program: Path, told: Callable[[str], None]) -> list[Count]:
    """Counts every kind with the example `run` of crates/network. Raises RivalError if a program fails."""
    if shutil.which("valgrind") is None:
        raise RivalError("valgrind is missing: Debian's package valgrind")
    if not program.exists():
        raise RivalError(f"program: {program} is missing; make bench-instructions compiles it")
    found = []
    for kind, (mode, work) in works().items():
        told(kind)
        ends = [_run(program, work.lasting(duration_s), mode) for duration_s in (FROM_S, UNTIL_S)]
        found.append(Count(kind, *(later - earlier for earlier, later in zip(*ends, strict=True))))
    return found


def _run(program: Path, work: Work, mode: str) -> tuple[int, int, int]:
    """Returns the instructions, the mispredicted branches, and the delivered packets. Raises RivalError if it fails."""
    counting = ["valgrind", "--tool=callgrind", "--branch-sim=yes", "--callgrind-out-file=/dev/null", str(program)]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.json"
        scenario.write_text(json.dumps(longpipe_run.scenario(work, mode).resolve()), encoding="utf-8")
        ran = subprocess.run([*counting, str(scenario)], capture_output=True, text=True, check=False)  # noqa: S603
    collected = COUNT.search(ran.stderr)
    if ran.returncode != 0 or collected is None:
        raise RivalError(f"valgrind: {ran.stderr.strip()[-300:]}")
    instructions, conditional, indirect = map(int, collected.groups())
    return instructions, conditional + indirect, int(ran.stdout.split()[0])


def records(counts: list[Count]) -> list[dict[str, Any]]:
    """Returns a record per kind."""
    first = counts[0].per_packet
    return [
        {
            "kind": one.kind,
            "instructions": one.instructions,
            "packets": one.packets,
            "instructions_per_packet": one.per_packet,
            "relative_to_tail_drop": one.per_packet / first,
            "mispredictions_per_packet": one.mispredictions_per_packet,
        }
        for one in counts
    ]


def show(counts: list[Count], console: Console) -> None:
    """Prints the instructions per packet of each kind, and relative to tail drop."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("instructions\nper packet", "relative to\ntail drop", "mispredictions\nper packet"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in records(counts):
        numbers = (f"{row['instructions_per_packet']:.0f}", f"{row['relative_to_tail_drop']:.2f}")
        table.add_row(row["kind"], *numbers, f"{row['mispredictions_per_packet']:.1f}")
    console.print(table)
