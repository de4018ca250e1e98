"""Reading and writing of the tables in `tests/data/access`."""

import csv
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent.parent / "data" / "access"


@dataclass(frozen=True)
class Row:
    """One value of a table.

    `conditions` are words of the form NAME=VALUE. `error` is the standard error of a simulated value, and empty for
    an exact one. `tolerance` is the largest accepted difference: absolute, or relative if it ends in %; `report` means
    that the value is shown beside the model's and not judged.
    """

    quantity: str
    conditions: str
    value: str
    error: str
    tolerance: str
    source: str
    how: str

    def given(self) -> dict[str, str]:
        """Returns the conditions by name."""
        return dict(word.split("=", 1) for word in self.conditions.split())

    def allowed(self) -> float:
        """Returns the largest accepted absolute difference from the value."""
        if self.tolerance.endswith("%"):
            return abs(float(self.value)) * float(self.tolerance[:-1]) / 100
        return float(self.tolerance)


def read(name: str) -> list[Row]:
    """Returns the rows of a table; lines that begin with # are comments."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def write(name: str, comment: str, rows: Iterable[Row]) -> None:
    """Writes a table below its comment."""
    with (FOLDER / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in comment.strip().splitlines())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        writer.writerows(astuple(row) for row in rows)
