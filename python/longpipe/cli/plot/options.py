"""Options of `longpipe plot` that have an effect on a picture of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError
from longpipe.pictures import KINDS, kind_of

if TYPE_CHECKING:
    from longpipe.pictures.kinds.kind import Kind

# Parameters of pictures that are options of the same name.
_PARAMETERS: Final = ("port", "unit", "rto", "log")

# Values of the command's parameters, by name.
Given = Mapping[str, Any]


def of_picture(name: str, set_options: Given) -> dict[str, Any]:
    """Returns the options that are parameters of a picture. Raises ScenarioError for an option without effect on it."""
    kind = kind_of(name)
    for option, has_no_effect, why in _WITHOUT_EFFECT:
        if has_no_effect(kind, set_options):
            able = [other for other in KINDS if option.removeprefix("--") in kind_of(other).options]
            lines = [other for other in KINDS if kind_of(other).line is not None]
            names = {"able": " or ".join(able), "lines": ", ".join(lines), "no_overlay": kind.no_overlay}
            raise ScenarioError(f"{option}: {why.format(name=name, **names)}")
    return {option: set_options[option] for option in _PARAMETERS if set_options[option]}


def _shows_one(kind: Kind) -> bool:
    """Returns whether a picture shows one sender, because callers cannot choose a number of flows."""
    return "most" not in kind.options and kind.line is not None


def _without(option: str) -> Callable[[Kind, Given], object]:
    """Returns the condition that an option is given and is no parameter of the picture."""
    return lambda kind, set_options: set_options[option] and option not in kind.options


# Option, condition under which it has no effect, and the reason.
_WITHOUT_EFFECT: Final[tuple[tuple[str, Callable[[Kind, Given], object], str], ...]] = (
    (
        "--flow",
        lambda kind, given: given["flow"] and not kind.selects_flows,
        "not with {name}, which shows no single flow; needs a picture of flows, such as delay",
    ),
    (
        "--all",
        lambda kind, given: given["everything"] and "most" not in kind.options and not _shows_one(kind),
        "not with {name}, which always counts all flows",
    ),
    ("--all", lambda _, given: given["everything"] and given["flow"], "not with --flow"),
    ("--all", lambda _, given: given["everything"] and given["compared"], "not with --compare"),
    (
        "--all",
        lambda kind, given: given["everything"] and _shows_one(kind) and not given["overlay"],
        "not with {name}, which shows one flow; needs --overlay",
    ),
    ("--overlay", lambda _, given: given["overlay"] and given["rto"], "not with --rto; needs panels"),
    (
        "--overlay",
        lambda kind, given: given["overlay"] and given["compared"] is None and kind.no_overlay,
        "{no_overlay}; needs {lines}, or --compare FIELD=LEVEL,LEVEL",
    ),
    ("--port", _without("port"), "{name} shows flows; needs --flow, or the picture {able}"),
    ("--unit", _without("unit"), "{name} has no such unit; needs {able}"),
    ("--rto", _without("rto"), "{name} shows no timeout; needs {able}"),
    ("--log", _without("log"), "{name} shows no delay; needs {able}"),
)
