"""Trained policies as congestion controllers of any scenario."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longpipe.controls.identity import is_of_user
from longpipe.controls.policies import PolicyControl
from longpipe.gym.actions import Action, action, step_length
from longpipe.gym.features import Array, Features
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
) -> type[PolicyControl]:
    """Returns a class for `tcp.congestion` that applies a policy: a function from an observation to an action.

    Observation, action and step must be the same as in training. `base` is the congestion control between the actions
    of "orca". `version` identifies the policy in the store; it is required if the policy has no digest, as with
    PyTorch. An action of nan changes nothing, and `Result.replaced` counts it.
    """
    acts = _controller(observation, action)[1]
    step_length(step)
    settings = {"policy": policy, "observed": observation, "acts": action}
    fields = {
        "interval": step, "steers": acts.steers, "base": base if acts.on_base else None, "version": version,
        "chosen": settings,
    }  # fmt: skip
    # Only classes defined by the user are identified by their attributes.
    module = getattr(policy, "__module__", None)
    module_name = module if is_of_user(module) else "__main__"
    return type("PolicyControl", (_Chosen,), {"__module__": module_name, **fields})


def _controller(
    observed: str | Observation | Callable[[Features], Array], acts: str | Action
) -> tuple[Observation, Action]:
    return observation(observed), action(acts)


class _Chosen(PolicyControl):
    """Applies a policy once per step, to the observations that an environment would make."""

    chosen: dict[str, Any]

    def __init__(self) -> None:
        self._policy: Policy = self.chosen["policy"]
        self._observation, self._action = _controller(self.chosen["observed"], self.chosen["acts"])
        self._lowest_rtt_s, self._highest_rate_bps = np.full(1, np.inf), np.zeros(1)
        self._history: NDArray[np.float32] | None = None

    def factor(self, measured: Sequence[float]) -> float:
        """Returns the factor of the policy's action, nan if the action is nan."""
        features = Features(np.array([measured]), self._lowest_rtt_s, self._highest_rate_bps)
        observation = self._observation.of(features)[0]
        if self._history is None:
            self._history = np.tile(np.float32(observation), (self._observation.history, 1))
        else:
            self._history = np.vstack([self._history[1:], np.float32(observation)])
        # Actions have the precision of the action space.
        acted = np.asarray(self._policy(self._history.reshape(-1)), dtype=np.float32).reshape(-1)[:1].astype(np.float64)
        return float("nan") if np.isnan(acted).any() else float(self._action.factors(acted)[0])
