"""Finds the shortest routes between stations by distance, over inter-satellite links; stations do not forward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.links import links_within, sighted
from longpipe.satellites.stations import Station
from longpipe.satellites.visibility import Sight

# Predecessor of an unreachable node in SciPy's Dijkstra.
NOTHING = -9999


class Router:
    """Computes routes between stations at one time after another.

    In the graph, each station is two nodes, which follow the satellites' nodes: one that only sends and one that only
    receives.
    """

    def __init__(self, constellation: Constellation, stations: Sequence[Station]) -> None:
        self.satellites = len(constellation.names)
        self.stations = len(stations)
        self.sight = Sight.of(constellation, stations)
        self.links = constellation.links
        self.link_range_m = constellation.link_range_m

    def shortest(
        self, satellites_m: np.ndarray, sources: np.ndarray, ground_m: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns lengths [m] by source and station (infinite if unreachable), and predecessors by source and node.

        `ground_m` are the lengths of the links by station and satellite; those to all visible satellites by default.
        """
        if self.link_range_m is None:
            links = self.links[sighted(satellites_m, self.links)]
        else:
            links = links_within(satellites_m, self.link_range_m)
        a, b = links.T
        link_m = np.linalg.norm(satellites_m[a] - satellites_m[b], axis=1)
        ground = self.sight.distances_m(satellites_m) if ground_m is None else ground_m
        station, satellite = np.nonzero(np.isfinite(ground))
        ground_link_m = ground[station, satellite]
        sending, receiving = self.satellites + station, self.satellites + self.stations + station
        graph = csr_matrix(
            (
                np.concatenate([link_m, link_m, ground_link_m, ground_link_m]),
                (np.concatenate([a, b, sending, satellite]), np.concatenate([b, a, satellite, receiving])),
            ),
            shape=(self.nodes, self.nodes),
        )
        lengths, predecessors = dijkstra(graph, indices=self.satellites + sources, return_predecessors=True)
        return lengths[:, self.satellites + self.stations :], predecessors

    @property
    def nodes(self) -> int:
        """Returns the number of nodes of the graph."""
        return self.satellites + 2 * self.stations

    def routes(self, predecessors: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns the satellites of each route, padded with -1; `rows` are the sources' rows in `predecessors`."""
        node = predecessors[rows, self.satellites + self.stations + targets]
        # Predecessors are followed from the last satellite to the first, whose predecessor is the sender.
        steps = []
        while True:
            is_satellite = (node >= 0) & (node < self.satellites)
            if not is_satellite.any():
                break
            steps.append(np.where(is_satellite, node, -1))
            node = np.where(is_satellite, predecessors[rows, np.where(is_satellite, node, 0)], NOTHING)
        if not steps:
            return np.full((len(rows), 1), -1)
        backwards = np.stack(steps, axis=1)
        length = (backwards >= 0).sum(axis=1)
        # Column j of the result is column length - 1 - j of the reversed routes.
        order = length[:, None] - 1 - np.arange(backwards.shape[1])
        return np.where(order >= 0, np.take_along_axis(backwards, np.maximum(order, 0), axis=1), -1)
