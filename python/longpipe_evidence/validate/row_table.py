"""CSV files that get a row when a run finishes, so that an interrupted campaign continues where it ended."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from longpipe.errors import ScenarioError
from longpipe.inputs import read_text
from longpipe.inputs.frame import read_frame


@dataclass(frozen=True)
class RowTable:
    """A CSV file of a campaign: its columns, of which `texts` contain text, `whole` integers, and the others numbers.

    `needs` describes the file in errors.
    """

    columns: Sequence[str]
    texts: Sequence[str]
    whole: Sequence[str]
    needs: str

    def read(self, file: Path) -> pd.DataFrame:
        """Returns the rows of a file, if it exists, without an incomplete last row left by a killed process.

        Raises ScenarioError for a file of other content, which stays unchanged.
        """
        text = read_text(file, self.needs) if file.exists() else ""
        head = ",".join(self.columns)
        if not text.endswith("\n"):
            # Even the header may be incomplete.
            if not head.startswith(text.partition("\n")[0]):
                raise ScenarioError(f"FILE: {str(file)!r}; needs the columns {head}")
            text = text[: text.rfind("\n") + 1]
            if file.exists():
                file.write_text(text)
        if not text.strip():
            return pd.DataFrame(columns=list(self.columns))
        rows = read_frame(file, self.needs, texts=self.texts)
        if list(rows.columns) != list(self.columns):
            raise ScenarioError(f"FILE: {str(file)!r}; needs the columns {head}")
        for name in self.columns:
            has_type = is_integer_dtype if name in self.whole else is_numeric_dtype
            if name not in self.texts and not has_type(rows[name]):
                raise ScenarioError(
                    f"FILE: {str(file)!r}: column {name}; needs {'whole ' * (name in self.whole)}numbers"
                )
        return rows

    def append(self, file: Path, row: Mapping[str, object]) -> None:
        """Appends a row, after a header if the file is empty; returns when the row is on disk."""
        new = not file.exists() or file.stat().st_size == 0
        text = pd.DataFrame([row], columns=list(self.columns)).to_csv(index=False, header=new, lineterminator="\n")
        with file.open("a") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
