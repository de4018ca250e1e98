"""Which engine a stored run is of: a number, and what older builds had in its place."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa

from longpipe import _core
from longpipe.store.schema import FAILURES, RUNS, SCENARIOS, STUDIES

# Engine 6 changed BBR alone; engine 5 BIC, and what RACK does of marks; engine 4 Vegas alone, engine 3 RACK's timers,
# and slow start as in Linux. Engine 2 changed CUBIC alone; since then efficiency counts timestamps, and segments that
# differ. Builds before engines had numbers, by a hash over their sources: both have the results of engine 1, but the
# hasty one took ACKs to be certain of their place, which on graphs and beside VBR they may not be.
_NOW: Final = "6"
_FIFTH: Final = "5"
_FOURTH: Final = "4"
_THIRD: Final = "3"
_SECOND: Final = "2"
_FIRST: Final = "1"
_SOUND: Final = "0.1.0+62b773d38c8e"
_HASTY: Final = "0.1.0+62a7d65541e4"
# Marks that a sender heeds.
_MARKS: Final = re.compile(r'"ecn": (\{[^}]*"kind": )?"(?!off")')
# The recovery and the congestion controls that engine 3 changed.
_CHANGED: Final = (
    "rack",
    "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "linux-reno", "scalable", "veno", "westwood",
)  # fmt: skip


def engine_version() -> str:
    """The engine's number as text: runs of another are never taken for this one's, whatever the package's version."""
    return _core.__engine__


def earlier_names(engine: str) -> tuple[str, ...]:
    """What older builds called this engine, the best first."""
    return (_FIFTH, _FOURTH, _THIRD, _SECOND, _FIRST, _SOUND, _HASTY) if engine == _NOW else ()


def holds(name: str, fields: Mapping[str, Any]) -> bool:
    """Whether what the engine of an earlier name made of a scenario with these fields is what it makes now."""
    network, text = fields["network"], json.dumps(fields)
    if '"bbr"' in text:
        return False
    if name == _FIFTH:
        return True
    if '"bic"' in text or ('"rack"' in text and _MARKS.search(text)):
        return False
    if name == _FOURTH:
        return True
    # Its parameters stand in every scenario.
    if '"congestion": "vegas"' in text:
        return False
    if name == _THIRD:
        return True
    if any(f'"{one}"' in text for one in _CHANGED):
        return False
    if name == _SECOND:
        return True
    if '"timestamps": true' in text or any(one.get("tcp") for one in network.get("group") or ()):
        return False
    return name != _HASTY or (network["kind"] == "dumbbell" and not network.get("vbr"))


def adopt(connection: sa.Connection) -> None:
    """Gives what builds with earlier names stored its engine's number, as far as it holds."""
    for name in earlier_names(_NOW):
        holding = [{"of": digest} for digest in _holding(connection, name)]
        for table in (RUNS, FAILURES):
            there = table.alias()
            known = sa.exists().where(
                there.c.digest == table.c.digest, there.c.seed == table.c.seed, there.c.engine == _NOW
            )
            named = sa.and_(table.c.engine == name, table.c.digest == sa.bindparam("of"), ~known)
            if holding:
                connection.execute(sa.update(table).where(named).values(engine=_NOW), holding)
        connection.execute(sa.update(STUDIES).where(STUDIES.c.engine == name).values(engine=_NOW))


def _holding(connection: sa.Connection, name: str) -> Iterable[str]:
    """Digests of the scenarios whose runs by the engine of an earlier name hold."""
    of_name = sa.exists().where(RUNS.c.digest == SCENARIOS.c.digest, RUNS.c.engine == name)
    failed = sa.exists().where(FAILURES.c.digest == SCENARIOS.c.digest, FAILURES.c.engine == name)
    query = sa.select(SCENARIOS.c.digest, SCENARIOS.c.fields).where(of_name | failed)
    for digest, fields in connection.execute(query):
        # A scenario that came with a store of version 1 has no fields: what its network was written as is unknown.
        if holds(name, json.loads(fields)) if fields is not None else name != _HASTY:
            yield digest
