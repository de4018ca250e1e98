"""Actions: numbers from -1 to 1 that change the pacing rate or the window by a factor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from longpipe.controls.intervals import NEEDS, interval_length
from longpipe.errors import ScenarioError, nearest
from longpipe.gym.features import Array, has_nan

# Step of a rate per unit of action; DELTA_SCALE in PCC-RL.
_DELTA: Final = 0.025


@dataclass(frozen=True)
class Action:
    """A function from actions to factors, and the value that they multiply: the pacing rate or the window.

    With `on_base`, the value is the window of the flow's own congestion control, which continues from the changed
    window.
    """

    function: Callable[[Array], Array]
    by_rate: bool
    on_base: bool = False

    def __post_init__(self) -> None:
        """Raises ScenarioError for a rate on a base, because the base's window would not limit it."""
        if self.by_rate and self.on_base:
            raise ScenarioError("action: on_base with by_rate; needs an action on the window")

    @property
    def steers(self) -> str:
        """Value that the core changes: "rate", "window" or "base"."""
        return "rate" if self.by_rate else "base" if self.on_base else "window"

    def factors(self, actions: Array) -> Array:
        """Returns the factors of actions, which are clipped to the range from -1 to 1; nan changes nothing."""
        return self.factors_of_numbers(np.where(np.isnan(actions), 0.0, actions) if has_nan(actions) else actions)

    def factors_of_numbers(self, actions: Array) -> Array:
        """Returns the factors of actions none of which is nan."""
        # For few agents, `np.clip` is slower.
        clipped = np.minimum(np.maximum(actions, -1.0), 1.0)
        return np.asarray(self.function(clipped), dtype=np.float64)


def _aurora(actions: Array) -> Array:
    """Returns the factors of PCC-RL's apply_rate_delta: 1 + delta a up, 1 / (1 - delta a) down."""
    change = _DELTA * actions
    return np.where(actions >= 0, 1 + change, 1 / (1 - change))


def _orca(actions: Array) -> Array:
    """Returns the factors of Orca's map_action: 4^a truncated to hundredths, from 0.25 to 4."""
    return np.asarray(np.trunc(100 * np.power(4.0, actions)) / 100)


ACTIONS: Final = {
    "rate": Action(_aurora, by_rate=True),
    "window": Action(_orca, by_rate=False),
    "orca": Action(_orca, by_rate=False, on_base=True),
}


def action(choice: str | Action) -> Action:
    """Returns an action by name. Raises ScenarioError for an unknown one."""
    if isinstance(choice, Action):
        return choice
    if choice not in ACTIONS:
        raise ScenarioError(f"action: {choice!r}; {nearest(str(choice), ACTIONS)}, or an Action")
    return ACTIONS[choice]


def step_length(text: str) -> tuple[str, float]:
    """Returns the unit of a step's length, "time" [s], "round-trips" or "acks", and the length in this unit."""
    try:
        kind, number = interval_length(text)
    except (ValueError, OverflowError):
        raise ScenarioError(f"step: {text!r}; {NEEDS}") from None
    if kind == "time" and number < 1e-6:
        raise ScenarioError(f"step: {text!r}; needs at least 1 us")
    return kind, number
