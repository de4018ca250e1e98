"""One environment for Gymnasium."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from longpipe.gym.actions import Action
from longpipe.gym.copied import Copied
from longpipe.gym.draws import Scenarios
from longpipe.gym.episodes import Episodes, Settings, scenario_option
from longpipe.gym.features import Array, Features
from longpipe.gym.observations import Observation


class LinkEnv(gymnasium.Env[NDArray[np.float32], NDArray[Any]], Copied):
    """A sender in a scenario; the agent changes its rate or window once per step.

    `scenarios` is a Scenario, several Scenarios, a `Draws`, a function of a random generator, the name of an example, a
    TOML file, or TOML text. `agent` names the flow, by default the first one over TCP. `observation` and `reward` are
    "aurora", "orca" or functions of `Features`; `action` is "rate" (of Aurora), "window" or "orca" (of Orca), or an
    `Action`; `step` is a time, "1 RTT" or "50 ACKs". An episode terminates when the agent's transfer is complete. It is
    truncated after `most_steps` steps or at the end of the scenario.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as in the base class

    def __init__(
        self,
        scenarios: Scenarios = "fiber",
        *,
        agent: str | None = None,
        observation: str | Observation | Callable[[Features], Array] = "aurora",
        action: str | Action = "rate",
        reward: str | Callable[[Features], Array] = "aurora",
        step: str = "1 RTT",
        most_steps: int = 400,
        render_mode: None = None,
    ) -> None:
        self.keep_arguments(locals())
        settings = Settings(scenarios, observation, action, reward, step, most_steps)
        self._episodes = Episodes(settings, 1, 1 if agent is None else [agent], threads=1)
        self.render_mode = render_mode
        self.observation_space = self._episodes.observation_space
        self.action_space = self._episodes.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode; `options = {"scenario": scenario}` selects the scenario."""
        super().reset(seed=seed)
        features = self._episodes.begin(0, self.np_random, scenario_option(options))
        return self._episodes.observations()[0], self._episodes.information_of(features, 0)

    def step(self, action: NDArray[Any]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Takes a step; returns the observation, the reward, terminated, truncated and information."""
        rewards, terminated, truncated, features = self._episodes.step(np.asarray(action), self._episodes.all_active)
        return (
            self._episodes.observations()[0],
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            self._episodes.information_of(features, 0),
        )
