"""Copies and pickles of environments."""

from collections.abc import Mapping
from typing import Any, Final

from gymnasium.utils import EzPickle

from longpipe.errors import RunError
from longpipe.gym.episodes import Episodes

_NO_ARGUMENTS: Final = ("self", "__class__")


class Copied(EzPickle):
    """An environment whose copies and pickles are created from its arguments; a copy has no seed.

    A simulation cannot be copied, so an environment whose episode has begun raises RunError.
    """

    _episodes: Episodes

    def keep_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Stores the local variables with which the constructor begins: its arguments."""
        EzPickle.__init__(self, **{name: value for name, value in arguments.items() if name not in _NO_ARGUMENTS})

    def __getstate__(self) -> dict[str, Any]:
        """Returns the arguments of the environment. Raises RunError if an episode has begun."""
        if self._episodes.has_begun:
            raise RunError(
                "an environment cannot be copied or pickled after reset, because its simulation cannot; "
                "copy it before reset, or create another one"
            )
        state: dict[str, Any] = super().__getstate__()
        return state
