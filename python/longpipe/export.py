"""Writes tables in the format of the file suffix."""

import csv
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, parquet

from longpipe.system.files import write_bytes

# Suffixes of the formats. Arrow files are those of Feather, version 2, without compression.
SUFFIXES: Final = (".csv", ".parquet", ".json", ".arrow", ".feather")
# Matches texts that spreadsheets interpret as formulas (OWASP, CSV injection).
_FORMULA: Final = r"^[=+\-@\t\r]"


def write_table(table: pd.DataFrame | pa.Table, path: Path, *, neutral: bool = False) -> None:
    """Writes a table atomically in the format of the suffix, one of `SUFFIXES`; see `encoded`."""
    write_bytes(path, encoded(table, path.suffix, neutral=neutral))


def encoded(table: pd.DataFrame | pa.Table, suffix: str, *, neutral: bool = False) -> bytes:
    """Returns the content of a file with this suffix, one of `SUFFIXES`.

    In .csv, fields are quoted only if necessary and lines end with a line feed; .json is a list of rows. In both, times
    are ISO 8601 in UTC, and nan is an empty field or null. If `neutral`, texts that a spreadsheet would interpret as a
    formula are prefixed with an apostrophe; numbers are unchanged.
    """
    if isinstance(table, pd.DataFrame):
        table = _arrow(table)
    if neutral:
        table = _neutral(table)
    if suffix == ".csv":
        lines = _Lines()
        # With another terminator, the writer would not quote texts that contain a carriage return.
        writer = csv.writer(lines, lineterminator="\r\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*map(_plain, table.columns), strict=True))
        return "".join(f"{line[:-2]}\n" for line in lines.written).encode()
    if suffix == ".json":
        columns = map(_plain, table.columns)
        rows = [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
        return orjson.dumps(rows, option=orjson.OPT_APPEND_NEWLINE)
    file = BytesIO()
    if suffix == ".parquet":
        parquet.write_table(table, file, compression="zstd")
    else:
        feather.write_feather(table, file, compression="uncompressed" if suffix == ".arrow" else "zstd")
    return file.getvalue()


class _Lines:
    """A file that keeps each line."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.write = self.written.append


def _arrow(frame: pd.DataFrame) -> pa.Table:
    # Arrow rejects columns that mix texts with numbers, such as the levels 1 and "auto" of a factor.
    mixed = [
        name
        for name in frame
        if frame[name].dtype == object and pd.api.types.infer_dtype(frame[name]).startswith("mixed")
    ]
    return pa.Table.from_pandas(frame.astype(dict.fromkeys(mixed, str)), preserve_index=False)


def _plain(column: pa.ChunkedArray) -> Sequence[Any]:
    """Returns the values as text, numbers and truth values, with None for nan."""
    if pa.types.is_floating(column.type):
        values: list[Any] = column.to_pylist()
        return [None if value is None or value != value else value for value in values]
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    # This is much faster than to format the objects.
    texts = np.datetime_as_string(column.cast(pa.timestamp("us")).to_numpy(), timezone="UTC").tolist()
    return [None if text == "NaT" else text for text in texts]


def _neutral(table: pa.Table) -> pa.Table:
    """Returns the table with an apostrophe before each text (headings too) that a spreadsheet reads as a formula."""
    columns = [_neutral_column(column) for column in table.columns]
    fields = [
        pa.field(*_neutral_texts(pa.array([field.name])).to_pylist(), column.type, field.nullable, field.metadata)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _neutral_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, _neutral_texts(chunk.dictionary), ordered=column.type.ordered)
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, type=column.type if not chunks else chunks[0].type)
    return _neutral_texts(column) if _is_text(column.type) else column


def _neutral_texts(texts: pa.Array) -> pa.Array:
    texts = texts.cast(pa.string())
    return pc.if_else(pc.match_substring_regex(texts, _FORMULA), pc.binary_join_element_wise("'", texts, ""), texts)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
