"""A finished run as bytes: what a worker sends and a store keeps."""

import io
import json
import math
import platform
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from longpipe.analysis.measures import measure
from longpipe.result import Result
from longpipe.scenario import Scenario

# Frames of a result that are kept, by name.
_PARTS: Final = ("flows", "ports", "classes", "vbr", "web", "response_times")


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
    flows = result.flows.drop(columns="throughput_bps")
    frames = {"flows": flows, **{part: getattr(result, part) for part in _PARTS[1:]}}
    columns = {name: _columns(frame.to_dict("list")) for name, frame in frames.items()}
    summary = _json({**columns, "state_hash": result.state_hash, "events": result.events})
    return Packed(
        summary=zlib.compress(summary.encode(), level=1),
        measures=_json(_plain(measure(result))),
        traces={kind: _parquet(trace) for kind, trace in result.traces.items()},
        seconds=seconds,
        machine=platform.node(),
    )


def unpack(scenario: Scenario, seed: int, summary: bytes) -> Result:
    """The run as it was, without traces and files."""
    columns = json.loads(zlib.decompress(summary))
    for part in _PARTS:
        columns[part] = {name: [math.nan if v is None else v for v in values] for name, values in columns[part].items()}
    return Result.from_columns(scenario, seed, {**columns, "files": {}, "traces": {}})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _columns(columns: dict[Any, list[Any]]) -> dict[str, list[Any]]:
    return {str(name): [_number(value) for value in values] for name, values in columns.items()}


def _plain(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: Any) -> Any:  # noqa: ANN401 - whatever a cell of a frame holds
    return None if isinstance(value, float) and math.isnan(value) else value


def _parquet(trace: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    trace.to_parquet(file, index=False, compression="zstd")
    return file.getvalue()
