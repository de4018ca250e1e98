"""Puts mistakes into the tables of scenarios: values of other types and units, unknown names, and parts of other files."""

import copy
import datetime as dt
import math
import random
from collections.abc import Iterator
from typing import Any, Final

Table = dict[str, Any]

VALUES: Final[tuple[Any, ...]] = (
    "5", "", "5 s", "1 ms", "0 s", "-1 s", "10 Mbit/s", "0 bit/s", "5 B", "0.5 BDP", "3 packets", "1 cell", "unlimited", "auto",
    "1 %", "nan s", "1,5 s", "100001 s", "2 GiB", "3 segments", "2 ticks", True, False, 0, 1, -1, 2**63 - 1, 0.0, 0.5, 2.5,
    1e300, math.inf, math.nan, [], [1], ["1"], [0.5, 0.5], [[1]], ["a", "b"], {}, {"kind": 1}, {"kind": "x"}, {"a": "b"}, "cubic",
    "bbr", "rack", "fine", "red", "codel", "epd", "linux-6", "greedy", "web", "cbr", "ip", "aal5", "dctcp", "graph", "dumbbell",
    "constructor", dt.date(2026, 1, 1), "x" * 70, "\uff15 s", "1\u00a0s", {"kind": "transfer", "size": "1 MB"},
    {"kind": "red", "unit": "cells", "min": 100, "max": 300}, {"kind": "vegas", "beta": 9}, {"kind": "dctcp", "ect": 1},
)  # fmt: skip
NAMES: Final = (
    "sources", "trunk_rate", "mss", "recovry", "from", "kind", "vegas", "byte_counting", "buffer", "policy", "route", "class", "pep",
    "loss", "ecn", "timer", "stop", "profile", "handshake", "initial_rtt", "receiver_window", "tcp", "traffic", "digest", "toString",
)  # fmt: skip


def mistaken(table: Table, draw: random.Random, others: list[Table]) -> Table:
    """Returns a copy of a table with one to three mistakes; some are parts of `others`."""
    table = copy.deepcopy(table)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        places = list(_places(table))
        if not places:
            break
        holder, name = draw.choice(places)
        value = copy.deepcopy(draw.choice(VALUES))
        match draw.choice("vvvvndu") if isinstance(holder, dict) else draw.choice("vvd"):
            case "v" if draw.random() < 0.2:
                other, key = draw.choice(list(_places(draw.choice(others))))
                holder[name] = copy.deepcopy(other[key])
            case "v":
                holder[name] = value
            case "n":
                holder[draw.choice(NAMES)] = value
            case "d":
                del holder[name]
            case _:
                holder[draw.choice((f"{name}s", name.upper(), name[:-1] or "x", name.replace("_", "-")))] = holder.pop(
                    name
                )
    return table


def _places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - any value of TOML
    """Yields each table or list within a value, with the name or the number of each item."""
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value[:6]))
        if isinstance(value, list)
        else []
    )
    for name, item in items:
        yield value, name
        yield from _places(item)
