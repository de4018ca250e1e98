"""Means from packed measures equal those from the rows of runs, on SQLite and PostgreSQL."""

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from longpipe import Scenario, simulate
from longpipe.design import Design, Factor
from longpipe.scenario import LARGEST_SEED
from longpipe.store import Store, measured, pack, schema, studies
from longpipe.study import Study

BASE = Scenario(defaults="1996", name="packed", duration="20 ms").with_(start={"kind": "random", "over": "1 ms"})
BUFFER = Factor.over("switch.buffer", ["100 cells", "200 cells"], "buffer")
TCP = Factor.over("tcp.recovery", ["reno", "sack"], "tcp")
SHARE = "share=throughput / 100 Mbit/s"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Returns an empty store."""
    return Store(tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("database"))


def execute(store: Store, statement: sa.Executable) -> None:
    """Executes a statement in a store."""
    with store.writing() as connection:
        connection.execute(statement)


def means_of_rows(study: Study) -> pd.DataFrame:
    """Returns the means of a study whose runs have no packed measures, after which none of its runs has them."""
    execute(study.store, sa.delete(schema.MEASURED))
    return study.means()


def fill(study: Study, share: float, draws: np.random.Generator) -> None:
    """Stores a share of a study's runs in random order, and runs with the same scenarios and other seeds."""
    seeds = {run.seed for run in study.design.runs()}
    other = [(scenario, min(max(seeds) + 3, LARGEST_SEED)) for scenario in study.scenarios()]
    runs = [(study.scenarios()[run.point - 1], run.seed) for run in study.design.runs() if draws.random() < share]
    for i in draws.permutation(len(runs)):
        study.store.keep(simulate(*runs[i]))
    for scenario, seed in other:
        study.store.keep(simulate(scenario, seed))


@pytest.mark.parametrize("first_seed", [1, 2**63 - 4, LARGEST_SEED - 60])
@pytest.mark.parametrize("common", [True, False])
def test_means_of_packed_measures_equal_those_of_rows(
    store: Store, first_seed: int, monkeypatch: pytest.MonkeyPatch, *, common: bool
) -> None:
    draws = np.random.default_rng(first_seed % 1000 + common)
    design = Design.full_factorial(
        BASE, [BUFFER, TCP], replications=9, first_seed=first_seed, common=common, measures=[SHARE]
    )
    with closing(store):
        study = Study(design, store)
        fill(study, 0.7, draws)
        with monkeypatch.context() as changed:
            changed.setattr(studies, "runs", None)
            packed = study.means(), study.means("share * 2", "timeouts"), study.quantiles("fairness", level=0.1)
        assert packed[0].equals(means_of_rows(study))
        assert packed[1].equals(study.means("share * 2", "timeouts"))
        assert packed[2].equals(study.quantiles("fairness", level=0.1))


def test_points_without_finished_runs_have_no_means(store: Store) -> None:
    with closing(store):
        study = Study(Design.full_factorial(BASE, [TCP], replications=2), store)
        assert study.means().empty
        store.keep(simulate(study.scenarios()[1], 1))
        found = study.means()
        assert found["tcp"].tolist() == ["sack"]
        assert found.equals(means_of_rows(study))


def test_means_of_different_measures_equal_those_of_rows(store: Store) -> None:
    framing = Factor(
        "framing", {"ip": {"framing": "ip", "switch.buffer": "20 packets"}, "cells": {"switch.buffer": "200 cells"}}
    )
    with closing(store):
        study = Study(
            Design.full_factorial(Scenario(defaults="1996", duration="20 ms"), [framing], replications=2), store
        )
        study.run(workers=1)
        found = study.means()
        assert found["cells_lost"].isna().tolist() == [True, False]
        assert found.equals(means_of_rows(study))


@pytest.mark.parametrize("damage", ["flip", "short", "exchange", "loss"])
def test_damaged_packed_measures_are_read_from_rows(store: Store, damage: str) -> None:
    draws = random.Random(damage)
    with closing(store):
        study = Study(Design.full_factorial(BASE, [TCP], replications=3), store)
        study.run(workers=1)
        right = study.means()
        with store.reading() as connection:
            found = connection.execute(sa.select(schema.MEASURED).order_by(schema.MEASURED.c.run)).all()
        first, second = found[0], found[-1]
        content = bytearray(first.measures)
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
        changed = {"flip": bytes(content), "short": first.measures[:-8], "exchange": second.measures}
        is_first = schema.MEASURED.c.run == first.run
        if damage == "loss":
            execute(store, sa.delete(schema.MEASURED).where(is_first))
        else:
            execute(store, sa.update(schema.MEASURED).where(is_first).values(measures=changed[damage]))
        assert studies.measures(store, study._record) is None
        assert study.means().equals(right)


def test_store_without_packed_measures_is_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    design = Design.full_factorial(BASE, [TCP], replications=2)
    with closing(Study(design, path, "older")) as study:
        study.run(workers=1)
        right = study.means()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("drop table measured")
        database.execute("drop table workers")
    with closing(Store(path, readonly=True)) as store:
        assert Study.open("older", store).means().equals(right)
        assert Study.open("older", store).status().complete
    with closing(Store(path)) as store:
        scenario, seed = design.scenarios[0], 7
        store.save(scenario, seed, pack(simulate(scenario, seed)))
    with closing(Study(replace(design, replications=3), path, "older")) as study:
        assert study.run(workers=1).complete
        with study.store.reading() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(schema.MEASURED)).scalar_one() == 3


def test_packed_measures_depend_on_their_key_and_names() -> None:
    runs = [measured.packed("d", str(seed), "20", '{"a":1,"b":null}') for seed in (1, LARGEST_SEED)]
    found = measured.unpacked(runs, "d", "20", ["a", "b"])
    assert found is not None
    assert found[0].tolist() == [1, LARGEST_SEED]
    np.testing.assert_array_equal(found[1], [[1, np.nan], [1, np.nan]])
    for other in (("e", "20", ["a", "b"]), ("d", "21", ["a", "b"]), ("d", "20", ["b", "a"]), ("d", "20", ["a"])):
        assert measured.unpacked(runs, *other) is None
