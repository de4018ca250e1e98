"""Environments for reinforcement learning: Gymnasium, one or many at once, PettingZoo, and stable-baselines3.

`import longpipe.gym` registers "longpipe/Link-v0" for `gymnasium.make` and `gymnasium.make_vec`.
"""

from longpipe.errors import RunError

try:
    import gymnasium
except ImportError:
    raise RunError("longpipe.gym: gymnasium is not installed; get it: pip install 'longpipe[gym]'") from None

from importlib import import_module
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
    from longpipe.gym.stable_baselines import LinkVecEnv

__all__ = [
    "Action",
    "Draws",
    "Features",
    "LinkEnv",
    "LinkParallelEnv",
    "LinkVecEnv",
    "LinkVectorEnv",
    "Observation",
    "Uniform",
    "control",
]

if "longpipe/Link-v0" not in gymnasium.registry:
    gymnasium.register(
        "longpipe/Link-v0", entry_point="longpipe.gym:LinkEnv", vector_entry_point="longpipe.gym:LinkVectorEnv"
    )


# Classes that need a further library: module, library, and how to get it.
_FURTHER = {
    "LinkParallelEnv": ("longpipe.gym.parallel", "pettingzoo", "'longpipe[gym]'"),
    "LinkVecEnv": ("longpipe.gym.stable_baselines", "stable-baselines3", "stable-baselines3"),
}


def __getattr__(name: str) -> object:
    if name not in _FURTHER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, library, package = _FURTHER[name]
    try:
        return getattr(import_module(module), name)
    except ImportError:
        raise RunError(f"longpipe.gym: {library} is not installed; get it: pip install {package}") from None
