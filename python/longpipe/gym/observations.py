"""Observations that an agent makes of its latest steps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from longpipe.errors import ScenarioError, nearest
from longpipe.gym.features import Array, Features, blank, ratio


@dataclass(frozen=True)
class Observation:
    """A function of a step's measurements that returns a row per agent; an observation joins several steps."""

    function: Callable[[Features], Array]
    history: int = 10
    # Bounds of each column, to which values are clipped.
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None

    @property
    def width(self) -> int:
        """Number of columns of one step."""
        return int(self.of(blank(1)).shape[1])

    def of(self, features: Features) -> Array:
        """Returns one step's observation columns, clipped to their bounds."""
        observation = np.asarray(self.function(features), dtype=np.float64)
        rows = len(features.now)
        if observation.ndim != 2 or len(observation) != rows:
            raise ScenarioError(
                f"observation: an array of shape {observation.shape}; needs ({rows}, columns), a row per agent"
            )
        for bound, limit in self._limits:
            observation = limit(observation, bound)
        return observation

    @cached_property
    def _limits(self) -> list[tuple[Array, np.ufunc]]:
        """Bounds of the columns, each with the function that applies it; for few agents, `np.clip` is slower."""
        bounds = ((self.low, np.maximum), (self.high, np.minimum))
        return [(np.array(bound), limit) for bound, limit in bounds if bound is not None]

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the bounds of all columns of all steps."""
        width = self.width
        low = self.low or (-np.inf,) * width
        high = self.high or (np.inf,) * width
        ends = (np.array(bound, dtype=np.float32) for bound in (low, high))
        low_of_all, high_of_all = (np.tile(bound, self.history) for bound in ends)
        return low_of_all, high_of_all


# Values of the columns of `_aurora` whose divisors are 0.
_AURORA_WITHOUT_SAMPLES: Final = np.array([0.0, 1.0, 1.0])


def _aurora(features: Features) -> Array:
    """Returns three columns of PCC-RL: sent latency inflation, latency ratio and send ratio (sender_obs.py)."""
    received, sent = features.receive_rate, features.send_rate
    # Below a thousandth of the sent rate, the received rate is not used; `np.where` takes longer for few agents.
    received = received * (sent < 1000 * received)
    dividends = np.array([features.rtt_increase, features.rtt, sent]).T
    divisors = np.array([features.duration, features.lowest_mean_rtt, received]).T
    return ratio(dividends, divisors, _AURORA_WITHOUT_SAMPLES)


def delay_metric(features: Features) -> Array:
    """Returns Orca's metric: 1 up to 1.25 times the minimum RTT, then the inverse of the excess."""
    allowed = 1.25 * features.min_rtt
    return np.where(features.srtt <= allowed, 1.0, ratio(allowed, features.srtt, 1.0))


def _orca(features: Features) -> Array:
    """Returns the seven inputs of Orca's rl-module, each relative to the largest throughput so far."""
    highest_rate = features.highest_delivery_rate
    window_packets = ratio(features.window, features.mss, 1.0)
    pacing = ratio(8 * features.window, features.srtt, 0.0)
    return np.stack(
        [
            ratio(features.delivery_rate, highest_rate, 0.0),
            np.minimum(ratio(pacing, highest_rate, 0.0), 10.0),
            5 * ratio(ratio(8 * features.lost, features.duration, 0.0), highest_rate, 0.0),
            ratio(features.acks, window_packets, 0.0),
            features.duration,
            ratio(features.min_rtt, features.srtt, 1.0),
            delay_metric(features),
        ],
        axis=1,
    )


OBSERVATIONS: Final = {
    "aurora": Observation(_aurora, 10, (-1.0, 1.0, 0.0), (10.0, 10000.0, 1000.0)),
    "orca": Observation(_orca, 10, (0.0,) * 7, (1.0, 10.0, 1000.0, 1000.0, 1000.0, 1.0, 1.0)),
}


def observation(choice: str | Observation | Callable[[Features], Array]) -> Observation:
    """Returns an observation by its name, or one made from a function. Raises ScenarioError for an unknown name."""
    if isinstance(choice, Observation):
        return choice
    if callable(choice):
        return Observation(choice)
    if choice not in OBSERVATIONS:
        raise ScenarioError(f"observation: {choice!r}; {nearest(str(choice), OBSERVATIONS)}, or a function of Features")
    return OBSERVATIONS[choice]


def _aurora_reward(features: Features) -> Array:
    """Returns PCC-RL's reward: (10 * packets/s - 1000 * mean RTT [s] - 2000 * share lost) / 1000."""
    throughput = ratio(features.receive_rate, 8 * features.mss, 0.0)
    return np.asarray(0.001 * (10 * throughput - 1000 * features.rtt - 2000 * features.loss_rate))


def _orca_reward(features: Features) -> Array:
    """Returns Orca's reward: (throughput - 5 x lost throughput) / largest throughput, times the delay metric."""
    lost = ratio(8 * features.lost, features.duration, 0.0)
    return ratio(features.delivery_rate - 5 * lost, features.highest_delivery_rate, 0.0) * delay_metric(features)


REWARDS: Final[dict[str, Callable[[Features], Array]]] = {"aurora": _aurora_reward, "orca": _orca_reward}


def reward(choice: str | Callable[[Features], Array]) -> Callable[[Features], Array]:
    """Returns a reward by name, or the function itself. Raises ScenarioError for an unknown name."""
    if callable(choice):
        return choice
    if choice not in REWARDS:
        raise ScenarioError(f"reward: {choice!r}; {nearest(str(choice), REWARDS)}, or a function of Features")
    return REWARDS[choice]
