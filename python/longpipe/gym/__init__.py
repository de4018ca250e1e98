"""Environments for reinforcement learning: Gymnasium, one or many at once, and PettingZoo.

`import longpipe.gym` registers "longpipe/Link-v0" for `gymnasium.make` and `gymnasium.make_vec`.
"""

from longpipe.errors import RunError

try:
    import gymnasium
except ImportError:
    raise RunError("longpipe.gym: gymnasium is not installed; get it: pip install 'longpipe[gym]'") from None

from typing import TYPE_CHECKING

from longpipe.gym.actions import Action
from longpipe.gym.draws import Draws, Uniform
from longpipe.gym.env import LinkEnv
from longpipe.gym.features import Features
from longpipe.gym.observations import Observation
from longpipe.gym.policy import control
from longpipe.gym.vector import LinkVectorEnv

if TYPE_CHECKING:
    from longpipe.gym.parallel import LinkParallelEnv

__all__ = [
    "Action",
    "Draws",
    "Features",
    "LinkEnv",
    "LinkParallelEnv",
    "LinkVectorEnv",
    "Observation",
    "Uniform",
    "control",
]

if "longpipe/Link-v0" not in gymnasium.registry:
    gymnasium.register(
        "longpipe/Link-v0", entry_point="longpipe.gym:LinkEnv", vector_entry_point="longpipe.gym:LinkVectorEnv"
    )


def __getattr__(name: str) -> object:
    # PettingZoo is needed for several agents only.
    if name == "LinkParallelEnv":
        try:
            from longpipe.gym.parallel import LinkParallelEnv
        except ImportError:
            raise RunError("longpipe.gym: pettingzoo is not installed; get it: pip install 'longpipe[gym]'") from None
        return LinkParallelEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
