"""Lines of sight between satellites, and inter-satellite links for orbit files that list none."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.spatial import cKDTree

from longpipe.errors import ScenarioError
from longpipe.satellites.stations import RADIUS_M

# Minimum height of a link above the equatorial radius, because of the atmosphere: 80 km, as assumed by Hypatia's
# maximum link length.
CLEARANCE_M: Final = 80_000.0
MAX_LINKS: Final = 1_000_000


def links_within(satellites_m: np.ndarray, range_m: float) -> np.ndarray:
    """Returns the pairs of satellites (n rows of two numbers) that are within `range_m` and have a line of sight.

    Positions are Earth-fixed or inertial [m]; satellites without a position (NaN) have no links. Raises ScenarioError
    if there are more than `MAX_LINKS` pairs.
    """
    placed = np.nonzero(np.isfinite(satellites_m).all(axis=1))[0]
    places = satellites_m[placed]
    tree = cKDTree(places)
    # Each pair is counted twice, and each satellite is counted once with itself.
    if (count := (tree.count_neighbors(tree, range_m) - len(placed)) // 2) > MAX_LINKS:
        raise ScenarioError(f"links of up to {range_m / 1e3:g} km: {count} pairs; needs at most {MAX_LINKS}")
    pairs = tree.query_pairs(range_m, output_type="ndarray")
    within: np.ndarray = placed[pairs[sighted(places, pairs)]].reshape(-1, 2)
    return within


def sighted(satellites_m: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Returns for each pair of satellites (n rows of two numbers) whether the two have a line of sight.

    Two satellites have a line of sight if the line between them is at least `CLEARANCE_M` above a sphere of the
    equatorial radius. A pair with a satellite without a position (NaN) has none.
    """
    first, along = satellites_m[pairs[:, 0]], satellites_m[pairs[:, 1]] - satellites_m[pairs[:, 0]]
    squares = np.einsum("ij,ij->i", along, along)
    # Position on the line, from 0 (first) to 1 (second), of the point that is closest to the Earth's center; 0 if the
    # two positions are equal.
    part = -np.einsum("ij,ij->i", first, along) / np.where(squares > 0, squares, 1.0)
    closest = np.linalg.norm(first + np.clip(part, 0.0, 1.0)[:, None] * along, axis=1)
    clear: np.ndarray = closest >= RADIUS_M + CLEARANCE_M
    return clear
