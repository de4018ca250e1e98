"""One-way delays measured with the clocks of two hosts, which may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def clock_notes(min_s: Mapping[str, float | None]) -> Iterator[str]:
    """Yields a line if a minimum delay [s] is negative, given the minimum of each direction by its name."""
    negative = {name: -minimum for name, minimum in min_s.items() if minimum is not None and minimum < 0}
    if negative:
        direction = max(negative, key=lambda name: negative[name])
        offset = f"{negative[direction] * 1e3:.6g} ms"
        yield (
            f"delays {direction} are negative: the clocks of both ends differ by at least {offset}, so that one-way "
            "delays have this error; RTTs do not"
        )
