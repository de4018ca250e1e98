"""Long series of a resolved scenario as columns: a pair of numbers takes 16 bytes instead of 144 in nested lists."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Points(Sequence[list[Any]]):
    """Rows of a time [ps] and another integer, or with `second = "d"` a float; each row is read as a list of both."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: Iterable[Sequence[Any]] = (), second: Literal["Q", "d"] = "Q") -> None:
        """Creates a series from its rows, in their order."""
        self.columns: tuple[array[int], array[Any]] = (array("Q"), array(second))
        for row in rows:
            self.append(row)

    def append(self, row: Sequence[Any]) -> None:
        """Adds a row. Raises OverflowError for an integer that is negative or has more than 64 bits."""
        for column, value in zip(self.columns, row, strict=True):
            column.append(value)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.columns[0])

    @overload
    def __getitem__(self, at: int) -> list[Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[Any]]: ...
    def __getitem__(self, at: int | slice) -> list[Any]:
        """Returns a row, or the rows of a slice."""
        first, second = self.columns
        if isinstance(at, slice):
            return [list(row) for row in zip(first[at], second[at], strict=True)]
        return [first[at], second[at]]

    def __iter__(self) -> Iterator[list[Any]]:
        """Yields each row."""
        return map(list, zip(*self.columns, strict=True))

    def __eq__(self, other: object) -> bool:
        """Returns whether another sequence has equal rows."""
        if isinstance(other, Points):
            return self.columns == other.columns
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        """Returns the first rows."""
        return f"Points({self[:3]}{', ...' if len(self) > 3 else ''})"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.generic]:
        """Returns an array of shape (rows, 2), for NumPy."""
        import numpy as np

        return np.stack([np.array(column, dtype) for column in self.columns], axis=1)


def plain(value: Any) -> Any:  # noqa: ANN401 - any part of a resolved scenario
    """Returns a part of a resolved scenario with lists in place of columns, as `json.dumps` accepts it."""
    if isinstance(value, Points | array):
        return list(value)
    if not isinstance(value, dict):
        return value
    changed = {name: new for name, old in value.items() if (new := plain(old)) is not old}
    return {**value, **changed} if changed else value
