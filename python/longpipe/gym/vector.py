"""Many environments at once for Gymnasium, simulated by threads of the core."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longpipe.errors import ScenarioError
from longpipe.gym.actions import Action
from longpipe.gym.copied import Copied
from longpipe.gym.draws import Scenarios
from longpipe.gym.episodes import Episodes, Flags, Rows, Settings, scenario_option
from longpipe.gym.features import Array, Features
from longpipe.gym.observations import Observation
from longpipe.scenario import Scenario


class LinkVectorEnv(VectorEnv[Rows, NDArray[Any], NDArray[Any]], Copied):
    """`num_envs` environments like `LinkEnv`, which take their steps together in threads.

    An environment whose episode ended begins the next one in the following step (AutoresetMode.NEXT_STEP). Seed s gives
    environment i the seed s + i, whatever the number of threads. Without `copy`, the next step overwrites the
    observations.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as in the base class

    def __init__(
        self,
        num_envs: int = 1,
        scenarios: Scenarios = "fiber",
        *,
        agent: str | None = None,
        observation: str | Observation | Callable[[Features], Array] = "aurora",
        action: str | Action = "rate",
        reward: str | Callable[[Features], Array] = "aurora",
        step: str = "1 RTT",
        most_steps: int = 400,
        max_episode_steps: int | None = None,
        threads: int | None = None,
        copy: bool = True,
        render_mode: None = None,
    ) -> None:
        self.keep_arguments(locals())
        settings = Settings(scenarios, observation, action, reward, step, max_episode_steps or most_steps)
        self._episodes = Episodes(settings, num_envs, 1 if agent is None else [agent], threads)
        self._copy = copy
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = self._episodes.observation_space
        self.single_action_space = self._episodes.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator] | None = None
        self._ended: Flags = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Rows, dict[str, Any]]:
        """Begins an episode of each environment, or of those in `options["reset_mask"]`.

        `seed` is the seed of the first environment, or a list with one for each. `options["scenario"]` is a scenario.
        """
        if isinstance(seed, int):
            super().reset(seed=seed)
            seed = [seed + i for i in range(self.num_envs)]
        if seed is None and self._generators is None:
            seed = [None] * self.num_envs
        if seed is not None:
            if len(seed) != self.num_envs:
                raise ScenarioError(f"seed: {len(seed)} seeds; needs one for each of {self.num_envs} environments")
            # Without a new seed, an environment continues with its generator, as Gymnasium requires.
            previous: Sequence[np.random.Generator | None] = self._generators or [None] * self.num_envs
            self._generators = [
                seeding.np_random(own_seed)[0] if own_seed is not None or generator is None else generator
                for own_seed, generator in zip(seed, previous, strict=True)
            ]
        options = options or {}
        scenario = scenario_option(options, "reset_mask")
        mask = np.asarray(options.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)), dtype=np.bool_)
        information: dict[str, Any] = {}
        if (features := self._begin(mask, scenario)) is not None:
            information = _information(self._episodes.information(features), mask)
        return self._episodes.observations(self._copy), information

    def step(self, actions: NDArray[Any]) -> tuple[Rows, Array, Flags, Flags, dict[str, Any]]:
        """Takes a step of each environment; one whose episode has ended begins the next episode instead."""
        active = ~self._ended
        rewards, terminated, truncated, features = self._episodes.step(np.asarray(actions), active)
        measured = self._episodes.information(features)
        if (features_at_begin := self._begin(self._ended, None)) is not None:
            at_begin = self._episodes.information(features_at_begin)
            measured = {name: np.where(active, values, at_begin[name]) for name, values in measured.items()}
        self._ended = terminated | truncated
        information = _information(measured, np.ones(self.num_envs, dtype=np.bool_))
        return self._episodes.observations(self._copy), rewards, terminated, truncated, information

    def _begin(self, mask: Flags, scenario: Scenario | None) -> Features | None:
        """Begins an episode of some environments; returns the measurements after the last of them, None without any."""
        features = None
        for number in map(int, np.flatnonzero(mask)):
            if self._generators is None:
                raise ScenarioError("step: no episode has begun; needs a call of reset")
            features = self._episodes.begin(number, self._generators[number], scenario)
            self._ended[number] = False
        return features


def _information(measured: dict[str, Array], mask: Flags) -> dict[str, Any]:
    """Returns measurements as Gymnasium's vectorized environments do: `_NAME` marks the environments that have NAME."""
    information: dict[str, Any] = {}
    for name, values in measured.items():
        information |= {name: values, f"_{name}": mask}
    return information
