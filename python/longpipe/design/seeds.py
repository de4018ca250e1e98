"""Seeds of a design's runs."""

from collections.abc import Mapping, Sequence
from typing import Any


def planned_seeds(
    points: int, replications: int, first_seed: int, *, common: bool, blocks: Sequence[int] | None
) -> list[range]:
    """Returns the seeds of each point's replications.

    With `common` random numbers, points of the same block (from 0), or all points without `blocks`, have equal seeds.
    Otherwise all seeds of the design are different.
    """
    streams = [0] * points if blocks is None else list(blocks)
    if not common:
        streams = list(range(points))
    step = max(streams) + 1
    return [range(first_seed + stream, first_seed + stream + step * replications, step) for stream in streams]


def seeds_of(design: Mapping[str, Any]) -> list[range]:
    """Returns the seeds of each point's replications in a design as `text.to_json` writes it."""
    return planned_seeds(
        len(design["points"]),
        design["replications"],
        design["first_seed"],
        common=design["common"],
        blocks=design["blocks"],
    )
