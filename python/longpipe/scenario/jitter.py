"""Distributions of the jitter of Linux's `netem`."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import read_lines
from longpipe.scenario.conditioner import Conditioning
from longpipe.scenario.core import core_fields

# Number of entries of a table, and number of a table's units per jitter (`NETEM_DIST_SCALE`).
ENTRIES: Final = 4096
SCALE: Final = 8192
LEAST, MOST = -32768, 32767
# Maximum number of entries of a table in tc (`MAXDIST`) and in the kernel (`NETEM_DIST_MAX`).
MAX_ENTRIES: Final = 16384
# An entry in the syntax of strtol, within 16 bits.
_ENTRY: Final = re.compile(r"[+-]?[0-9]{1,9}")
# Number of entries of the finer table from which iproute2 computes the one for the normal distribution.
FINE: Final = 16384


class FromTable(Conditioning):
    """A conditioner with a distribution, which the core receives as a table."""

    if TYPE_CHECKING:
        distribution: str

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yields cross-field problems, as (field, message)."""
        yield from super().problems()
        try:
            table_of(self.distribution)
        except ScenarioError as error:
            yield "distribution", str(error)

    def core(self) -> dict[str, Any]:
        """Returns the fields for the core. Raises ScenarioError with the line of an invalid file."""
        table = table_of(self.distribution)
        return core_fields(self, without=("distribution",)) | ({} if table is None else {"table": list(table)})


def delay_with_jitter_ps(link: Mapping[str, Any]) -> int:
    """Returns the delay [ps] of a resolved directed link: its propagation delay, and the mean delay of its jitter."""
    delay_ps: int = link["delay_ps"]
    if conditioners := link.get("conditioners"):
        delay_ps += sum([conditioner["delay_ps"] for conditioner in conditioners if conditioner["kind"] == "jitter"])
    return delay_ps


def table_of(distribution: str) -> tuple[int, ...] | None:
    """Returns the inverse distribution function in units of jitter / 8192; None for uniform."""
    made = _TABLES.get(distribution)
    return made() if made is not None else _read(distribution)


def tables() -> dict[str, list[int]]:
    """Returns the tables of named distributions, each as its first entry and the differences; uniform's is empty."""
    named = {name: table_of(name) or () for name in _TABLES}
    return {
        name: [entry - before for before, entry in zip((0, *table), table, strict=False)]
        for name, table in named.items()
    }


def _read(file: str) -> tuple[int, ...]:
    """Returns the table in a file of tc, which contains integers, and comments that begin with #."""
    needs = f"integers of {LEAST} to {MOST}, and comments from # on"
    table: list[int] = []
    for number, line in enumerate(read_lines(file, f"{', '.join(_TABLES)} or a readable file"), 1):
        for word in line.partition("#")[0].split():
            if _ENTRY.fullmatch(word) is None or not LEAST <= int(word) <= MOST:
                raise ScenarioError(f"{file}:{number}: {shown(word)}; needs {needs}")
            table.append(int(word))
            if len(table) > MAX_ENTRIES:
                raise ScenarioError(
                    f"{file}:{number}: more than {MAX_ENTRIES} integers; needs at most this number, as tc"
                )
    if not table:
        raise ScenarioError(f"{file}: no integers; needs {needs}")
    return tuple(table)


def _bounded(entries: Iterable[float]) -> tuple[int, ...]:
    return tuple(min(MOST, max(LEAST, int(entry))) for entry in entries)


@cache
def _normal() -> tuple[int, ...]:
    """Returns the table of iproute2's `netem/normal.c`."""
    return _bounded(_unbounded_normal())


@cache
def _unbounded_normal() -> tuple[int, ...]:
    """Samples the normal distribution in steps of 5e-5 standard deviations.

    Each sample is stored in the table cell that belongs to its cumulative probability.
    """
    # Imported here because few scenarios need it.
    from statistics import NormalDist

    cumulative, cells = NormalDist().cdf, [0.0] * (FINE + 1)
    x = -10.0
    while x < 10.05:
        cells[round(FINE * cumulative(x))] = x
        x += 0.00005
    return tuple(round(SCALE * cells[4 * place]) for place in range(ENTRIES))


@cache
def _pareto() -> tuple[int, ...]:
    """Returns the table of iproute2's `netem/pareto.c`: shape 3, mean 1.5, deviation .75."""
    shares = (1 - place / ENTRIES for place in range(ENTRIES))
    return _bounded(round((math.pow(share, -1 / 3) - 1.5) * (4 / 3) * SCALE) for share in shares)


@cache
def _pareto_normal() -> tuple[int, ...]:
    """Returns iproute2's `netem/paretonormal.c`: a quarter normal and three quarters Pareto, truncated towards 0."""
    return _bounded((normal + 3 * pareto) / 4 for normal, pareto in zip(_unbounded_normal(), _pareto(), strict=True))


_TABLES: Final[dict[str, Callable[[], tuple[int, ...] | None]]] = {
    "uniform": lambda: None,
    "normal": _normal,
    "pareto": _pareto,
    "paretonormal": _pareto_normal,
}
# Names of the distributions, which are no files.
DISTRIBUTIONS: Final = tuple(_TABLES)
