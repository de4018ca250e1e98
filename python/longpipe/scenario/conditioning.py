"""Base of the conditioners of an IP port."""

from typing import ClassVar

from longpipe.scenario.declared import Declared


class Conditioning(Declared):
    """A conditioner of an IP port."""

    part: ClassVar[str] = "conditioner"
    # Facts that the core declares: whether a link may have several of the kind, whether it is a token bucket, and
    # whether packets may overtake each other or arrive twice.
    repeats: ClassVar[bool]
    has_bucket: ClassVar[bool]
    disorders: ClassVar[bool]
