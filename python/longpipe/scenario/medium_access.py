"""Facts about the kinds of medium access."""

from collections.abc import Iterator
from typing import Any, ClassVar

from longpipe.scenario.base import Model
from longpipe.scenario.core import core_fields


class MediumAccess(Model):
    """A kind of medium access."""

    # Field whose value, if it is the rate of the link, removes waits for grants; "rate" is that of the link itself, ""
    # stands for none.
    remedy: ClassVar[str] = ""
    # Whether the rates of links are those of a standard.
    has_rates: ClassVar[bool] = False

    def core(self) -> dict[str, Any]:
        """Returns the fields for the core."""
        return core_fields(self)

    def data_files(self) -> Iterator[str]:
        """Yields the paths of files that the access reads."""
        return iter(())
