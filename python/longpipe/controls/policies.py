"""Base class of congestion controls that apply a trained policy after each step."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from longpipe.controls.control import Control

# What the factors of a policy multiply: the pacing rate, the window, or the window of the base congestion control.
Steers = Literal["rate", "window", "base"]


class PolicyControl(Control):
    """A control whose `factor` the core calls after each step of `interval`, as for an agent of an environment.

    The core multiplies the rate or the window by the factor. The automatic receiver window is the largest one, so that
    it does not limit the policy.
    """

    steers: ClassVar[Steers]

    def factor(self, measured: Sequence[float]) -> float:
        """Returns the factor after a step, whose measurements are in the order of `Environments.features()`."""
        raise NotImplementedError
