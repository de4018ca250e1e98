"""Several agents in one scenario for PettingZoo."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from longpipe.errors import ScenarioError, nearest
from longpipe.gym.actions import Action
from longpipe.gym.copied import Copied
from longpipe.gym.draws import Scenarios
from longpipe.gym.episodes import Episodes, Settings, scenario_option
from longpipe.gym.features import Array, Features
from longpipe.gym.observations import Observation

Observed = NDArray[np.float32]


class LinkParallelEnv(ParallelEnv[str, Any, Any], Copied):
    """Senders that share links, each with an agent; all act at the same times. `agents` names their flows.

    The other arguments are those of `LinkEnv`. If the step is in round trips, the agent with the longest RTT determines
    its length. An agent terminates when its transfer is complete.
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
        self.keep_arguments(locals())
        settings = Settings(scenarios, observation, action, reward, step, most_steps)
        self._episodes = Episodes(settings, 1, list(agents), threads=1)
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
        # PettingZoo's checker passes an option of this name.
        scenario = scenario_option(options, "options")
        features = self._episodes.begin(0, self._generator, scenario)
        self.agents = list(self.possible_agents)
        return self._observed(self.agents), self._information(self.agents, features)

    def step(
        self, actions: dict[str, NDArray[Any]]
    ) -> tuple[dict[str, Observed], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Takes a step of all agents, for each of which `actions` has an action."""
        agents = self.agents
        for agent in actions.keys() - set(agents):
            raise ScenarioError(f"actions: {agent!r}; {nearest(str(agent), agents)}")
        for agent in agents:
            if agent not in actions:
                raise ScenarioError(f"actions: {agent!r} missing; needs an action of each of {', '.join(agents)}")
        nothing = np.zeros(1, dtype=np.float32)
        all_actions = np.array([actions.get(agent, nothing) for agent in self.possible_agents])
        rewards, _, truncated, features = self._episodes.step(all_actions, self._episodes.all_active)
        paid = dict(zip(self.possible_agents, rewards.tolist(), strict=True))
        complete = dict(zip(self.possible_agents, self._episodes.complete.tolist(), strict=True))
        over = bool(truncated[0])
        self.agents = [] if over else [agent for agent in agents if not complete[agent]]
        return (
            self._observed(agents),
            {agent: paid[agent] for agent in agents},
            {agent: complete[agent] for agent in agents},
            {agent: over and not complete[agent] for agent in agents},
            self._information(agents, features),
        )

    def _information(self, agents: Sequence[str], features: Features) -> dict[str, dict[str, Any]]:
        numbered = enumerate(self.possible_agents)
        return {agent: self._episodes.information_of(features, i) for i, agent in numbered if agent in agents}

    def _observed(self, agents: Sequence[str]) -> dict[str, Observed]:
        observations = zip(self.possible_agents, self._episodes.observations(), strict=True)
        return {agent: observation for agent, observation in observations if agent in agents}
