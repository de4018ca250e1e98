"""Scenarios of a store, as they were when their runs were stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from longpipe.store import checksums
from longpipe.store.errors import DamagedError
from longpipe.store.schema import SCENARIOS

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.store.store import Store

# Number of scenarios per query; databases limit the number of parameters.
_AT_ONCE: Final = 100


def stored_scenarios(
    store: Store, names: Mapping[str, str], loaded: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Scenario]:
    """Returns the scenarios with these digests, whatever the files that they name contain now.

    `names` are the names that the scenarios get, by digest, because equal runs of two studies have the same digest.
    `known` are fields, by digest, that replace the stored ones, because fields that are written differently can have
    the same digest: a field that is absent and one that states its default.
    """
    from longpipe.scenario import Scenario

    digests = list(names)
    scenarios: dict[str, Scenario] = {}
    for begin in range(0, len(digests), _AT_ONCE):
        some = digests[begin : begin + _AT_ONCE]
        with store.reading() as connection:
            query = sa.select(SCENARIOS).where(SCENARIOS.c.digest.in_(some))
            rows = [row._mapping for row in checksums.rows_of(connection, query)]
            if missing := set(some) - {row["digest"] for row in rows}:
                raise DamagedError(f"scenario {min(missing)[:16]} is missing from the store")
            for row in rows:
                checksums.check(row, checksums.SCENARIO, f"scenario {row['digest'][:16]}")
        for row in rows:
            digest = row["digest"]
            fields = (loaded or {}).get(digest) or json.loads(row["fields"])
            scenarios[digest] = Scenario.stored({**fields, "name": names[digest]}, row["resolved"], digest)
    return scenarios
