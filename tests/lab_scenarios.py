"""Random scenarios from the lab's description of all parts: the lab and Python resolve or refuse each in the same way.

`python tests/lab_scenarios.py [--count 500] [--seed 1]` prints how many were accepted and refused, and each that differs.
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from longpipe.lab import beyond
from longpipe.lab.fields import models
from longpipe.units import Dimension

Json = dict[str, Any]
# The most fields of a scenario that are set at once.
MOST_SETTINGS: Final = 6
# Units of buffers, with whole numbers.
UNITS: Final = ("packets", "KB", "ms", "cells")
# The most flows, because Python takes 40 KB for each.
MOST_FLOWS: Final = 100
# Share of the optional fields of a table that are set besides the drawn one.
SET: Final = 0.1
# Parts that other tests draw, because the names in them have to fit each other, and those that the lab does not have.
ELSEWHERE: Final = frozenset({"graph", "digest", *beyond.OF_NETWORK})


class Drawn:
    """Draws values of the fields of parts."""

    def __init__(self, seed: int) -> None:
        """Starts a sequence of scenarios that depends on the seed alone."""
        self.random = random.Random(seed)
        self.models: Mapping[str, Json] = models()

    def scenario(self) -> Json:
        """Returns the fields of a scenario."""
        table: Json = {"schema": self.random.choice([1, 2])}
        for _ in range(self.random.randint(1, MOST_SETTINGS)):
            self._set(table, "Scenario")
        network = table.get("network")
        if isinstance(network, dict):
            network.setdefault("kind", "dumbbell")
        return table

    def _set(self, table: Json, part: str) -> None:
        """Sets a field of a part, or a field of a part within it."""
        known = [field for field in self.models[part].get("fields", ()) if field["name"] not in ELSEWHERE]
        if not known:
            return
        field = self.random.choice(known)
        kind = field["type"]
        below = table.get(field["name"])
        if kind["is"] == "part":
            self._set(table.setdefault(field["name"], {}), kind["part"])
        elif kind["is"] == "kinds" and isinstance(below, dict) and "kind" in below and self.random.random() < 0.7:
            self._set(below, kind["kinds"][below["kind"]])
        else:
            counted = field["name"] in ("sources", "count")
            table[field["name"]] = self.random.randint(1, MOST_FLOWS) if counted else self.value(kind)

    def table(self, part: str) -> Json:
        """Returns fields of a part with all required ones."""
        fields = [field for field in self.models[part].get("fields", ()) if field["name"] not in ELSEWHERE]
        chosen = [field for field in fields if "default" not in field or self.random.random() < SET]
        table = {field["name"]: self.value(field["type"]) for field in chosen}
        return table | {name: self.random.randint(1, MOST_FLOWS) for name in ("sources", "count") if name in table}

    def value(self, kind: Json) -> Any:  # noqa: ANN401 - any JSON value
        """Returns a value of a type, mostly within its bounds."""
        draw = self.random
        if kind["is"] in ("quantity", "list", "kinds"):
            return {"quantity": self._quantity, "list": self._list, "kinds": self._kind}[kind["is"]](kind)
        match kind["is"]:
            case "buffer":
                return draw.choice(["unlimited", "0.5 BDP", "2 BDP", *(f"{draw.randint(1, 2000)} {u}" for u in UNITS)])
            case "integer or word":
                return draw.choice([kind["word"], draw.randint(kind["low"], kind["high"])])
            case "text":
                return draw.choice(["uniform", "normal", "pareto"])
            case "bool":
                return draw.random() < 0.5
            case "one of":
                return draw.choice(kind["values"])
            case "values":
                return {"beta": draw.random()}
            case "part":
                return self.table(kind["part"])
            case _:
                return self._number(kind)

    def _list(self, kind: Json) -> list[Any]:
        if (each := kind.get("each")) is not None:
            return [self.value(item) for item in each]
        most = min(kind.get("most", 3), 3)
        count = kind.get("length", self.random.randint(min(kind.get("least", 0), most), most))
        return [self.value(kind["of"]) for _ in range(count)]

    def _kind(self, kind: Json) -> Json | str:
        # A kind that only the command line supports has no fields here.
        possible = [name for name in kind["kinds"] if name not in ELSEWHERE]
        supported = [name for name in possible if "fields" in self.models[kind["kinds"][name]]]
        name = self.random.choice(supported or possible)
        table = self.table(kind["kinds"][name])
        return {"kind": name, **table} if table or self.random.random() < 0.5 else name

    def _quantity(self, kind: Json) -> str:
        dimension = Dimension(kind["dimension"])
        low, high = (int(dimension.parse(text)) for text in (kind["low"], kind["high"]))
        words = [word for word in ("auto", "unlimited") if kind[word]]
        if words and self.random.random() < 0.3:
            return self.random.choice(words)
        lowest = max(low, 1)
        number = round(lowest * (high / lowest) ** self.random.random())
        return dimension.format(self.random.choice([low, high, *[min(max(number, low), high)] * 8]))

    def _number(self, kind: Json) -> float:
        low: Any = kind.get("ge", kind.get("gt", 0))
        high: Any = kind.get("le", kind.get("lt", 100))
        if kind["is"] == "int":
            return self.random.randint(low, min(high, low + self.random.choice([3, 100, high - low])))
        return round(self.random.uniform(low, high), self.random.randint(1, kind.get("decimals", 12)))


def main(words: Sequence[str]) -> int:
    """Runs the command line; the exit status is 1 if a scenario differs."""
    from test_lab import of_page, of_python

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    drawn = Drawn(asked.seed)
    tables = [drawn.scenario() for _ in range(asked.count)]
    differing = accepted = 0
    for table, page in zip(tables, of_page(tables), strict=True):
        python = of_python(table)
        accepted += "core" in python
        if page != python:
            differing += 1
            sys.stdout.write(f"{json.dumps(table)}\n  lab    {str(page)[:600]}\n  python {str(python)[:600]}\n")
    sys.stdout.write(f"{asked.count} scenarios, {accepted} accepted; {differing} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
