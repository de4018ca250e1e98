"""Episodes of several environments that take their steps together; all interfaces share this part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, nearest
from longpipe.gym.actions import Action, action, step_length
from longpipe.gym.draws import Scenarios, drawing
from longpipe.gym.features import NAMES, Array, Features
from longpipe.gym.observations import Observation, observation, reward
from longpipe.memory import cores
from longpipe.run import control_error, register_classes
from longpipe.scenario import Scenario

Rows = NDArray[np.float32]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """Common parts of the environments; see `longpipe.gym.LinkEnv`."""

    scenarios: Scenarios
    observation: str | Observation | Callable[[Features], Array]
    action: str | Action
    reward: str | Callable[[Features], Array]
    step: str
    most_steps: int


class Episodes:
    """Episodes by number, each with the same number of agents; rows of arrays are agents, episode by episode."""

    def __init__(self, settings: Settings, count: int, agents: Sequence[str] | int, threads: int | None = None) -> None:
        """Accepts the names of the agents' flows, or the number of agents, which then are a scenario's first flows."""
        self._agents = agents
        self.per_episode = agents if isinstance(agents, int) else len(agents)
        self._draw = drawing(settings.scenarios)
        self._observation = observation(settings.observation)
        self._action = action(settings.action)
        self._reward = reward(settings.reward)
        self._most_steps = settings.most_steps
        length = step_length(settings.step)
        if count < 1 or self.per_episode < 1:
            raise ScenarioError(f"num_envs: {count}; needs at least one environment with one agent")
        if settings.most_steps < 2:
            raise ScenarioError(f"most_steps: {settings.most_steps}; needs at least 2")
        if threads is not None and threads < 0:
            raise ScenarioError(f"threads: {threads}; needs at least one, or None for all cores")
        threads = min(threads or cores(), count)
        self._core = _core.Environments(count, self.per_episode, self._action.steers, length, threads)
        self.count = count
        rows = count * self.per_episode
        self._measured = np.zeros((rows, len(NAMES)))
        self._alive = np.zeros(count, dtype=np.bool_)
        self._steps = np.zeros(count, dtype=np.int64)
        self._lowest = np.full(rows, np.inf)
        self._highest = np.zeros(rows)
        low, high = self._observation.bounds()
        self.observation_space = Box(low, high, dtype=np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._seen = np.zeros((rows, self._observation.history, self._observation.width), dtype=np.float32)
        self.scenarios: list[Scenario | None] = [None] * count

    def begin(self, number: int, rng: np.random.Generator, scenario: Scenario | None = None) -> Features:
        """Begins an episode of a drawn or a given scenario, up to the first RTT sample of each agent.

        Returns the measurements at this time, of which `rows(number)` are those of this episode.
        """
        drawn = self._draw(rng) if scenario is None else scenario
        if not isinstance(drawn, Scenario):
            raise ScenarioError(f"scenario: {drawn!r}; needs a Scenario")
        register_classes(drawn)
        seed = int(rng.integers(2**63))
        try:
            self._core.begin(number, drawn.core_json(), seed, self._flows(drawn))
        except _core.ScenarioError as error:
            raise ScenarioError(str(error)) from None
        except _core.ControlError as error:
            raise control_error(error) from None
        except _core.DefectError as error:
            raise RunError(f"{error}; a defect of longpipe, please report it") from None
        self.scenarios[number] = drawn
        rows = self.rows(number)
        self._steps[number], self._alive[number] = 0, True
        self._lowest[rows], self._highest[rows] = np.inf, 0.0
        self._core.measure(self._measured.reshape(-1))
        features = self._features()
        self._seen[rows] = self._observation.of(features)[rows, None, :]
        return features

    def rows(self, number: int) -> slice:
        """Returns the rows of an episode's agents."""
        return slice(number * self.per_episode, (number + 1) * self.per_episode)

    def step(self, actions: NDArray[Any], active: Marks) -> tuple[Array, Marks, Features]:
        """Takes a step of the active episodes; returns rewards by row, the episodes that end, and the measurements."""
        factors = self._action.factors(np.asarray(actions, dtype=np.float64).reshape(-1))
        if factors.shape != (len(self._measured),):
            raise ScenarioError(f"action: {factors.size} factors; needs one for each of {len(self._measured)} agents")
        try:
            self._core.step(np.ascontiguousarray(factors), active, self._measured.reshape(-1), self._alive)
        except _core.ControlError as error:
            raise control_error(error) from None
        except _core.DefectError as error:
            raise RunError(f"{error}; a defect of longpipe, please report it") from None
        self._steps += active
        features = self._features()
        stepped = np.repeat(active, self.per_episode)
        found = self._observation.of(features)
        if stepped.all():
            self._seen[:, :-1] = self._seen[:, 1:]
            self._seen[:, -1] = found
        else:
            self._seen[stepped, :-1] = self._seen[stepped, 1:]
            self._seen[stepped, -1] = found[stepped]
        rewards = np.where(stepped, np.asarray(self._reward(features), dtype=np.float64), 0.0)
        return rewards, active & (~self._alive | (self._steps >= self._most_steps)), features

    def observations(self, copy: bool = True) -> Rows:
        """Returns the observations, a row per agent; without a copy, the next step overwrites them."""
        seen = self._seen.reshape(len(self._seen), -1)
        return seen.copy() if copy else seen

    def _features(self) -> Features:
        return Features(self._measured, self._lowest, self._highest)

    def _flows(self, scenario: Scenario) -> list[int]:
        names = [str(flow["name"]) for flow in scenario.resolved["flows"]]
        if isinstance(self._agents, int):
            if len(names) < self._agents:
                raise ScenarioError(f"agents: {self._agents}; the scenario has {len(names)} flows")
            return list(range(self._agents))
        for name in self._agents:
            if name not in names:
                raise ScenarioError(f"agents: {name!r}; {nearest(name, names, 10)}")
        return [names.index(name) for name in self._agents]


def measurements(features: Features) -> dict[str, Array]:
    """Returns the measurements for `info`, which docs/gym.md describes."""
    return {
        "time_s": features.now,
        "throughput_bps": features.delivery_rate,
        "rtt_s": features.rtt,
        "min_rtt_s": features.min_rtt,
        "loss_rate": features.loss_rate,
        "window_bytes": features.window,
        "rate_bps": features.rate,
    }


def of_row(measured: Mapping[str, Array], row: int) -> dict[str, float]:
    """Returns the measurements of one agent."""
    return {name: float(values[row]) for name, values in measured.items()}
