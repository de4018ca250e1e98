"""Episodes of several environments that take their steps together; all interfaces of `longpipe.gym` use this part.

Arrays of measurements, actions and rewards have a row per agent: the agents of episode 0, then of episode 1, and so
on (`Episodes.rows`). Arrays of `active`, `terminated` and `truncated` have an element per episode.
"""

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
from longpipe.gym.features import NAMES, Array, Features, has_nan
from longpipe.gym.observations import Observation, observation, reward
from longpipe.run import control_error, register_classes
from longpipe.scenario import Scenario
from longpipe.system.memory import cores

# Observations, a row per agent.
Rows = NDArray[np.float32]
# Whether a statement holds, an element per episode or per agent.
Flags = NDArray[np.bool_]
# Maximum number of scenarios in the cache of their form for the core.
_MAX_CACHED: Final = 1000
# Measurements in `info`, each with its field of `Features`.
_INFORMATION: Final = {
    "time_s": "now",
    "throughput_bps": "delivery_rate",
    "rtt_s": "rtt",
    "min_rtt_s": "min_rtt",
    "loss_rate": "loss_rate",
    "window_bytes": "window",
    "rate_bps": "rate",
}


@dataclass(frozen=True)
class Settings:
    """Common parts of the environments; see `longpipe.gym.LinkEnv`."""

    scenarios: Scenarios
    observation: str | Observation | Callable[[Features], Array]
    action: str | Action
    reward: str | Callable[[Features], Array]
    step: str
    most_steps: int

    def check(self) -> None:
        """Raises ScenarioError if episodes cannot have any step."""
        if self.most_steps < 1:
            raise ScenarioError(f"most_steps: {self.most_steps}; needs at least 1")


@dataclass(frozen=True)
class _Resolved:
    """A scenario in the form that the core accepts."""

    scenario: Scenario
    # Indices of the flows that agents control.
    agents: list[int]
    json: str


class Episodes:
    """`count` concurrent episodes, numbered from 0, each with the same number of agents."""

    def __init__(self, settings: Settings, count: int, agents: Sequence[str] | int, threads: int | None = None) -> None:
        """Prepares episodes, none of which has begun.

        `agents` are the names of the flows that agents control, or the number of agents, which then control the first
        flows of a scenario. `threads` is the number of threads that simulate episodes; None means one per core.
        Raises ScenarioError for invalid settings, and for a scenario without these flows.
        """
        self._agents = agents
        self.per_episode = agents if isinstance(agents, int) else len(agents)
        self._draw, fixed_scenarios = drawing(settings.scenarios)
        self._observation = observation(settings.observation)
        self._action = action(settings.action)
        self._reward = reward(settings.reward)
        self._most_steps = settings.most_steps
        length = step_length(settings.step)
        settings.check()
        _check_counts(count, self.per_episode, threads)
        for scenario in fixed_scenarios:
            agent_flows(scenario, agents)
        threads = min(threads or cores(), count)
        self._core = _core.Environments(count, self.per_episode, self._action.steers, length, threads)
        self.count = count
        low, high = self._observation.bounds()
        self.observation_space = Box(low, high, dtype=np.float32)
        self.action_space = Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.scenarios: list[Scenario | None] = [None] * count
        self._not_begun = count
        # Marks of all episodes, for `step`.
        self.all_active: Flags = np.ones(count, dtype=np.bool_)
        # Resolved scenarios by `id`; each entry refers to its scenario, so that no other scenario gets its id.
        self._resolved: dict[int, _Resolved] = {}
        # Whether each scenario's simulation has not reached its end, and the number of steps of each episode so far.
        self._alive = np.zeros(count, dtype=np.bool_)
        self._steps = np.zeros(count, dtype=np.int64)
        self._allocate_rows(count * self.per_episode)

    def _allocate_rows(self, rows: int) -> None:
        """Allocates the arrays with a row per agent."""
        # Measurements of the last step, which the core writes: a column per name of `features.NAMES`.
        self._measured = np.zeros((rows, len(NAMES)))
        # Whether each agent's transfer is complete.
        self.complete: Flags = np.zeros(rows, dtype=np.bool_)
        # Constants of each agent's path, such as its base RTT.
        self._paths = {name: np.full(rows, np.nan) for name in PATH}
        # Lowest mean RTT [s] and highest delivery rate [bit/s] of the episode's steps so far, which `Features` updates.
        self._lowest_rtt_s = np.full(rows, np.inf)
        self._highest_rate_bps = np.zeros(rows)
        # Observation columns of the last steps: agent, step (the last one is the newest), column.
        self._history = np.zeros((rows, self._observation.history, self._observation.width), dtype=np.float32)

    def begin(self, number: int, rng: np.random.Generator, scenario: Scenario | None = None) -> Features:
        """Begins episode `number` with a scenario, or a drawn one, and simulates it to each agent's first RTT sample.

        Returns the measurements at this time, of which `rows(number)` are those of this episode. Raises ScenarioError
        for an invalid scenario, ControlError for an error of a flow's own congestion control.
        """
        episode_scenario = self._draw(rng) if scenario is None else scenario
        if not isinstance(episode_scenario, Scenario):
            raise ScenarioError(f"scenario: {episode_scenario!r}; needs a Scenario")
        register_classes(episode_scenario)
        seed = int(rng.integers(2**63))
        resolved = self._resolve(episode_scenario)
        with _CORE_ERRORS:
            self._core.begin(number, resolved.json, seed, resolved.agents)
        self._not_begun -= self.scenarios[number] is None
        self.scenarios[number] = episode_scenario
        rows = self.rows(number)
        self._steps[number], self._alive[number] = 0, True
        self.complete[rows] = False
        for row, flow in zip(range(rows.start, rows.stop), resolved.agents, strict=True):
            for name, value in path_of(episode_scenario, flow).items():
                self._paths[name][row] = value
        self._lowest_rtt_s[rows], self._highest_rate_bps[rows] = np.inf, 0.0
        self._core.measure(self._measured.reshape(-1))
        features = self._features()
        self._history[rows] = self._observation.of(features)[rows, None, :]
        return features

    def rows(self, number: int) -> slice:
        """Returns the rows of an episode's agents."""
        return slice(number * self.per_episode, (number + 1) * self.per_episode)

    def step(self, actions: NDArray[Any], active: Flags) -> tuple[Array, Flags, Flags, Features]:
        """Takes a step of the active episodes with actions from -1 to 1, one for each row.

        Returns four values: the rewards (a row per agent, 0 in other episodes), the episodes that terminate because all
        transfers of agents are complete, the episodes that are truncated because the scenario or the permitted number
        of steps ends, and the measurements. Raises ScenarioError for an active episode that has not begun and for a
        wrong number of actions, ControlError for an error of a flow's own congestion control.
        """
        if self._not_begun and any(self.scenarios[number] is None for number in np.flatnonzero(active)):
            raise ScenarioError("step: no episode has begun; needs a call of reset")
        factors = self._factors(actions)
        with _CORE_ERRORS:
            self._core.step(factors, active, self._measured.reshape(-1), self._alive, self.complete)
        self._steps += active
        features = self._features()
        columns, rewards = self._observation.of(features), np.asarray(self._reward(features), dtype=np.float64)
        if active is self.all_active or active.all():
            # Slices copy faster than masks.
            self._history[:, :-1] = self._history[:, 1:]
            self._history[:, -1] = columns
        else:
            stepped = np.repeat(active, self.per_episode)
            self._history[stepped, :-1] = self._history[stepped, 1:]
            self._history[stepped, -1] = columns[stepped]
            rewards = np.where(stepped, rewards, 0.0)
        complete = self.complete if self.per_episode == 1 else self.complete.reshape(self.count, -1).all(axis=1)
        terminated = active & complete
        ended = active & (~self._alive | (self._steps >= self._most_steps))
        return rewards, terminated, ended & ~terminated, features

    def _factors(self, actions: NDArray[Any]) -> Array:
        """Returns the factor by which each agent's action multiplies its rate or window."""
        # Interfaces may pass numbers of other types; these are rounded to the type of the action space.
        rounded = np.asarray(actions, dtype=np.float32).reshape(-1).astype(np.float64)
        if has_nan(rounded):
            warnings.warn("action: nan; needs a number from -1 to 1, changes nothing", RuntimeWarning, stacklevel=4)
            factors = self._action.factors(rounded)
        else:
            factors = self._action.factors_of_numbers(rounded)
        if factors.shape != (len(self._measured),):
            raise ScenarioError(f"action: {factors.size} factors; needs one for each of {len(self._measured)} agents")
        return np.ascontiguousarray(factors)

    def observations(self, copy: bool = True) -> Rows:
        """Returns the observations: a row per agent, and the columns of the last steps, the newest last.

        Without `copy`, the array is a view that the next step overwrites.
        """
        flat = self._history.reshape(len(self._history), -1)
        return flat.copy() if copy else flat

    def _features(self) -> Features:
        """Returns the latest measurements."""
        return Features(self._measured, self._lowest_rtt_s, self._highest_rate_bps)

    def _resolve(self, scenario: Scenario) -> _Resolved:
        """Returns a scenario in the form for the core, from the cache if it contains the scenario."""
        resolved = self._resolved.get(id(scenario))
        if resolved is None:
            if len(self._resolved) >= _MAX_CACHED:
                self._resolved.clear()
            flows = agent_flows(scenario, self._agents)
            resolved = _Resolved(scenario, flows, core_scenario(scenario, flows))
            self._resolved[id(scenario)] = resolved
        return resolved

    def information(self, features: Features) -> dict[str, Array]:
        """Returns the measurements and the constants of the paths for `info`, a row per agent (docs/gym.md)."""
        measured = {name: getattr(features, field) for name, field in _INFORMATION.items()}
        return measured | {name: values.copy() for name, values in self._paths.items()}

    def information_of(self, features: Features, row: int) -> dict[str, float]:
        """Returns the values of `information` for one agent."""
        values = vars(features)
        measured = {name: float(values[field][row]) for name, field in _INFORMATION.items()}
        for name, constants in self._paths.items():
            measured[name] = float(constants[row])
        return measured

    @property
    def has_begun(self) -> bool:
        """Returns whether any episode has begun."""
        return self._not_begun < self.count


def _check_counts(episodes: int, agents: int, threads: int | None) -> None:
    """Raises ScenarioError unless there is at least one episode with one agent, and a valid number of threads."""
    if episodes < 1 or agents < 1:
        raise ScenarioError(f"num_envs: {episodes}; needs at least one environment with one agent")
    if threads is not None and threads < 0:
        raise ScenarioError(f"threads: {threads}; needs at least one, or None for all cores")


class _CoreErrors:
    """A context that converts errors of the core to longpipe's errors; a generator would take longer."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, _core.ScenarioError):
            raise ScenarioError(str(error)) from None
        if isinstance(error, _core.ControlError):
            raise control_error(error) from None
        if isinstance(error, _core.DefectError):
            raise RunError(f"{error}; a defect of longpipe, please report it") from None


_CORE_ERRORS: Final = _CoreErrors()


def scenario_option(options: Mapping[str, Any] | None, *permitted: str) -> Scenario | None:
    """Returns the option `scenario` of `reset`. Raises ScenarioError for others than it and `permitted`."""
    for name in options or {}:
        if name not in ("scenario", *permitted):
            raise ScenarioError(f"options: {name!r}; {nearest(str(name), ('scenario', *permitted))}")
    return (options or {}).get("scenario")
