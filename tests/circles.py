"""Strongly connected components of a graph of imports."""

from collections.abc import Collection, Mapping


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Returns the sorted strongly connected components that have more than one member (Tarjan 1972).

    A node that is only a target of edges needs no key in `graph`.
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            component = stack[stack.index(node) :]
            del stack[-len(component) :]
            if len(component) > 1:
                components.append(sorted(component))

    for node in graph:
        if node not in order:
            visit(node)
    return sorted(components)
