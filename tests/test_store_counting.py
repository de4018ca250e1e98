"""Numbers of runs by state agree with the plan and with the stored runs, on SQLite and PostgreSQL."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from longpipe import Scenario, simulate
from longpipe.design import Design, Factor
from longpipe.scenario import LARGEST_SEED
from longpipe.store import Store, StoreError, pack, studies
from longpipe.study import Study

BASE = Scenario(defaults="1996", duration="1 ms")
PACKED = pack(simulate(BASE), 0.1)
BUFFER = Factor.over("switch.buffer", ["100 cells", "200 cells"], "buffer")
TCP = Factor.over("tcp.recovery", ["reno", "sack"], "tcp")
# The second range contains the largest integer of both databases, 2**63 - 1.
FIRST_SEEDS = (1, 2**63 - 5, LARGEST_SEED - 100)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Returns an empty store."""
    return Store(tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("database"))


@pytest.mark.parametrize("first_seed", FIRST_SEEDS)
@pytest.mark.parametrize("common", [True, False])
def test_counts_agree_with_planned_seeds(store: Store, first_seed: int, *, common: bool) -> None:
    draws = np.random.default_rng(first_seed % 1000 + common)
    design = Design.full_factorial(BASE, [BUFFER, TCP], replications=9, first_seed=first_seed, common=common)
    with closing(store):
        study = Study(design, store, "counted")
        planned = {(run.point, run.seed) for run in design.runs()}
        near = range(max(first_seed - 3, 0), min(first_seed + 45, LARGEST_SEED))
        stored = {(point, seed) for point in range(1, 5) for seed in near if draws.random() < 0.5}
        store.save_all([((design.scenarios[point - 1], seed), PACKED) for point, seed in sorted(stored)])
        failed = {run for run in planned - stored if draws.random() < 0.5}
        for point, seed in failed:
            store.fail(design.scenarios[point - 1], seed, "no memory")
        found = study.status()
        assert (found.finished, found.failed) == (len(planned & stored), len(failed))
        assert (found.runs, found.waiting) == (36, 36 - found.finished - found.failed)
        assert [(one.finished, one.failed) for one in studies.overview(store)] == [(found.finished, found.failed)]
        missing = {(point, seed) for point, _, seed in studies.missing(store, study._record)}
        assert missing == planned - stored


def test_claims_of_finished_runs_do_not_count(store: Store) -> None:
    design = Design.full_factorial(BASE, [BUFFER], replications=5)
    with closing(store):
        study = Study(design, store, "counted")
        keys = [(design.scenarios[0].digest(), str(seed)) for seed in range(1, 8)]
        with store.leases() as leases:
            leases.workers = 1
            assert len(leases.take(keys).ours) == len(keys)
            store.save_all([((design.scenarios[0], seed), PACKED) for seed in (1, 2, 7)])
            found = study.status()
        # Seeds 6 and 7 belong to no planned run.
        assert (found.finished, found.executing, found.claimed, found.waiting) == (2, 1, 2, 5)


@pytest.mark.parametrize("table", ["runs", "receipts"])
def test_status_names_number_of_lost_runs(store: Store, table: str) -> None:
    design = Design.full_factorial(BASE, [BUFFER], replications=5)
    with closing(store):
        study = Study(design, store, "counted")
        store.save_all([((scenario, seed), PACKED) for scenario in design.scenarios for seed in range(1, 5)])
        with store.writing() as connection:
            if table == "runs":
                connection.exec_driver_sql("DELETE FROM summaries")
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE seed = '2'")
        with pytest.raises(StoreError, match="2 finished runs of study 'counted' are gone"):
            study.status()
