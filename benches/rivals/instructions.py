"""Counts the instructions that longpipe executes per delivered packet and its ACK, with valgrind's callgrind.

Unlike CPU time, this number does not depend on the load of the machine.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
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
SMALL_BUFFER: Final = "bbr, 53 packets"
COUNT: Final = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True)
class Count:
    """Instructions and delivered packets between `FROM_S` and `UNTIL_S`."""

    kind: str
    instructions: int
    packets: int

    @property
    def per_packet(self) -> float:
        """Returns the instructions per delivered packet."""
        return self.instructions / self.packets


def works() -> dict[str, tuple[str, Work]]:
    """Returns the mode and the work of each kind; tail drop comes first."""
    work = WORKS["A"]
    modes = ("ip", "cells", *longpipe_run.PATHS, *KINDS["longpipe"][1:], "cubic over fq-codel")
    return {**{mode: (mode, work.suiting(mode)) for mode in modes}, SMALL_BUFFER: ("bbr", work)}


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
        instructions, packets = (later - earlier for earlier, later in zip(*ends, strict=True))
        found.append(Count(kind, instructions, packets))
    return found


def _run(program: Path, work: Work, mode: str) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.json"
        scenario.write_text(json.dumps(longpipe_run.scenario(work, mode).resolve()), encoding="utf-8")
        counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), str(scenario)]
        ran = subprocess.run(counting, capture_output=True, text=True, check=False)  # noqa: S603
    collected = COUNT.search(ran.stderr)
    if ran.returncode != 0 or collected is None:
        raise RivalError(f"valgrind: {ran.stderr.strip()[-300:]}")
    return int(collected[1]), int(ran.stdout.split()[0])


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
        }
        for one in counts
    ]


def show(counts: list[Count], console: Console) -> None:
    """Prints the instructions per packet of each kind, and relative to tail drop."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("instructions\nper packet", "relative to\ntail drop"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in records(counts):
        table.add_row(row["kind"], f"{row['instructions_per_packet']:.0f}", f"{row['relative_to_tail_drop']:.2f}")
    console.print(table)
