"""Sizes of arriving flows: distributions, their means, and the packets that they need."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.inputs.numbers import decimal_comma, exact
from longpipe.inputs.table import read_table, shown_heads
from longpipe.scenario.base import Model
from longpipe.scenario.rows import Column
from longpipe.units import SIZE

# Sizes [bytes] with the share of flows up to each size, interpolated linearly between these points: the web search
# workload of DCTCP (Alizadeh et al. 2010, figure 4), with the points that HPCC (Li et al. 2019) and later papers use.
WEB_SEARCH: Final = (
    (0, "0"),
    (10_000, ".15"),
    (20_000, ".2"),
    (30_000, ".3"),
    (50_000, ".4"),
    (80_000, ".53"),
    (200_000, ".6"),
    (1_000_000, ".7"),
    (2_000_000, ".8"),
    (5_000_000, ".9"),
    (10_000_000, ".97"),
    (30_000_000, "1"),
)
BILLION: Final = 10**9
MAX_POINTS: Final = 100_000
LARGEST: Final = SIZE.parse("1000 GB")
# Number of terms of the sum over a Pareto tail; an integral approximates the rest.
_TERMS: Final = 1000


class Distribution(Model):
    """A distribution of sizes."""

    @abstractmethod
    def core(self) -> dict[str, Any]:
        """Returns the distribution for the core. Raises ScenarioError with the line of an invalid file."""

    @abstractmethod
    def means(self, mss: int) -> tuple[float, float]:
        """Returns the mean size [bytes] and the mean number of segments of at most `mss` bytes."""


class OneSize(Distribution):
    """One size for all flows."""

    if TYPE_CHECKING:
        size: str

    def core(self) -> dict[str, Any]:
        """Returns the distribution for the core."""
        return {"kind": "fixed", "size_bytes": SIZE.parse(self.size)}

    def means(self, mss: int) -> tuple[float, float]:
        """Returns the mean size [bytes] and the mean number of segments."""
        size = SIZE.parse(self.size)
        return size, -(-size // mss)


class ParetoTail(Distribution):
    """A Pareto distribution."""

    if TYPE_CHECKING:
        mean: str
        shape: float

    def core(self) -> dict[str, Any]:
        """Returns the distribution for the core."""
        return {"kind": "pareto", "mean_bytes": SIZE.parse(self.mean), "shape": self.shape}

    def means(self, mss: int) -> tuple[float, float]:
        """Returns the mean size [bytes] and the mean number of segments."""
        size = SIZE.parse(self.mean)
        minimum = size * (self.shape - 1) / self.shape
        # E[ceil(S/m)] is the sum of P(S > k m) over k >= 0, which is 1 below the minimum and a power above it.
        first = int(minimum // mss) + 1
        tail = sum((minimum / (k * mss)) ** self.shape for k in range(first, first + _TERMS))
        beyond = first + _TERMS - 0.5
        tail += (minimum / mss) ** self.shape * beyond ** (1 - self.shape) / (self.shape - 1)
        return size, first + tail


class WebSearchPoints(Distribution):
    """The distribution `WEB_SEARCH`."""

    def core(self) -> dict[str, Any]:
        """Returns the distribution for the core."""
        return _core(_web_search())

    def means(self, mss: int) -> tuple[float, float]:
        """Returns the mean size [bytes] and the mean number of segments."""
        return _means(_web_search(), mss)


class PointsOfFile(Distribution):
    """A distribution in a CSV file."""

    if TYPE_CHECKING:
        file: str

    def core(self) -> dict[str, Any]:
        """Returns the distribution for the core."""
        return _core(_points(self.file))

    def means(self, mss: int) -> tuple[float, float]:
        """Returns the mean size [bytes] and the mean number of segments."""
        return _means(_points(self.file), mss)


Points = list[tuple[int, int]]


def _web_search() -> Points:
    return [(size, int(Fraction(share) * BILLION)) for size, share in WEB_SEARCH]


def _core(points: Points) -> dict[str, Any]:
    return {"kind": "cumulative", "points": [list(point) for point in points]}


def _means(points: Points, mss: int) -> tuple[float, float]:
    """Returns the mean of a piecewise linear distribution, and the mean number of segments of `mss` bytes."""
    first_size, first_share = points[0]
    segments = float(-(-first_size // mss) * first_share)
    for (low, below), (high, above) in pairwise(points):
        share = above - below
        if high == low:
            segments += share * -(-low // mss)
        else:
            segments += share * (_rounded_up(high, mss) - _rounded_up(low, mss)) / (high - low)
    return mean_of_points(points), segments / BILLION


def mean_of_points(points: Sequence[Sequence[int]]) -> float:
    """Returns the mean of a piecewise linear distribution of sizes [bytes] and shares [parts per billion]."""
    first_size, first_share = points[0]
    size = float(first_size * first_share)
    for (low, below), (high, above) in pairwise(points):
        size += (above - below) * (low + high) / 2
    return size / BILLION


def _rounded_up(size: int, mss: int) -> float:
    """Returns the integral of ceil(s/mss) from 0 to `size`."""
    whole, rest = divmod(size, mss)
    return mss * whole * (whole + 1) / 2 + rest * (whole + 1)


def _points(file: str) -> Points:
    """Returns sizes [bytes] and shares [parts per billion] of a file."""
    table = read_table(file, "a CSV file of bytes and share")
    heads = [head.casefold().strip() for head in table.heads]
    if sorted(heads) != ["bytes", "share"]:
        raise ScenarioError(f"{file}:1: {shown_heads(table.heads)}; needs a header with bytes and share")
    if not 1 < len(table.lines) <= MAX_POINTS + 1:
        raise ScenarioError(f"{file}: {len(table.lines) - 1} rows; needs 1 to {MAX_POINTS}")
    sizes = Column(file, "bytes", SIZE, "B", LARGEST)
    points: Points = []
    for line, cells in table:
        size, cell = sizes.read(line, cells[heads.index("bytes")]), cells[heads.index("share")]
        share = exact(cell)
        if share is None or not 0 <= share <= 1:
            raise ScenarioError(f"{file}:{line}: share {shown(cell)}{decimal_comma(cell)}; needs a number from 0 to 1")
        point = (size, int(share * BILLION))
        if points and (point[0] < points[-1][0] or point[1] < points[-1][1]):
            raise ScenarioError(f"{file}:{line}: {size} bytes, share {cell}; needs sizes and shares that never fall")
        points.append(point)
    if not points or points[-1][1] != BILLION:
        raise ScenarioError(f"{file}: ends with share {points[-1][1] / BILLION if points else 0:g}; needs 1")
    return points
