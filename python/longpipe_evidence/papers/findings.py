"""Output of each part of a replicated paper's reproduction: files, figures and tables for the terminal."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe_evidence.papers.paper import Findings
from longpipe_evidence.papers.report.folder import Part, records
from longpipe_evidence.papers.reproduction import Reproduction, scenarios
from longpipe_evidence.papers.sensitivity import closest, explained, explanations, summary
from longpipe_evidence.papers.text import show, show_frames, show_sensitivity, text_of

if TYPE_CHECKING:
    from longpipe_evidence.papers.experiments import Beyond
    from longpipe_evidence.papers.replication import Replication

# File in which a sensitivity run explains the rows of `outside.csv`.
EXPLAINED: Final = "explained.csv"


def of_reproduction(reproduction: Reproduction) -> Findings:
    """Returns the report, numbers, tables, runs, summaries and scenarios of a reproduction."""
    shown, planned = partial(show, reproduction), scenarios(reproduction.paper, reproduction.seeds)
    tables = {"tables": reproduction.rows, "runs": reproduction.runs, **reproduction.summaries, "scenarios": planned}
    return Findings(
        texts={"report.txt": text_of(shown), "report.json": reproduction.to_json(), **csv(tables)},
        show=shown,
        contents=f"{reproduction.seconds:.0f} s. Report, tables, runs and figures",
        figure_data=reproduction,
        record={"seconds": round(reproduction.seconds, 1), "runs": len(reproduction.runs)},
        tables={**_printed(reproduction), **reproduction.summaries},
    )


def _printed(reproduction: Reproduction) -> dict[str, pd.DataFrame]:
    """Returns the paper's tables by name, with the rows of all their metrics."""
    tables: dict[str, list[pd.DataFrame]] = {}
    for caption in reproduction.paper.captions:
        rows = reproduction.rows[
            (reproduction.rows["table"] == caption.table) & (reproduction.rows["metric"] == caption.metric)
        ]
        tables.setdefault(f"{caption.kind} {caption.number}", []).append(rows)
    return {name: pd.concat(rows, ignore_index=True) for name, rows in tables.items()}


def of_sensitivity(paper: Replication, frame: pd.DataFrame, folder: Path) -> Findings:
    """Returns errors by variant and, if the folder contains a reproduction, variants that explain outside values."""
    outside = _outside(paper, folder)
    texts, summaries, hint = {}, {}, ""
    if outside is not None:
        rows = explained(paper, outside, frame)
        texts[EXPLAINED] = rows.to_csv(index=False)
        title = f"published values outside the range of the seeds, listed in {EXPLAINED}"
        summaries[title] = explanations(paper, rows)
    elif "outside" in paper.summaries:
        first = f"longpipe reproduce {paper.id} into {folder}"
        hint = f"After {first} this explains each value outside the range of the seeds."
    shown = partial(show_sensitivity, paper, frame, summaries)
    texts |= {
        "sensitivity.txt": text_of(shown),
        "sensitivity-rows.csv": frame.to_csv(index=False),
        "sensitivity.csv": summary(paper, frame).to_csv(),
        "closest.csv": closest(paper, frame).to_csv(index=False),
    }
    return Findings(texts, shown, contents="The same as sensitivity.csv and .txt", hint=hint)


def of_beyond(beyond: Beyond, runs: pd.DataFrame) -> Findings:
    """Returns the runs of an extension, and their summary tables."""
    summaries = {name: summarize(runs) for name, summarize in beyond.summaries.items()}
    return Findings(
        csv({"beyond": runs, **summaries}),
        partial(show_frames, summaries),
        contents="Runs, tables and figures",
        figure_data=summaries,
    )


def csv(frames: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Returns tables as CSV files by name."""
    return {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}


def _outside(paper: Replication, folder: Path) -> pd.DataFrame | None:
    """Returns the published values outside the range of a folder's reproduction; None if it has no such table."""
    file = folder / "outside.csv"
    if "outside" not in paper.summaries or Part.REPRODUCTION not in records(folder) or not file.exists():
        return None
    return pd.read_csv(file, dtype={"table": str})
