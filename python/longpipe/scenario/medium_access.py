"""Facts about the kinds of medium access."""

from typing import ClassVar

from longpipe.scenario.base import Model


class MediumAccess(Model):
    """A kind of medium access."""

    # Field whose value, if it is the rate of the link, removes waits for grants; "" if there is none.
    remedy: ClassVar[str] = ""
