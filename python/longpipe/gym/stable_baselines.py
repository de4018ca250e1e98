"""Many environments at once for stable-baselines3, which has its own interface for vector environments."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from longpipe.gym.actions import Action
from longpipe.gym.copied import Copied
from longpipe.gym.draws import Scenarios
from longpipe.gym.episodes import Episodes, Settings
from longpipe.gym.features import Array, Features
from longpipe.gym.observations import Observation

Indices = int | Iterable[int] | None


class LinkVecEnv(VecEnv, Copied):
    """`num_envs` environments like `LinkEnv`, which take their steps together in threads.

    An environment whose episode ends begins the next one in the same step, as stable-baselines3 expects; the last
    observation is `infos[i]["terminal_observation"]`. `seed(s)` gives environment i the seed s + i.
    """

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
        threads: int | None = None,
    ) -> None:
        self.keep_arguments(locals())
        settings = Settings(scenarios, observation, action, reward, step, most_steps)
        self._episodes = Episodes(settings, num_envs, 1 if agent is None else [agent], threads)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._actions: NDArray[Any] = np.zeros((num_envs, 1))
        self.render_mode = None
        super().__init__(num_envs, self._episodes.observation_space, self._episodes.action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Sets the seeds of the next episodes."""
        if seed is None:
            return [None] * self.num_envs
        seeds = [seed + i for i in range(self.num_envs)]
        self._generators = [seeding.np_random(number)[0] for number in seeds]
        return seeds

    def reset(self) -> NDArray[np.float32]:
        """Begins an episode of each environment."""
        for number in range(self.num_envs):
            self._begin(number)
        return self._episodes.observations()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Stores the actions of the next step."""
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Takes a step of each environment."""
        rewards, terminated, truncated, features = self._episodes.step(self._actions, self._episodes.all_active)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [self._episodes.information_of(features, i) for i in range(self.num_envs)]
        numbers = np.flatnonzero(ended)
        if len(numbers):
            last = self._episodes.observations()
            for number in map(int, numbers):
                infos[number] |= {"terminal_observation": last[number], "TimeLimit.truncated": bool(truncated[number])}
                self._begin(number)
        return self._episodes.observations(), rewards.astype(np.float32), ended, infos

    def _begin(self, number: int) -> None:
        features = self._episodes.begin(number, self._generators[number])
        self.reset_infos[number] = self._episodes.information_of(features, number)

    def close(self) -> None:
        """Does nothing, because threads end with each step."""

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Returns an attribute, which all environments share."""
        return [getattr(self, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:  # noqa: ANN401 - any type
        """Sets an attribute, which all environments share."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401 - as above
        """Calls a method, which all environments share."""
        return [getattr(self, method_name)(*args, **kwargs)] * self._count(indices)

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """Returns False for each environment, because none is wrapped."""
        return [False] * self._count(indices)

    def _count(self, indices: Indices) -> int:
        return len(list(self._get_indices(indices)))
