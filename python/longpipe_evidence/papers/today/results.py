"""Runs of the designs with the networks of 2026: simulated, or shipped with longpipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from longpipe_evidence.papers.frozen import write_compressed
from longpipe_evidence.papers.today.experiments import experiments, measure

if TYPE_CHECKING:
    from longpipe.study import Runner

RUNS: Final = "runs"
RECORD: Final = "frozen.json"
COMMAND: Final = "longpipe reproduce frr-96 gr-97 buf-97 www-98 lbd-01 --today"


@dataclass(frozen=True)
class Results:
    """A row per run (`design`, its factors, `seed`, responses), and the record of how the runs were computed."""

    runs: pd.DataFrame
    # `seeds`, `command`, `engine`, `finished` (a date).
    record: dict[str, Any]


def simulated(seeds: int, runner: Runner, engine: str) -> Results:
    """Runs the missing runs of all designs with seeds 1 to `seeds`, and returns their measures."""
    planned = [(experiment, seed) for experiment in experiments() for seed in range(1, seeds + 1)]
    runner.complete((experiment.replicated, seed) for experiment, seed in planned)

    def rows() -> Iterator[dict[str, object]]:
        for experiment, seed in planned:
            measured = measure(str(experiment.table), runner.require(experiment.replicated, seed))
            yield {"design": experiment.table, **experiment.factors, "seed": seed, **measured}

    finished = datetime.now(UTC).date().isoformat()
    record = {"seeds": seeds, "command": f"{COMMAND} --seeds {seeds}", "engine": engine, "finished": finished}
    return Results(pd.DataFrame(rows()), record)


def frozen() -> Results:
    """Returns the results that come with longpipe."""
    package = resources.files(__package__)
    record = json.loads((package / RECORD).read_text(encoding="utf-8"))
    with (package / f"{RUNS}.csv.gz").open("rb") as file:
        return Results(pd.read_csv(file, compression="gzip"), record)


def freeze(folder: Path, record: dict[str, Any]) -> None:
    """Replaces the results that are shipped with longpipe by those in a folder, with its record of this part."""
    into = Path(str(resources.files(__package__)))
    write_compressed(folder / f"{RUNS}.csv", into)
    kept = {name: record[name] for name in ("seeds", "command", "engine")}
    kept["finished"] = record["finished_at"][:10]
    (into / RECORD).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
