"""Several agents in one scenario for PettingZoo."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from longpipe.gym.actions import Action
from longpipe.gym.draws import Scenarios
from longpipe.gym.episodes import Episodes, Settings, measurements, of_row
from longpipe.gym.features import Array, Features
from longpipe.gym.observations import Observation

Observed = NDArray[np.float32]


class LinkParallelEnv(ParallelEnv[str, Any, Any]):
    """Senders that share links, each with an agent; all act at the same times. `agents` names their flows.

    The other arguments are those of `LinkEnv`. If the step is in round trips, the agent with the longest RTT determines
    its length.
    """

    metadata: dict[str, Any] = {"name": "longpipe_link_v0", "render_modes": []}  # noqa: RUF012 - as in the base class

    def __init__(
        self,
        scenarios: Scenarios,
        agents: Sequence[str],
        *,
        observation: str | Observation | Callable[[Features], Array] = "aurora",
        action: str | Action = "rate",
        reward: str | Callable[[Features], Array] = "aurora",
        step: str = "1 RTT",
        most_steps: int = 400,
        render_mode: None = None,
    ) -> None:
        settings = Settings(scenarios, observation, action, reward, step, most_steps)
        self._episodes = Episodes(settings, 1, list(agents), threads=1)
        self._active = np.ones(1, dtype=np.bool_)
        self._generator: np.random.Generator | None = None
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self.render_mode = render_mode

    def observation_space(self, agent: str) -> Box:
        """Returns the observation space, the same object for all agents."""
        return self._episodes.observation_space

    def action_space(self, agent: str) -> Box:
        """Returns the action space, the same object for all agents."""
        return self._episodes.action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observed], dict[str, dict[str, Any]]]:
        """Begins an episode; `options = {"scenario": scenario}` selects the scenario."""
        if seed is not None or self._generator is None:
            self._generator = seeding.np_random(seed)[0]
        features = self._episodes.begin(0, self._generator, (options or {}).get("scenario"))
        self.agents = list(self.possible_agents)
        return self._observed(), self._information(features)

    def step(
        self, actions: dict[str, NDArray[np.float32]]
    ) -> tuple[dict[str, Observed], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Takes a step of all agents; an agent without an action keeps its rate or window."""
        nothing = np.zeros(1, dtype=np.float32)
        asked = np.array([actions.get(agent, nothing) for agent in self.possible_agents])
        rewards, ended, features = self._episodes.step(asked, self._active)
        agents, over = self.possible_agents, bool(ended[0])
        self.agents = [] if over else list(agents)
        return (
            self._observed(),
            {agent: float(rewards[i]) for i, agent in enumerate(agents)},
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            self._information(features),
        )

    def _information(self, features: Features) -> dict[str, dict[str, Any]]:
        found = measurements(features)
        return {agent: of_row(found, i) for i, agent in enumerate(self.possible_agents)}

    def _observed(self) -> dict[str, Observed]:
        return dict(zip(self.possible_agents, self._episodes.observations(), strict=True))
