"""Fills studies with runs that were not simulated, because a million simulations would take hours."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

import numpy as np

from longpipe import Scenario, simulate
from longpipe.store import Packed, checksums, engine_version, pack, rows
from longpipe.study import Study

BASE: Final = Scenario(defaults="1996", name="synthetic", duration="20 ms")
BEGAN: Final = datetime(2026, 1, 1)

# Runs per transaction.
_BATCH: Final = 10_000


def fill(study: Study) -> None:
    """Stores a run for each planned run of a study; the runs differ in their efficiency, which is random."""
    digests = [scenario.digest() for scenario in study.scenarios()]
    packed = pack(simulate(BASE))
    planned = ((digests[run.point - 1], run.seed) for run in study.design.runs())
    found = _rows(planned, packed)
    while batch := list(islice(found, _BATCH)):
        with study.store.writing() as connection:
            rows.save(rows.OfSqlAlchemy(connection), batch)


def _rows(planned: Iterator[tuple[str, int]], packed: Packed) -> Iterator[dict[str, Any]]:
    measures = json.loads(packed.measures)
    parts = json.dumps(checksums.of_parts(packed.summary, {}))
    noise: Sequence[float] = np.random.default_rng(1).random(1_000_003).tolist()
    for number, (digest, seed) in enumerate(planned):
        value = noise[number % len(noise)]
        row: dict[str, Any] = {
            "digest": digest, "seed": str(seed), "engine": engine_version(), "name": BASE.name,
            "finished_at": BEGAN + timedelta(milliseconds=number), "seconds": value, "machine": "nowhere",
            "measures": json.dumps({**measures, "efficiency": value}), "parts": parts,
        }  # fmt: skip
        yield {**row, "checksum": checksums.of_row(row, checksums.RUN), "summary": packed.summary}
