"""Episodes of several environments that take their steps together; all interfaces share this part."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, nearest
from longpipe.gym.actions import Action, action, step_length
from longpipe.gym.agents import PATH, agent_flows, core_scenario, path_of
from longpipe.gym.draws import Scenarios, drawing
from longpipe.gym.features import NAMES, Array, Features
from longpipe.gym.observations import Observation, observation, reward
from longpipe.run import control_error, register_classes
from longpipe.scenario import Scenario
from longpipe.system.memory import cores

Rows = NDArray[np.float32]
Marks = NDArray[np.bool_]
# Maximum number of scenarios whose JSON is kept.
_MOST_CORES: Final = 1000


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
        self._draw, known = drawing(settings.scenarios)
        self._observation = observation(settings.observation)
        self._action = action(settings.action)
        self._reward = reward(settings.reward)
        self._most_steps = settings.most_steps
        length = step_length(settings.step)
        if count < 1 or self.per_episode < 1:
            raise ScenarioError(f"num_envs: {count}; needs at least one environment with one agent")
        if settings.most_steps < 1:
            raise ScenarioError(f"most_steps: {settings.most_steps}; needs at least 1")
        if threads is not None and threads < 0:
            raise ScenarioError(f"threads: {threads}; needs at least one, or None for all cores")
        for scenario in known:
            agent_flows(scenario, agents)
        threads = min(threads or cores(), count)
        self._core = _core.Environments(count, self.per_episode, self._action.steers, length, threads)
        self.count = count
        rows = count * self.per_episode
        self._measured = np.zeros((rows, len(NAMES)))
        self._alive = np.zeros(count, dtype=np.bool_)
        # Whether each agent's transfer is complete.
        self.complete: Marks = np.zeros(rows, dtype=np.bool_)
        self._paths = {name: np.full(rows, np.nan) for name in PATH}
        # The core's JSON of each scenario, with the agents' flows.
        self._cores: dict[int, tuple[Scenario, list[int], str]] = {}
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
        flows, core = self._core_of(drawn)
        try:
            self._core.begin(number, core, seed, flows)
        except _core.ScenarioError as error:
            raise ScenarioError(str(error)) from None
        except _core.ControlError as error:
            raise control_error(error) from None
        except _core.DefectError as error:
            raise RunError(f"{error}; a defect of longpipe, please report it") from None
        self.scenarios[number] = drawn
        rows = self.rows(number)
        self._steps[number], self._alive[number] = 0, True
        self.complete[rows] = False
        for row, flow in zip(range(rows.start, rows.stop), flows, strict=True):
            for name, value in path_of(drawn, flow).items():
                self._paths[name][row] = value
        self._lowest[rows], self._highest[rows] = np.inf, 0.0
        self._core.measure(self._measured.reshape(-1))
        features = self._features()
        self._seen[rows] = self._observation.of(features)[rows, None, :]
        return features

    def rows(self, number: int) -> slice:
        """Returns the rows of an episode's agents."""
        return slice(number * self.per_episode, (number + 1) * self.per_episode)

    def step(self, actions: NDArray[Any], active: Marks) -> tuple[Array, Marks, Marks, Features]:
        """Takes a step of the active episodes.

        Returns the rewards by row, the episodes that terminate because all transfers of agents are complete, the
        episodes that are truncated, and the measurements.
        """
        # Actions have the precision of the action space.
        asked = np.asarray(actions, dtype=np.float32).reshape(-1).astype(np.float64)
        if np.isnan(asked).any():
            warnings.warn("action: nan; needs a number from -1 to 1, changes nothing", RuntimeWarning, stacklevel=3)
        factors = self._action.factors(asked)
        if any(self.scenarios[number] is None for number in np.flatnonzero(active)):
            raise ScenarioError("step: before reset; needs reset first")
        if factors.shape != (len(self._measured),):
            raise ScenarioError(f"action: {factors.size} factors; needs one for each of {len(self._measured)} agents")
        measured = self._measured.reshape(-1)
        try:
            self._core.step(np.ascontiguousarray(factors), active, measured, self._alive, self.complete)
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
        terminated = active & self.complete.reshape(self.count, -1).all(axis=1)
        ended = active & (~self._alive | (self._steps >= self._most_steps))
        return rewards, terminated, ended & ~terminated, features

    def observations(self, copy: bool = True) -> Rows:
        """Returns the observations, a row per agent; without a copy, the next step overwrites them."""
        seen = self._seen.reshape(len(self._seen), -1)
        return seen.copy() if copy else seen

    def _features(self) -> Features:
        return Features(self._measured, self._lowest, self._highest)

    def _core_of(self, scenario: Scenario) -> tuple[list[int], str]:
        """Returns the agents' flows in a scenario, and the scenario for the core."""
        found = self._cores.get(id(scenario))
        if found is None:
            flows = agent_flows(scenario, self._agents)
            if len(self._cores) >= _MOST_CORES:
                self._cores.clear()
            # The scenario is kept, so that no other one gets its id.
            found = self._cores[id(scenario)] = (scenario, flows, core_scenario(scenario, flows))
        return found[1:]

    def information(self, features: Features) -> dict[str, Array]:
        """Returns the measurements and the constants of the paths for `info`, which docs/gym.md describes."""
        return {
            "time_s": features.now,
            "throughput_bps": features.delivery_rate,
            "rtt_s": features.rtt,
            "min_rtt_s": features.min_rtt,
            "loss_rate": features.loss_rate,
            "window_bytes": features.window,
            "rate_bps": features.rate,
            **{name: values.copy() for name, values in self._paths.items()},
        }

    @property
    def has_begun(self) -> bool:
        """Returns whether any episode has begun."""
        return any(scenario is not None for scenario in self.scenarios)


def scenario_option(options: Mapping[str, Any] | None, *others: str) -> Scenario | None:
    """Returns the option `scenario` of `reset`. Raises ScenarioError for an unknown option."""
    for name in options or {}:
        if name not in ("scenario", *others):
            raise ScenarioError(f"options: {name!r}; {nearest(str(name), ('scenario', *others))}")
    return (options or {}).get("scenario")


def of_row(measured: Mapping[str, Array], row: int) -> dict[str, float]:
    """Returns the measurements of one agent."""
    return {name: float(values[row]) for name, values in measured.items()}
