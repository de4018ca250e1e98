"""Sweeps of which `make test` runs only a sample; with LONGPIPE_THOROUGH=1 (`make validate`), they are complete."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

THOROUGH: Final = os.environ.get("LONGPIPE_THOROUGH") == "1"


def one_in(count: int, cases: Sequence[T]) -> list[T]:
    """Returns every case if sweeps are complete; otherwise, the first of every `count` cases."""
    return list(cases if THOROUGH else cases[::count])


def examples(sample: int, complete: int) -> int:
    """Returns the number of random cases: `complete` if sweeps are complete, otherwise `sample`."""
    return complete if THOROUGH else sample
