"""Measures of finished runs as bytes, which are read and verified in a tenth of the time that JSON takes.

A run has its seed (64 bits), a double for each measure, and a CRC-32 that also covers the scenario's digest, the engine
and the names of the measures; all numbers are little-endian.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# CRC-32 of any bytes that are followed by their own CRC-32, whatever its initial value (ISO/IEC 3309).
_RESIDUE: Final = 0x2144DF1C


def packed(digest: str, seed: str, engine: str, measures: str) -> bytes:
    """Returns the packed measures of a run, which are given as JSON."""
    values_by_name = orjson.loads(measures)
    values = (math.nan if value is None else value for value in values_by_name.values())
    content = struct.pack(f"<Q{len(values_by_name)}d", int(seed), *values)
    return content + struct.pack("<I", zlib.crc32(content, _initial(digest, engine, values_by_name)))


def unpacked(
    runs: Sequence[bytes], digest: str, engine: str, names: Sequence[str]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]] | None:
    """Returns the seeds of runs, and their measures with a row per run; None if some were not packed with these names.

    Damaged bytes also cause None.
    """
    import numpy as np

    layout = np.dtype([("seed", "<u8"), ("measures", "<f8", (len(names),)), ("checksum", "<u4")])
    if set(map(len, runs)) != {layout.itemsize}:
        return None
    if set(map(zlib.crc32, runs, repeat(_initial(digest, engine, names)))) != {_RESIDUE}:
        return None
    array = np.frombuffer(b"".join(runs), layout)
    return array["seed"], array["measures"]


def names_of(measures: Any) -> list[str]:  # noqa: ANN401 - any value in a damaged file
    """Returns the names in the JSON of a run's measures; none for other text."""
    try:
        return list(orjson.loads(measures))
    except (ValueError, TypeError):
        return []


def _initial(digest: str, engine: str, names: Iterable[str]) -> int:
    return zlib.crc32(orjson.dumps([digest, engine, *names]))
