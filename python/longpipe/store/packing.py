"""A finished run as bytes: what a worker sends and a store keeps."""

import io
import json
import math
import platform
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe.analysis.measures import measure
from longpipe.result import PARTS, Result
from longpipe.scenario import Scenario


@dataclass(frozen=True)
class Packed:
    """A run without its files: `summary` (zlib over JSON), `measures` (JSON), and a Parquet file for each trace.

    `seconds` is how long the simulation took, `machine` where: runs that differ only in these are equal.
    """

    summary: bytes
    measures: str
    traces: Mapping[str, bytes]
    seconds: float = field(compare=False)
    machine: str = field(compare=False)


def pack(result: Result, seconds: float = math.nan) -> Packed:
    """A run as bytes; `seconds` is how long it took."""
    columns = {part: {name: _values(values) for name, values in result.columns[part].items()} for part in PARTS}
    summary = _json({**columns, "state_hash": result.state_hash, "events": result.events})
    return Packed(
        summary=compressed(summary),
        measures=_json({name: _number(value) for name, value in measure(result).items()}),
        traces={kind: _parquet(trace) for kind, trace in result.traces.items()},
        seconds=seconds,
        machine=platform.node(),
    )


def compressed(text: str) -> bytes:
    """JSON text as a store keeps it; ten times as short."""
    return zlib.compress(text.encode(), level=1)


def unpack(scenario: Scenario, seed: int, summary: bytes) -> Result:
    """The run as it was, without traces and files."""
    columns = json.loads(zlib.decompress(summary))
    for part in PARTS:
        columns[part] = {name: [math.nan if v is None else v for v in values] for name, values in columns[part].items()}
    return Result.from_columns(scenario, seed, {**columns, "files": {}, "traces": {}})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _values(column: Sequence[Any] | npt.NDArray[Any]) -> list[Any]:
    """A column with None for nan."""
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
        # Most columns have no gaps.
        if column.dtype.kind != "f" or not np.isnan(column).any():
            return values
        column = values
    return [_number(value) for value in column]


def _number(value: Any) -> Any:  # noqa: ANN401 - whatever a cell of a frame holds
    return None if isinstance(value, float) and math.isnan(value) else value


def _parquet(trace: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    trace.to_parquet(file, index=False, compression="zstd")
    return file.getvalue()
