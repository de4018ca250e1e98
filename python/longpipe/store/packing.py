"""Serialization of finished runs for transfer from workers and for storage."""

from __future__ import annotations

import io
import math
import platform
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from longpipe.measures.defaults import measure
from longpipe.result import PARTS, Result
from longpipe.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Packed:
    """A run without its files: `summary` (zlib over JSON), `measures` (JSON), and a Parquet file for each trace.

    `seconds` is the duration of the simulation, and `machine` is where it ran; runs that differ only in these are
    equal.
    """

    summary: bytes
    measures: str
    traces: Mapping[str, bytes]
    seconds: float = field(compare=False)
    machine: str = field(compare=False)


def pack(result: Result, seconds: float = math.nan) -> Packed:
    """Packs a run; `seconds` is the duration of its simulation."""
    waits = {part: result.part(part) for part in ("response_times", "waiting", "slowdowns")}
    columns = {**result.columns, **waits}
    kept = {part: dict(columns.get(part, {})) for part in PARTS if part != "warm_up" or part in columns}
    return Packed(
        summary=_compressed_summary(_json({**kept, "state_hash": result.state_hash, "events": result.events})),
        measures=measures(result),
        traces={kind: _parquet(trace) for kind, trace in result.traces.items()},
        seconds=seconds,
        machine=platform.node(),
    )


def measures(result: Result) -> str:
    """Returns the measures of a run as JSON."""
    return _json(measure(result)).decode()


def compressed(text: bytes) -> bytes:
    """Compresses JSON text to about a tenth of its length."""
    return zlib.compress(text, level=1)


def summary_text(summary: bytes) -> bytes:
    """Returns the JSON text of a summary, also of one that was compressed without a preset dictionary.

    Raises zlib.error for other bytes.
    """
    packer = zlib.decompressobj(zdict=_words())
    text = packer.decompress(summary)
    if not packer.eof:
        raise zlib.error("the summary is incomplete")
    return text


def _compressed_summary(text: bytes) -> bytes:
    """Compresses the JSON text of a summary: to less than half the size without a preset dictionary, and faster."""
    packer = zlib.compressobj(level=6, zdict=_words())
    return packer.compress(text) + packer.flush()


@cache
def _words() -> bytes:
    """Returns the preset dictionary of summaries (RFC 1950), which must never change: the names of their columns."""
    return Path(__file__).with_name("summary_words.txt").read_bytes()


def unpack(scenario: Scenario, seed: int, summary: bytes) -> Result:
    """Returns the run that a summary contains, without traces and files."""
    return unpacked(scenario, seed, orjson.loads(summary_text(summary)))


def unpacked(scenario: Scenario, seed: int, columns: dict[str, Any]) -> Result:
    """Returns the run from the JSON of its summary."""
    # Runs of other engines may lack parts.
    for part in PARTS & columns.keys():
        columns[part] = {
            name: [math.nan if v is None else v for v in values] if None in values else values
            for name, values in columns[part].items()
        }
    return Result.from_columns(scenario, seed, {**columns, "traces": {}})


def _json(value: object) -> bytes:
    """Returns JSON text, with null for NaN."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _parquet(trace: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    trace.to_parquet(file, index=False, compression="zstd")
    return file.getvalue()
