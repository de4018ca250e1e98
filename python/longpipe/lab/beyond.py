"""Parts of a scenario that the lab's page does not support, defined once for the page and for `longpipe lab`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.examples import EXAMPLES
from longpipe.scenario.access import Access
from longpipe.scenario.base import kinds_that
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.jitter import DISTRIBUTIONS
from longpipe.scenario.traffic import Traffic

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

Json = dict[str, Any]

# Kinds that the page does not support.
ABSENT: Final = frozenset(
    kind for union in (Traffic, Congestion, Access) for kind in kinds_that(union, lambda model: not model.in_lab)
)
# Fields that the page does not support, because its metrics and pictures show whole runs.
FIELDS: Final = frozenset({"warm_up"})
# Fields of links and nodes that the page does not support, each with its effect.
OF_NETWORK: Final[Mapping[str, str]] = {
    "path": "varies over time",
    "return_path": "varies over time",
}
# Fields of links that are medium access, or lists of conditioners.
ACCESSES: Final = ("access", "return_access", "exit_access", "exit_return_access")
CONDITIONERS: Final = ("conditioners", "return_conditioners")
# Suffix of the files of congestion controllers that a browser executes.
MODULE: Final = ".wasm"


def check(scenario: Scenario) -> None:
    """Raises ScenarioError, with a line for each problem, unless the page can show the scenario."""
    problems = dict.fromkeys(_problems(tomllib.loads(scenario.to_toml())))
    if problems:
        raise ScenarioError(*problems)


def is_resolvable(scenario: Scenario) -> bool:
    """Returns whether the page can run a scenario that it cannot resolve: only paths of a dumbbell are beyond it."""
    fields = tomllib.loads(scenario.to_toml())
    network = fields.get("network", {})
    kept = {name: part for name, part in network.items() if name not in OF_NETWORK}
    return "links" not in network and not list(_problems({**fields, "network": kept}))


def example_of(scenario: Scenario) -> str | None:
    """Returns the name of the example that equals a scenario, apart from its name; the page has it as a preset."""
    from longpipe.scenario import Scenario

    equal = (name for name in EXAMPLES if scenario.with_(name=name) == Scenario.example(name).with_(name=name))
    return next(equal, None)


def modules(scenario: Scenario) -> list[str]:
    """Returns the names of a scenario's WebAssembly modules, which the user must open in the page."""
    fields = tomllib.loads(scenario.to_toml())
    controls = (_kind_and(part.get("tcp", {}).get("congestion")) for _, part in _flows(fields))
    return list(dict.fromkeys(PurePath(str(options["file"])).name for kind, options in controls if kind == "module"))


def _problems(fields: Json) -> Iterator[str]:
    for name in sorted(FIELDS.intersection(fields)):
        yield f"{name}: the lab does not have it; longpipe run does"
    network = fields.get("network", {})
    listed = [
        (f"network.{name}[{i}]", table) for name in ("nodes", "links") for i, table in enumerate(network.get(name, ()))
    ]
    for field, part in (("network", network), *listed):
        for name, does in OF_NETWORK.items():
            if part.get(name):
                yield f"{field}.{name}: {does}, which the lab does not support; longpipe run does"
        yield from _problems_of_parts(field, part)
    for field, part in _flows(fields):
        traffic, _ = _kind_and(part.get("traffic"))
        if traffic in ABSENT:
            yield f"{field}traffic: {traffic}; the lab does not have it; longpipe run does"
        control, options = _kind_and(part.get("tcp", {}).get("congestion"))
        if control in ABSENT:
            yield f"{field}tcp.congestion: {control}; the lab does not have it; longpipe run does"
        if control == "module" and not str(options["file"]).endswith(MODULE):
            yield f"{field}tcp.congestion.file: {options['file']}; needs a WebAssembly module ({MODULE}) in the lab"


def _problems_of_parts(field: str, link: Json) -> Iterator[str]:
    for name in ACCESSES:
        access, _ = _kind_and(link.get(name))
        if access in ABSENT:
            yield f"{field}.{name}: {access}; the lab does not have it; longpipe run does"
    for name in CONDITIONERS:
        for i, part in enumerate(link.get(name, ())):
            distribution = part.get("distribution", "uniform")
            if distribution not in DISTRIBUTIONS:
                yield f"{field}.{name}[{i}].distribution: {distribution}; needs {', '.join(DISTRIBUTIONS)} in the lab"


def _flows(fields: Json) -> Iterator[tuple[str, Json]]:
    """Yields the scenario, its groups and its flows, each with the prefix of its fields, which ends with a dot."""
    yield "", fields
    for name in ("group", "flows"):
        for i, part in enumerate(fields.get("network", {}).get(name, ())):
            yield f"network.{name}[{i}].", part


def _kind_and(value: object) -> tuple[str, Json]:
    """Returns a part's kind and its fields; the part may also be given as the kind's name alone."""
    return (str(value.get("kind")), value) if isinstance(value, dict) else (str(value), {})
