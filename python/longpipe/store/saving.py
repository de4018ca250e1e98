"""Statements that store a run, compiled once per store."""

from dataclasses import dataclass, field
from typing import Any

from longpipe.store.checksums import RUN
from longpipe.store.leases import insert_of
from longpipe.store.schema import RECEIPTS, RUNS, SUMMARIES

_KEY = ("digest", "seed", "engine")


@dataclass(frozen=True)
class Saving:
    """Returns the statements for a kind of database, "sqlite" or "postgresql"."""

    kind: str
    run: Any = field(init=False)
    summary: Any = field(init=False)
    receipt: Any = field(init=False)

    def __post_init__(self) -> None:
        insert = insert_of(self.kind)
        run, summary, receipt = insert(RUNS), insert(SUMMARIES), insert(RECEIPTS)
        new = {name: run.excluded[name] for name in (*RUN, "checksum") if name not in _KEY}
        statements = {
            "run": run.on_conflict_do_update(index_elements=_KEY, set_=new).returning(RUNS.c.id),
            "summary": summary.on_conflict_do_update(
                index_elements=["run"], set_={"summary": summary.excluded.summary}
            ),
            "receipt": receipt.on_conflict_do_update(index_elements=_KEY, set_={"checksum": receipt.excluded.checksum}),
        }
        for name, statement in statements.items():
            object.__setattr__(self, name, statement)
