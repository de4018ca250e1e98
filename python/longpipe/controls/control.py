"""Base class of congestion controls that are classes of the user."""

import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from longpipe._core import Ack, Event, Grant, Interval, Lost, Sent
from longpipe.controls.compiled import compiled

__all__ = ["Ack", "Control", "Event", "Grant", "Interval", "Lost", "Sent", "compiled"]


class Control:
    """Base class for your own congestion control; each connection has its own instance.

    A subclass defines `on_ack`, or both `interval` and `on_interval`, or `base`. Hooks that it does not define behave
    as described below or, if there is a base, as in the base. A hook returns a `Grant`, or None if nothing changes.
    Sizes are in bytes, times in seconds, rates in bit/s; unknown values are NaN. Parameters of a scenario are arguments
    of `__init__`.
    """

    #: Length of the monitor intervals after which `on_interval` is called: "10 ms", "1 RTT", or "50 ACKs".
    interval: ClassVar[str | None] = None
    #: Whether grants set a pacing rate.
    paces: ClassVar[bool] = False
    #: Whether the class also sets the window during loss recovery, which needs `tcp.recovery = "rack"`.
    owns_window: ClassVar[bool] = False
    #: Whether `ack.delivery_rate` is measured.
    measures_rate: ClassVar[bool] = False
    #: Whether timestamps are used to measure `ack.delay`, the one-way delay.
    measures_delay: ClassVar[bool] = False
    #: Name of a congestion control of longpipe that decides whenever a hook returns None. It continues from the values
    #: of the grants.
    base: ClassVar[str | None] = None
    #: Identifies the class in the store, instead of a digest of its code.
    version: ClassVar[str | None] = None
    #: Names of the numbers that compiled hooks keep in `self.state`.
    state_fields: ClassVar[Sequence[str]] = ()

    #: Whether packets of the connection can be ECN-marked.
    ecn: bool
    #: A record of the numbers in `state_fields`.
    state: Any
    _seed: int

    @cached_property
    def random(self) -> random.Random:
        """Random number generator, seeded from the seed of the run."""
        return random.Random(self._seed)  # noqa: S311 - not used for cryptography

    def on_start(self, event: Event) -> Grant | None:
        """Called before the first segment if the RTT, `event.rtt`, is known from the handshake."""

    def on_ack(self, ack: Ack) -> Grant | None:
        """Called for each ACK, after loss recovery has processed it.

        While `ack.grows` is false, loss recovery sets the window, and the grant's window has no effect unless the class
        owns the window.
        """

    def on_interval(self, interval: Interval) -> Grant | None:
        """Called with the first ACK at or after the end of a monitor interval."""

    def on_loss(self, event: Event) -> Grant | None:
        """Called when a recovery begins. Default: half of the window (RFC 5681), unless the class owns it."""
        if self.owns_window or self.base is not None:
            return None
        half = max(event.window / 2, 2 * event.mss)
        return Grant(window=half, ssthresh=half)

    def on_mark(self, event: Event) -> Grant | None:
        """Called when ECN marks are reported, at most once per round-trip time. Default: as for a loss."""
        return self.on_loss(event)

    def on_timeout(self, event: Event) -> Grant | None:
        """Called when the retransmission timer expires. Default: a window of one segment (RFC 5681)."""
        if self.base is not None:
            return None
        if self.owns_window:
            return Grant(window=event.mss)
        return Grant(window=event.mss, ssthresh=max(event.window / 2, 2 * event.mss))

    def on_recovered(self, event: Event) -> Grant | None:
        """Called at the end of a recovery."""

    def on_undo(self, event: Event) -> Grant | None:
        """Called if a reduction turns out to have been spurious.

        The window has already been restored, unless the class owns it.
        """

    def on_sent(self, sent: Sent) -> Grant | None:
        """Called for each transmission. Of the grant that it returns, only the rate has an effect."""

    def on_lost(self, lost: Lost) -> None:
        """Called for each transmission that is declared lost."""
