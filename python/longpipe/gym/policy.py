"""Trained policies as congestion controllers of any scenario."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longpipe.control import Control, Grant, Interval
from longpipe.controls.identity import is_of_user
from longpipe.gym.actions import Action, action, step_length
from longpipe.gym.features import NAMES, Array, Features
from longpipe.gym.observations import Observation, observation

Policy = Callable[[NDArray[np.float32]], Any]


def control(
    policy: Policy,
    *,
    observation: str | Observation | Callable[[Features], Array] = "aurora",
    action: str | Action = "rate",
    step: str = "1 RTT",
    base: str = "cubic",
    version: str | None = None,
) -> type[Control]:
    """Returns a class for `tcp.congestion` that applies a policy: a function from an observation to an action.

    Observation, action and step must be the same as in training. A step ends with the first ACK at or after its end,
    because a sender has no other events. `base` is the congestion control between the actions of "orca". `version`
    identifies the policy in the store; it is required if the policy has no digest, as with PyTorch.
    """
    acts = _controller(observation, action)[1]
    step_length(step)
    chosen = {"policy": policy, "observed": observation, "acts": action}
    fields = {
        "interval": step, "paces": acts.by_rate, "owns_window": not acts.on_base,
        "base": base if acts.on_base else None, "version": version, "chosen": chosen,
    }  # fmt: skip
    # Only classes defined by the user are identified by their attributes.
    module = getattr(policy, "__module__", None)
    place = module if is_of_user(module) else "__main__"
    return type("PolicyControl", (_Steered,), {"__module__": place, **fields})


def _controller(
    observed: str | Observation | Callable[[Features], Array], acts: str | Action
) -> tuple[Observation, Action]:
    return observation(observed), action(acts)


class _Steered(Control):
    """Applies a policy once per monitor interval."""

    chosen: dict[str, Any]

    def __init__(self) -> None:
        self._policy: Policy = self.chosen["policy"]
        self._observation, self._action = _controller(self.chosen["observed"], self.chosen["acts"])
        self._lowest, self._highest = np.full(1, np.inf), np.zeros(1)
        self._seen: NDArray[np.float32] | None = None
        self._rate = self._window = 0.0

    def on_interval(self, interval: Interval) -> Grant | None:
        """Observes the interval, and changes the rate or the window."""
        if not interval.srtt > 0:
            return None
        if self._window == 0 or self._action.on_base:
            self._window = interval.window
            self._rate = 8 * interval.window / interval.srtt
        row = [[self._value(name, interval) for name in NAMES]]
        found = self._observation.of(Features(np.array(row), self._lowest, self._highest))[0]
        if self._seen is None:
            self._seen = np.tile(np.float32(found), (self._observation.history, 1))
        else:
            self._seen = np.vstack([self._seen[1:], np.float32(found)])
        acted = np.asarray(self._policy(self._seen.reshape(-1)), dtype=np.float64).reshape(-1)[:1]
        factor = float(self._action.factors(acted)[0])
        if self._action.on_base and factor == 1.0:
            return None
        if self._action.by_rate:
            self._rate = min(max(self._rate * factor, 8 * interval.mss), 1e12)
            return Grant(window=float(2**30), rate=self._rate)
        self._window = min(max(self._window * factor, 2 * interval.mss), float(2**30))
        return Grant(window=self._window)

    def _value(self, name: str, interval: Interval) -> float:
        if name == "rate":
            return self._rate if self._action.by_rate else 8 * self._window / interval.srtt
        if name == "window":
            return self._rate * interval.srtt / 8 if self._action.by_rate else self._window
        return float(getattr(interval, name))
