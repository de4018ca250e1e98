"""Parts that the core describes: their generated models, and the bounds that Python and the core enforce."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import generate
from longpipe import Scenario, _core, units
from longpipe.scenario.base import Model
from longpipe.units import Dimension

ROOT: Final = Path(__file__).parents[1]
DESCRIBED: Final[dict[str, list[dict[str, Any]]]] = json.loads(_core.descriptions())
PACKETS: Final = Scenario.from_toml('framing = "ip"\nduration = "1 ms"\nswitch.buffer = "100 packets"\n')
CELLS: Final = Scenario.from_toml('duration = "1 ms"\n')


def parts(family: str) -> Iterator[dict[str, Any]]:
    """Yields the description of each kind of a family, and of its nested parts."""
    by_hand = next(one.by_hand for one in generate.FAMILIES if one.part == family)
    for kind in DESCRIBED[family]:
        if kind["kind"] not in by_hand:
            yield kind["part"]
            fields = [field for field in kind["part"]["fields"] if field["name"] not in DESCRIBED]
            yield from (nested for field in fields for _, nested in field.get("kinds", ()))


FIELDS: Final = [
    (family, part["name"], field) for family in DESCRIBED for part in parts(family) for field in part["fields"]
]


@pytest.mark.parametrize("family", generate.FAMILIES, ids=lambda family: family.module)
def test_generated_models_are_current(family: generate.Family) -> None:
    text = (generate.FOLDER / f"{family.module}.py").read_text(encoding="utf-8")
    assert text == generate.generated(family), "run make models"


def test_every_family_has_models() -> None:
    assert sorted(family.part for family in generate.FAMILIES) == sorted(DESCRIBED)


def test_descriptions_of_fields_exist_only_in_the_core() -> None:
    # Short descriptions, such as "Number of classes", may be part of any sentence.
    texts = {field["about"] for _, _, field in FIELDS if len(field["about"]) > 40}
    files = [*(ROOT / "python").rglob("*.py"), *(ROOT / "lab" / "src").rglob("*.ts")]
    sources = {file: file.read_text(encoding="utf-8") for file in files}
    written = {file: text for file, text in sources.items() if f"\n{generate.MARK}\n" not in text}
    assert not [(file.name, text) for file, source in written.items() for text in texts if text in source]


def test_bounds_of_fields_do_not_exist_in_the_lab() -> None:
    bounds = {
        text for _, _, field in FIELDS for _, found in quantities(field) for text in (found["low"], found["high"])
    }
    sources = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "lab" / "src" / "scenario").glob("*.ts")}
    found = [
        (name, text) for name, source in sources.items() for text in bounds if re.search(f"[\"'`]{text}[\"'`]", source)
    ]
    # An example of a line.
    assert found == [("toml.ts", "10 s")]


def test_described_fields_exist_only_in_generated_modules() -> None:
    names = {part["name"] for family in DESCRIBED for part in parts(family)}
    described = [model for model in subclasses(Model) if names.intersection(base.__name__ for base in model.__mro__)]
    # A scenario has the described fields, and no others.
    models = [model for model in described if vars(model).get("__annotations__")]
    generated = {f"longpipe.scenario.{family.module}" for family in generate.FAMILIES}
    assert {model.__name__ for model in models} == names
    assert {model.__module__ for model in models} <= generated


def subclasses(model: type[Model]) -> Iterator[type[Model]]:
    for below in model.__subclasses__():
        yield below
        yield from subclasses(below)


def quantities(described: dict[str, Any]) -> Iterator[tuple[Dimension, dict[str, Any]]]:
    if described["is"] == "quantity":
        yield getattr(units, described["dimension"].upper()), described["bounds"]
    if described["is"] == "list":
        yield from quantities(described["of"])


def test_bounds_are_equal_in_python_and_core() -> None:
    found = [pair for _, _, field in FIELDS for pair in quantities(field)]
    assert found
    for dimension, bounds in found:
        assert [dimension.parse(bounds[end]) for end in ("low", "high")] == [bounds["least"], bounds["most"]]


def in_core(field: dict[str, Any]) -> str:
    return f"{field['name']}_{field['unit']}" if field["unit"] else str(field["name"])


def at_bounds(field: dict[str, Any]) -> Iterator[tuple[float, bool]]:
    """Yields values at and next to the bounds of a number, and whether they are accepted."""
    bounds = field["bounds"]
    for end, sign, is_open in (("least", -1, bounds["open"][0]), ("most", 1, bounds["open"][1])):
        step = sign if field["is"] != "float" else sign * 1e-9 * max(1.0, bounds[end])
        yield bounds[end], not is_open
        yield bounds[end] + step, False


# A connection that satisfies the needs of every congestion control.
CONNECTION: Final = PACKETS.with_(
    **{
        "tcp.recovery": "rack",
        "tcp.timer": {"kind": "fine", "timestamps": True},
        "tcp.ecn": {"kind": "accurate", "ect": 1},
    }
)
# Scenario and field of each family.
PLACES: Final = {
    "congestion": (CONNECTION, "tcp.congestion"),
    "recovery": (CONNECTION, "tcp.recovery"),
    "policy": (PACKETS, "switch.policy"),
    "conditioner": (PACKETS, "network.conditioners"),
    "loss": (PACKETS, "network.trunk_loss"),
    "scheduler": (CELLS, "switch.scheduler"),
    "service": (CELLS.with_(**{"network.group": [{"name": "flow"}]}), "network.group.0.service"),
}


def valid(described: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Returns a value of a type."""
    match described["is"]:
        case "quantity":
            return described["bounds"]["low"]
        case "integer" | "float" | "share":
            return described["bounds"]["least"]
        case "list":
            return [valid(described["of"])]
        case _:
            return [valid(each) for each in described["each"]]


def cases() -> Iterator[tuple[str, dict[str, Any], list[str], dict[str, Any]]]:
    """Yields each number of the parts of ports: the family, the table of the part, the number's path, its description."""
    for family, kinds in DESCRIBED.items():
        # The core checks the other parts of connections by itself, and accepts more than users may write: its tests
        # simulate clocks of 1 ps and thresholds that no ACK reaches.
        for kind in kinds if family in PLACES else ():
            if kind["facts"].get("packets") is False or kind["kind"] == "module":
                continue
            fields = kind["part"]["fields"]
            required = {field["name"]: valid(field) for field in fields if field["default"] is None}
            table = {"kind": kind["kind"], **required}
            for field in fields:
                if field["name"] == "max_burst":
                    continue
                if "bounds" in field or "bounds" in field.get("of", {}):
                    yield family, table, [in_core(field)], field
                for name, nested in field.get("kinds", ()) if field["name"] not in DESCRIBED else ():
                    for below in nested["fields"]:
                        yield family, {**table, field["name"]: name}, [field["name"], in_core(below)], below


def problem_of(resolved: dict[str, Any]) -> str:
    """Returns the message with which the core rejects a resolved scenario; "" if it runs it."""
    try:
        _core.run(json.dumps(resolved), 1)
    except _core.ScenarioError as error:
        return str(error)
    return ""


def parts_of_kind(resolved: dict[str, Any], family: str, kind: str) -> Iterator[dict[str, Any]]:
    """Yields the parts of the links, of the connections or of their VCs, of a resolved scenario that have a kind."""
    if PLACES[family][1].startswith("tcp"):
        for tcp in [flow["tcp"] for flow in resolved["flows"]]:
            part = tcp[family]
            # Some kinds are resolved to their names, and their options to fields with these names.
            yield part if isinstance(part, dict) else tcp[part]
        return
    yield from (flow["service"] for flow in resolved["flows"] if flow.get("service", {}).get("kind") == kind)
    for link in resolved["links"]:
        parts = [link["policy"], link["scheduler"], link["loss"], *link.get("conditioners", ())]
        yield from (part for part in parts if part["kind"] == kind)


@pytest.mark.parametrize(
    ("family", "table", "path", "field"),
    list(cases()),
    ids=lambda value: ".".join(value) if isinstance(value, list) else str(value["kind"]) if "kind" in value else "",
)
def test_core_accepts_numbers_within_their_bounds(
    family: str, table: dict[str, Any], path: list[str], field: dict[str, Any]
) -> None:
    base, name = PLACES[family]
    # Packets skip the delay of a jitter.
    jitter = [{"kind": "jitter", "delay": "1 ms", "jitter": "0 s"}] if table["kind"] == "reordering" else []
    value = [*jitter, table] if family == "conditioner" else table
    scenario = base.with_(**{name: value}).resolved
    numeric = field.get("of", field)
    bounds = numeric["bounds"]
    begin, end = ("(" if bounds["open"][0] else "["), (")" if bounds["open"][1] else "]")
    interval = f"needs a number in {begin}{bounds['low']}, {bounds['high']}{end}"
    needs = interval if any(bounds["open"]) else f"needs {bounds['low']} to {bounds['high']}"
    for number, is_accepted in at_bounds(numeric):
        resolved = copy.deepcopy(dict(scenario))
        for part in parts_of_kind(resolved, family, table["kind"]):
            within = part if len(path) == 1 else part[path[0]]
            within[path[-1]] = [number] if "of" in field else number
        problem = problem_of(resolved)
        # A rule of several fields may forbid a value within the bounds, and an integer type values beyond them.
        assert is_accepted != (needs in problem or "invalid value" in problem), problem
