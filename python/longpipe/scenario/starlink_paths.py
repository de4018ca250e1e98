"""The Starlink paths of a scenario, which are those of its dumbbell or of the links of its graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from longpipe.scenario.starlink import Starlink

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.base import Model

_PATHS: Final = ("path", "return_path")


def has_starlink(scenario: Scenario) -> bool:
    """Returns whether a link of the scenario has a path of kind starlink."""
    network: Any = scenario.network
    return any(_starlink(part) for part in (network, *getattr(network, "links", ())))


def with_starlink(scenario: Scenario, changed: Callable[[Starlink], Starlink]) -> Scenario:
    """Returns the scenario with a function applied to each of its Starlink paths."""
    network: Any = scenario.network
    changes = _changes(network, changed)
    if links := getattr(network, "links", None):
        changes["links"] = tuple(link.model_copy(update=_changes(link, changed)) for link in links)
    return scenario.with_(network=network.model_copy(update=changes))


def _starlink(part: Model) -> list[str]:
    return [name for name in _PATHS if isinstance(getattr(part, name, None), Starlink)]


def _changes(part: Model, changed: Callable[[Starlink], Starlink]) -> dict[str, object]:
    """Returns the changed Starlink paths of a link or network by field."""
    return {name: changed(getattr(part, name)) for name in _starlink(part)}
