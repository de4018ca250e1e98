"""Routes of fewest hops between the hosts of a graph; searches are shared among flows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

# Maximum number of nodes in all cached trees.
MOST_KEPT: Final = 4_000_000


@dataclass
class _Tree:
    """A breadth-first search through switches from one node, continued as far as callers need.

    `taken` maps each node taken from the queue to its position in the order; `before` maps each node to the node from
    which it was reached.
    """

    queue: list[str]
    before: dict[str, str]
    taken: dict[str, int] = field(default_factory=dict)


class ShortestRoutes:
    """Finds routes through switches; among routes with equal hops, earlier links in `links` win."""

    def __init__(self, kinds: Mapping[str, str], neighbours: Mapping[str, Sequence[str]]) -> None:
        """Creates a search from the kind of each node, and its neighbours in the order of links."""
        self._kinds, self._neighbours = kinds, neighbours
        self._trees: dict[str, _Tree] = {}
        # Routes from the root of a tree to the only neighbour of a host.
        self._inner: dict[tuple[str, str], tuple[str, ...]] = {}

    @cached_property
    def _switches(self) -> dict[str, list[str]]:
        """Returns the switches among the neighbours of each node."""
        kinds = self._kinds
        return {name: [one for one in all_ if kinds[one] == "switch"] for name, all_ in self._neighbours.items()}

    def find(self, first: str, last: str) -> tuple[str, ...] | None:
        """Returns the nodes from one host to another, or None if there is no route."""
        # Hosts with a single link share the tree of the switch behind it.
        head, tail = self._neighbours[first], self._neighbours[last]
        root = head[0] if len(head) == 1 and self._switches[first] else first
        ends = (root, tail[0]) if len(tail) == 1 else None
        if ends is None or (inner := self._inner.get(ends)) is None:
            if (inner := self._before(root, last)) is None:
                return None
            if ends is not None:
                self._inner[ends] = inner
        return (*inner, last) if root == first else (first, *inner, last)

    def _before(self, root: str, last: str) -> tuple[str, ...] | None:
        """Returns the nodes from a root to the neighbour of `last`, or None if there is no route."""
        tree = self._tree(root)
        if (end := self._node_before(tree, last)) is None:
            return None
        route = [end]
        while route[-1] != root:
            route.append(tree.before[route[-1]])
        return tuple(reversed(route))

    def _tree(self, root: str) -> _Tree:
        if (tree := self._trees.get(root)) is None:
            if len(self._trees) * len(self._switches) >= MOST_KEPT:
                self._trees.clear()
            self._trees[root] = tree = _Tree([root], {root: root})
        return tree

    def _node_before(self, tree: _Tree, last: str) -> str | None:
        """Returns the neighbour of `last` that the search takes first, from which it reaches `last`."""
        taken = tree.taken
        ends = self._neighbours[last]
        if known := [(taken[name], name) for name in ends if name in taken]:
            return min(known)[1]
        wanted = set(ends)
        # Visited nodes remain in the list, before the nodes still to be visited.
        while len(taken) < len(tree.queue):
            here = tree.queue[len(taken)]
            taken[here] = len(taken)
            for neighbour in self._switches[here]:
                if neighbour not in tree.before:
                    tree.before[neighbour] = here
                    tree.queue.append(neighbour)
            if here in wanted:
                return here
        return None
