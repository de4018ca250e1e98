"""Base of the conditioners of an IP port, which `conditioners.py` defines."""

from typing import ClassVar

from longpipe.scenario.base import Model


class Conditioning(Model):
    """A conditioner of an IP port."""

    # Facts that the core declares (crates/network/src/conditioners/mod.rs): whether a link may have several of the
    # kind, whether it is a token bucket, whether packets may overtake each other or arrive twice, and whether a link
    # with medium access may have it. Generated models define those that differ from these.
    repeats: ClassVar[bool] = False
    has_bucket: ClassVar[bool] = False
    disorders: ClassVar[bool] = False
    beside_access: ClassVar[bool] = False
