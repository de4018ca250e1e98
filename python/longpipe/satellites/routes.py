"""Finds the shortest routes between stations by distance, over inter-satellite links; stations do not forward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from longpipe.satellites.constellation import Constellation
from longpipe.satellites.links import links_within, sighted
from longpipe.satellites.stations import Station
from longpipe.satellites.visibility import Sight

# Predecessor of an unreachable node in SciPy's Dijkstra.
NO_PREDECESSOR: Final = -9999


class Router:
    """Computes routes between stations at one time after another.

    In the graph, each station is two nodes, which follow the satellites' nodes: one that only sends and one that only
    receives.
    """

    def __init__(self, constellation: Constellation, stations: Sequence[Station]) -> None:
        self.satellite_count = len(constellation.names)
        self.station_count = len(stations)
        self.sight = Sight.of(constellation, stations)
        self.links = constellation.links
        self.link_range_m = constellation.link_range_m

    def shortest(
        self, satellites_m: np.ndarray, sources: np.ndarray, ground_m: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns lengths [m] by source and station (infinite if unreachable), and predecessors by source and node.

        `satellites_m` are positions, shape (satellites, 3), `sources` indices of stations, and `ground_m` the lengths
        of ground links, shape (stations, satellites), infinite where there is none; by default, a station has links to
        all visible satellites.
        """
        if self.link_range_m is None:
            links = self.links[sighted(satellites_m, self.links)]
        else:
            links = links_within(satellites_m, self.link_range_m)
        ends, other_ends = links.T
        link_m = np.linalg.norm(satellites_m[ends] - satellites_m[other_ends], axis=1)
        ground = self.sight.distances_m(satellites_m) if ground_m is None else ground_m
        station, satellite = np.nonzero(np.isfinite(ground))
        ground_link_m = ground[station, satellite]
        sending, receiving = self.satellite_count + station, self.satellite_count + self.station_count + station
        graph = csr_matrix(
            (
                np.concatenate([link_m, link_m, ground_link_m, ground_link_m]),
                (
                    np.concatenate([ends, other_ends, sending, satellite]),
                    np.concatenate([other_ends, ends, satellite, receiving]),
                ),
            ),
            shape=(self.node_count, self.node_count),
        )
        lengths, predecessors = dijkstra(graph, indices=self.satellite_count + sources, return_predecessors=True)
        return lengths[:, self.satellite_count + self.station_count :], predecessors

    @property
    def node_count(self) -> int:
        """Returns the number of nodes of the graph."""
        return self.satellite_count + 2 * self.station_count

    def routes(self, predecessors: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Returns the satellites of each route, shape (routes, hops), padded with -1.

        `rows` are the rows of the sources in `predecessors`, and `targets` indices of stations.
        """
        node = predecessors[rows, self.satellite_count + self.station_count + targets]
        # Predecessors are followed from the last satellite to the first, whose predecessor is the sender.
        steps = []
        while True:
            is_satellite = (node >= 0) & (node < self.satellite_count)
            if not is_satellite.any():
                break
            steps.append(np.where(is_satellite, node, -1))
            node = np.where(is_satellite, predecessors[rows, np.where(is_satellite, node, 0)], NO_PREDECESSOR)
        if not steps:
            return np.full((len(rows), 1), -1)
        backwards = np.stack(steps, axis=1)
        length = (backwards >= 0).sum(axis=1)
        # Column j of the result is column length - 1 - j of the reversed routes.
        order = length[:, None] - 1 - np.arange(backwards.shape[1])
        return np.where(order >= 0, np.take_along_axis(backwards, np.maximum(order, 0), axis=1), -1)
