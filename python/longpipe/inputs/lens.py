"""Rows of the LENS data set of Starlink (Zhao and Pan, MMSys 2024), and of files with the same columns.

Times are Unix times in s, ms, us or ns; delays are in ms. A lost probe has the RTT -1, or the RTT 0 and -1 in the
direction in which it was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.numbers import scaled, unix_ns
from longpipe.inputs.table import Table

_HEADS: Final = (("timestamp", "rtt", "uplink", "downlink"), ("timestamp", "rtt"))
_PS_PER_MS: Final = Fraction(10**9)
_LOST_PS: Final = -(10**9)
_MAX_PS: Final = 10**20


class Probe(NamedTuple):
    """A row: its line, its Unix time [ns], and the delays [ps]; a lost probe has no delays."""

    line: int
    time_ns: int
    rtt: int | None
    uplink: int | None = None
    downlink: int | None = None
    # Directions in which the probe was lost, as far as they are known.
    lost_in: tuple[str, ...] = ()


def is_lens(heads: Sequence[str]) -> bool:
    """Returns whether a table has the columns of LENS."""
    return tuple(head.casefold() for head in heads) in _HEADS


def probes(table: Table) -> Iterator[Probe]:
    """Yields the rows. Raises ScenarioError with the line of a value that is not a time or a delay."""
    names = [head.casefold() for head in table.heads]
    for line, cells in table:
        time_ns = unix_ns(cells[0])
        if time_ns is None:
            raise ScenarioError(f"{table.file}:{line}: timestamp {shown(cells[0])}; needs Unix time in s or ns")
        delays: dict[str, int] = {}
        for name, cell in zip(names[1:], cells[1:], strict=True):
            value = scaled(cell, _PS_PER_MS)
            # Delays in one direction are negative if the clocks of both ends differ.
            if value is None or not -_MAX_PS <= value <= _MAX_PS or (name == "rtt" and value < 0 and value != _LOST_PS):
                raise ScenarioError(f"{table.file}:{line}: {name} {shown(cell)}; needs milliseconds, or -1 if lost")
            delays[name] = value
        rtt = delays["rtt"]
        lost_in = tuple(name for name, value in delays.items() if name != "rtt" and value == _LOST_PS and rtt <= 0)
        if rtt == _LOST_PS or lost_in:
            yield Probe(line, time_ns, None, lost_in=lost_in)
        else:
            yield Probe(line, time_ns, rtt, delays.get("uplink"), delays.get("downlink"))
