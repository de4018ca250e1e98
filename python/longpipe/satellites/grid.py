"""Links of a +grid between satellites with elements of their own: in the orbital plane, and to adjacent planes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

# Satellites belong to one shell if their inclinations [degree] and mean motions (relative) differ by less, from one
# satellite to the next in order.
SHELL_INCLINATION_DEG: Final = 1.0
SHELL_MOTION: Final = 0.01
# Satellites of a shell belong to one plane if their ascending nodes [degree] differ by less, from one to the next.
PLANE_DEG: Final = 2.0
# Planes are adjacent across a gap of at most this multiple of the median gap between planes, so that a Walker star has
# no links at its seam.
SEAM: Final = 1.5


def grid_links(satellites: Sequence[Any], since_min: np.ndarray) -> np.ndarray:
    """Returns the pairs of linked satellites (n rows of two numbers); at most four links per satellite.

    `since_min` is the time [min] from the epoch of each satellite's elements to the instant at which the planes are
    determined. A satellite is linked to the next and the previous one of its plane, and to one satellite of each
    adjacent plane, with the nearest argument of latitude relative to the median difference between the two planes.
    """
    nodes_deg = np.array(
        [
            math.degrees(satellite.nodeo + satellite.nodedot * t)
            for satellite, t in zip(satellites, since_min, strict=True)
        ]
    )
    latitudes_deg = np.array(
        [_argument_of_latitude(satellite, t) for satellite, t in zip(satellites, since_min, strict=True)]
    )
    pairs: set[tuple[int, int]] = set()
    for members in _shells(satellites):
        planes = [plane[np.argsort(latitudes_deg[plane])] for plane in _planes(members, nodes_deg % 360)]
        for plane in planes:
            pairs.update(_ring(plane))
        for a, b in _adjacent(planes, nodes_deg % 360):
            pairs.update(_rungs(a, b, latitudes_deg))
    return np.array(sorted((min(pair), max(pair)) for pair in pairs), dtype=np.int64).reshape(-1, 2)


def _argument_of_latitude(satellite: Any, since_min: float) -> float:  # noqa: ANN401 - a Satrec, which sgp4 does not type
    """Returns the angle [degree] from the ascending node to the satellite, by mean elements."""
    radians = satellite.argpo + satellite.mo + (satellite.mdot + satellite.argpdot) * since_min
    return math.degrees(radians) % 360


def _shells(satellites: Sequence[Any]) -> Iterator[np.ndarray]:
    """Yields the satellites of each shell."""
    inclinations = np.array([math.degrees(satellite.inclo) for satellite in satellites])
    motions = np.array([satellite.no_kozai for satellite in satellites])
    for group in _clusters(np.arange(len(satellites)), inclinations, lambda a, b: b - a < SHELL_INCLINATION_DEG):
        yield from _clusters(group, motions, lambda a, b: b / a < 1 + SHELL_MOTION)


def _clusters(members: np.ndarray, values: np.ndarray, joins: Callable[[float, float], bool]) -> Iterator[np.ndarray]:
    """Yields runs of members, in the order of their values, in which each joins the next one."""
    ordered = members[np.argsort(values[members], kind="stable")]
    ends = [i + 1 for i, (a, b) in enumerate(pairwise(values[ordered].tolist())) if not joins(a, b)]
    yield from np.split(ordered, ends)


def _planes(members: np.ndarray, nodes_deg: np.ndarray) -> list[np.ndarray]:
    """Returns the planes of a shell in the order of their ascending nodes; a plane may contain the node 0."""
    planes = list(_clusters(members, nodes_deg, lambda a, b: b - a < PLANE_DEG))
    if len(planes) > 1 and nodes_deg[planes[0][0]] + 360 - nodes_deg[planes[-1][-1]] < PLANE_DEG:
        planes = [np.concatenate([planes[-1], planes[0]]), *planes[1:-1]]
    return planes


def _ring(plane: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yields the links between consecutive satellites of a plane."""
    if len(plane) > 1:
        yield from pairwise(plane.tolist())
    if len(plane) > 2:
        yield int(plane[-1]), int(plane[0])


def _adjacent(planes: list[np.ndarray], nodes_deg: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the pairs of adjacent planes."""
    if len(planes) < 2:
        return []
    middle = [_mean_deg(nodes_deg[plane]) for plane in planes]
    following = [*range(1, len(planes)), 0] if len(planes) > 2 else [1]
    gaps = np.array([(middle[b] - middle[a]) % 360 for a, b in enumerate(following)])
    return [(planes[a], planes[b]) for a, b in enumerate(following) if gaps[a] <= SEAM * np.median(gaps)]


def _mean_deg(angles_deg: np.ndarray) -> float:
    return math.degrees(np.angle(np.exp(1j * np.radians(angles_deg)).sum())) % 360


def _rungs(a: np.ndarray, b: np.ndarray, latitudes_deg: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yields links between two planes, of which each satellite has at most one, with the smallest differences first."""
    ahead_deg = (latitudes_deg[b][None, :] - latitudes_deg[a][:, None] + 180) % 360 - 180
    nearest = np.take_along_axis(ahead_deg, np.abs(ahead_deg).argmin(axis=1)[:, None], axis=1)
    apart_deg = np.abs((ahead_deg - np.median(nearest) + 180) % 360 - 180)
    used_a, used_b = set[int](), set[int]()
    for flat in np.argsort(apart_deg, axis=None, kind="stable").tolist():
        i, j = divmod(flat, len(b))
        if i not in used_a and j not in used_b:
            used_a.add(i)
            used_b.add(j)
            yield int(a[i]), int(b[j])
