"""Distributions of the jitter of Linux's `netem`, and of Wi-Fi as in picoquic's simulator."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import read_lines
from longpipe.scenario.conditioner import Conditioning
from longpipe.scenario.core import core_fields
from longpipe.units import TIME

# Picoseconds of a millisecond.
MS: Final = 10**9
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
# The distribution of which `jitter` is the mean, and not the scale.
WIFI: Final = "wifi"
# Scale of its table: a quarter of the largest delay, which at most one in 20 000 packets would exceed.
WIFI_SCALE_MS: Final = 50
# Mean numbers of short and of long steps of a delay, and durations of the steps [ms] (picoquic d199d45,
# picoquic/sim_link.c).
WIFI_STEPS: Final = (1, 12)
WIFI_STEP_MS: Final = (1.0, 7.5)
# Means up to which no packet has long steps, and from which on each packet has them.
WIFI_SHORT_MS: Final = 1
WIFI_MOST_MS: Final = 85


class FromTable(Conditioning):
    """A conditioner with a distribution, which the core receives as a table."""

    if TYPE_CHECKING:
        distribution: str
        jitter: str

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yields cross-field problems, as (field, message)."""
        yield from super().problems()
        if self.distribution == WIFI:
            if TIME.parse(self.jitter) > WIFI_MOST_MS * MS:
                yield "jitter", f"{self.jitter}; needs at most {WIFI_MOST_MS} ms with wifi, whose mean it is"
            return
        try:
            table_of(self.distribution)
        except ScenarioError as error:
            yield "distribution", str(error)

    def core(self) -> dict[str, Any]:
        """Returns the fields for the core. Raises ScenarioError with the line of an invalid file."""
        fields = core_fields(self, without=("distribution",))
        if self.distribution == WIFI:
            # The core multiplies the table by the scale.
            mean_ps = TIME.parse(self.jitter)
            scaled = {"jitter_ps": WIFI_SCALE_MS * MS, "table": list(wifi_table(mean_ps))}
            return fields | (scaled if mean_ps > 0 else {})
        table = table_of(self.distribution)
        return fields | ({} if table is None else {"table": list(table)})


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
    for number, line in enumerate(read_lines(file, f"{', '.join((*_TABLES, WIFI))} or a readable file"), 1):
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
    """Returns the table of iproute2's `netem/pareto.c`: shape 3, mean 1.5, deviation 0.75."""
    shares = (1 - place / ENTRIES for place in range(ENTRIES))
    return _bounded(round((math.pow(share, -1 / 3) - 1.5) * (4 / 3) * SCALE) for share in shares)


@cache
def _pareto_normal() -> tuple[int, ...]:
    """Returns iproute2's `netem/paretonormal.c`: a quarter normal and three quarters Pareto, truncated towards 0."""
    return _bounded((normal + 3 * pareto) / 4 for normal, pareto in zip(_unbounded_normal(), _pareto(), strict=True))


@cache
def wifi_table(mean_ps: int) -> tuple[int, ...]:
    """Returns the inverse distribution function of the jitter of Wi-Fi with this mean, in units of its scale / 8192.

    A delay is the sum of a Poisson number of short steps and, with a probability that grows with the mean, one of long
    steps; the last step of each kind is a uniform share, but a single long step is whole.
    """
    steps_per_ms = 10
    places = WIFI_SCALE_MS * 4 * steps_per_ms + 1
    share = min(1.0, max(0.0, mean_ps / MS - WIFI_SHORT_MS) / (WIFI_MOST_MS - WIFI_SHORT_MS))
    long = [share * one for one in _poisson(WIFI_STEPS[1])]
    span = round(WIFI_STEP_MS[1] * steps_per_ms)
    # Distribution function of the long delay, by tenths of a millisecond, and its integral.
    cumulative = [1 - share + long[0]] * places
    for number, probability in enumerate(long[1:], 1):
        for place in range((number - 1) * span, places):
            reached = min(1.0, (place - (number - 1) * span) / span) if number > 1 else float(place >= span)
            cumulative[place] += probability * reached
    integral = [0.0]
    for low, high in pairwise(cumulative):
        integral.append(integral[-1] + (low + high) / 2 / steps_per_ms)
    short = _poisson(WIFI_STEPS[0])

    def whole(place: int) -> float:
        """Returns the distribution function of the sum of both delays."""
        means = (
            probability
            * (integral[max(0, place - (number - 1) * steps_per_ms)] - integral[max(0, place - number * steps_per_ms)])
            for number, probability in enumerate(short[1:], 1)
        )
        return short[0] * cumulative[place] + sum(means)

    values, table, place = [whole(place) for place in range(places)], [], 0
    for number in range(MAX_ENTRIES):
        wanted = (number + 0.5) / MAX_ENTRIES
        while place < places - 1 and values[place] < wanted:
            place += 1
        low = values[place - 1] if place else 0.0
        within = (wanted - low) / (values[place] - low) if place and values[place] > wanted else 1.0
        delay_ms = (place - 1 + within) / steps_per_ms if place else 0.0
        table.append(delay_ms / WIFI_SCALE_MS * SCALE)
    return _bounded(round(entry) for entry in table)


def _poisson(mean: int) -> list[float]:
    """Returns the probabilities of a Poisson variable up to 40."""
    probabilities = [math.exp(-mean)]
    for number in range(1, 41):
        probabilities.append(probabilities[-1] * mean / number)
    return probabilities


_TABLES: Final[dict[str, Callable[[], tuple[int, ...] | None]]] = {
    "uniform": lambda: None,
    "normal": _normal,
    "pareto": _pareto,
    "paretonormal": _pareto_normal,
}
# Names of the distributions, which are no files.
DISTRIBUTIONS: Final = tuple(_TABLES)
