"""Frozen results: the sensitivity results of papers that come with the package, so that reports need not compute them.

`python -m longpipe_evidence.papers.frozen results/PAPER` replaces the results of a paper by those in its folder, and
`python -m longpipe_evidence.papers.frozen results/today` replaces the runs of `--today`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe_evidence.papers import IDS, PAPERS, package_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Tables of a sensitivity run that a page may show, in the order of preference.
TABLES: Final = ("sensitivity-rows", "sensitivity")
RECORD: Final = "frozen.json"


@dataclass(frozen=True)
class Frozen:
    """The sensitivity results of a paper that come with the package."""

    document: str

    @property
    def record(self) -> dict[str, Any]:
        """Returns `seeds`, the `command` that computed them, the `engine`, and the day on which it `finished`."""
        entries: dict[str, Any] = json.loads(_file(self.document, RECORD).read_text(encoding="utf-8"))
        return entries

    @property
    def records(self) -> Mapping[str, Mapping[str, Any]]:
        """Returns the record in the form that the record of a folder's part has."""
        return {"sensitivity": self.record}

    def frame(self, name: str) -> pd.DataFrame:
        """Returns the table, compressed in the package."""
        with _file(self.document, f"{name}.csv.gz").open("rb") as file:
            return pd.read_csv(file, compression="gzip", dtype={"table": str})


def frozen(paper: str) -> Frozen | None:
    """Returns the sensitivity results of a paper that come with the package, or None."""
    return Frozen(paper) if _file(paper, RECORD).is_file() else None


def write_compressed(file: Path, folder: Path) -> None:
    """Writes a CSV file with 6 significant digits, compressed, to a folder; the same file gives the same bytes."""
    compression = {"method": "gzip", "mtime": 0}
    frame = pd.read_csv(file, dtype={"table": str})
    frame.to_csv(folder / f"{file.name}.gz", index=False, float_format="%.6g", compression=compression)


def freeze(folder: Path) -> None:
    """Writes the sensitivity results of a folder, or the runs of `--today`, into their package."""
    records = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    if "today" in records:
        # Imported here because it imports this module.
        from longpipe_evidence.papers.today import results

        results.freeze(folder, records["today"])
        return
    from longpipe.store import engine_version

    sensitivity = records["sensitivity"]
    paper = sensitivity["document"]
    package = Path(str(_file(paper, RECORD))).parent
    tables = [file for name in TABLES if (file := folder / f"{name}.csv").is_file()]
    if tables:
        write_compressed(tables[0], package)
    seeds = None if PAPERS[paper].seeds is None else sensitivity["seeds"]
    record = {
        "seeds": seeds,
        "command": f"longpipe reproduce {paper} --sensitivity" + ("" if seeds is None else f" --seeds {seeds}"),
        "engine": engine_version(),
        "finished": sensitivity["finished_at"][:10],
    }
    (package / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _file(paper: str, name: str) -> Traversable:
    """Returns a file in the package of a paper."""
    return resources.files(package_of(paper)) / name


if __name__ == "__main__":
    chosen = [Path(argument) for argument in sys.argv[1:]]
    if not chosen or any(not (path / "provenance.json").is_file() for path in chosen):
        sys.exit(
            "DIR: needs folders of longpipe reproduce PAPER --sensitivity, or of --today --seeds N; papers are "
            + ", ".join(IDS)
        )
    for path in chosen:
        freeze(path)
