"""Reads the folder of a reproduced document for a report."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from longpipe.errors import ScenarioError
from longpipe.inputs import load_json, read_bytes, read_text
from longpipe.inputs.frame import read_frame
from longpipe.report.svg import Drawing, Palette, inline
from longpipe_evidence.papers.report.folder import RECORD, Part, records


@dataclass(frozen=True)
class Results:
    """The folder of one document; if files in its record are missing, raises ScenarioError with the command to run."""

    document: str
    folder: Path

    def __post_init__(self) -> None:
        _ = self.records

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """Provenance of each part."""
        parts = records(self.folder)
        if parts.get(Part.REPRODUCTION, {}).get("document") != self.document:
            raise ScenarioError(
                f"{self.folder}: no {RECORD} of {self.document}; needs longpipe reproduce {self.document}"
            )
        return parts

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Records of the judged claims."""
        report = load_json(self._existing("report.json"), "the report of a reproduction")
        claims = report.get("claims") if isinstance(report, dict) else None
        if not isinstance(claims, list):
            raise ScenarioError(f"{self.folder}/report.json: no claims; needs longpipe reproduce {self.document}")
        if any("evidence" not in condition for claim in claims for condition in claim["conditions"]):
            raise ScenarioError(
                f"{self.folder}/report.json: written by an earlier version; needs longpipe reproduce {self.document}"
            )
        return claims

    def has(self, part: Part) -> bool:
        """Returns whether the folder contains this part."""
        return part in self.records

    def frame(self, name: str) -> pd.DataFrame:
        """Returns a table by its file stem."""
        return read_frame(self._existing(f"{name}.csv"), "a table of a reproduction", texts=["table"])

    def names(self, part: Part, suffix: str) -> list[str]:
        """Returns the file stems of a part in the order in which they were written."""
        files = self.records.get(part, {}).get("files", {})
        return [name.removesuffix(suffix) for name in files if name.endswith(suffix)]

    def drawings(self, part: Part, palette: Palette) -> Iterator[tuple[str, Drawing]]:
        """Figures of a part by name."""
        for name in self.names(part, ".svg"):
            yield name, inline(self._text(f"{name}.svg"), f"{self.document}-{name}", palette)

    def content(self, name: str) -> bytes:
        """Returns the bytes of a file."""
        return read_bytes(self._existing(name), "a file of a reproduction")

    def _text(self, name: str) -> str:
        return read_text(self._existing(name), "a file of a reproduction")

    def _existing(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise ScenarioError(f"{path}: missing; needs longpipe reproduce {self.document}")
        return path
