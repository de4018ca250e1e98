"""Queries of a large store use its indices, with SQLite and PostgreSQL."""

from contextlib import closing

import pytest
import sqlalchemy as sa

from longpipe.store import Store
from longpipe.store.leases import _bound, _stored_query, finished
from longpipe.store.schema import RECEIPTS, RUNS

ENGINE = "0"
DIGESTS = [f"{number:064x}" for number in range(100)]
ROWS = 100_000
KEYS = [(digest, str(seed)) for digest in DIGESTS[:10] for seed in range(500)]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Returns a store with `ROWS` finished runs."""
    where = f"sqlite:///{tmp_path_factory.mktemp('large')}/runs.db"
    filled = Store(where if request.param == "sqlite" else request.getfixturevalue("database"))
    row = {"engine": ENGINE, "name": "synthetic", "finished_at": sa.func.current_timestamp()}
    numbers = [{"digest": digest, "seed": str(seed)} for digest in DIGESTS for seed in range(ROWS // len(DIGESTS))]
    with filled.writing() as connection:
        connection.execute(sa.insert(RUNS).values(**row), numbers)
        connection.execute(sa.insert(RECEIPTS).values(engine=ENGINE), numbers)
        connection.execute(sa.text("ANALYZE"))
    return filled


def test_finished_runs_are_found_by_an_index(store: Store) -> None:
    with closing(store), store.reading() as connection:
        assert finished(connection, [*KEYS, ("absent", "0")], ENGINE) == set(KEYS)
        values = {"engine": ENGINE, **_bound(connection, KEYS[:256])}
        query = _stored_query(connection.dialect.name).params(values)
        explained = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
        text = query.compile(connection, compile_kwargs={"literal_binds": True})
        plan = "\n".join(str(row) for row in connection.exec_driver_sql(explained + str(text)))
    assert "SCAN runs" not in plan
    assert "Seq Scan on" not in plan
    assert plan.count("INDEX") + plan.count("Index") >= 2, plan
