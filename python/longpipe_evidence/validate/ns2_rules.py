"""Rules of ns-2's TCP that longpipe does not share, and their detection in a run of ns-2."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from longpipe_evidence.validate import ns2
from longpipe_evidence.validate.ns2 import Step
from longpipe_evidence.validate.ns2_drops import Comparison, DropCase

# Number of duplicate ACKs that trigger a fast retransmit.
DUPLICATES: Final = 3
# Minimum ssthresh [segments].
SMALLEST_WINDOW: Final = 2
# ns-2 clears srtt when the backoff exceeds 8, like 4.4BSD, but its backoff exceeds 4.4BSD's limit of 64.
FORGETFUL_BACKOFF, LARGEST_BACKOFF = 8, 64
# Tolerance for times in ns-2's trace, whose resolution is a microsecond.
INSTANT_S: Final = 2e-6


class Rule(Enum):
    """A rule that only ns-2 follows; `remedy` contains the options that make both programs agree."""

    SMALL_WINDOW = "a fast retransmit halves the window even below two segments", "--guard"
    BEYOND_WINDOW = "the flywheel sends beyond the receiver's window", "--no-hoe, or a larger --window"
    BEYOND_END = "the flywheel sends beyond the end of the file", "--no-hoe"
    DEFLATED_WINDOW = "a recovery ends with the window as partial ACKs deflated it, below ssthresh", "--no-deflation"
    INFLATES_ON = "duplicates inflate the window after a recovery that ended with partial ACKs", "--no-guard"
    SENDS_TWICE = "a partial ACK beyond SND.NXT sends the next hole twice", ""
    PIPE_BEYOND_WINDOW = "PIPE starts from a window larger than the receiver's", "--pipe outstanding"
    PIPE_WAITS = "PIPE prevents transmission until the ACK after a fast retransmit", ""
    SACK_DEAF = "SACK ignores duplicate ACKs from a timeout to the next new ACK", "--guard"
    TAHOE_COUNTS_ON = "Tahoe continues to count duplicates after a timeout", "--guard"
    BACKOFF = "the RTO continues to double past 64 times", ""
    FORGETS_SRTT = "the fourth consecutive timeout resets srtt", ""
    RACE = "the timer expires before an ACK at the same time", ""

    @property
    def text(self) -> str:
        """Returns the rule as a clause."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """Returns options of `longpipe validate ns2-drops`; empty if there are none."""
        return self.value[1]


def explain(comparison: Comparison) -> Rule | None:
    """Returns the first rule that ns-2 followed before the first difference, or at any time if the runs agree."""
    last = len(comparison.sent) if comparison.first_difference is None else comparison.first_difference
    sender = _Sender(comparison.case)
    # Rules that ns-2 followed, each with the number of segments that it had sent by then.
    followed = [pair for step in ns2.watch(comparison.case.arguments()) for pair in sender.follow(step)]
    if (last, Rule.RACE) in followed:
        return Rule.RACE
    rules = [rule for sent, rule in followed if sent <= last and rule is not Rule.RACE]
    # A cleared srtt shows at a timeout after the next RTT sample, if at all.
    return min(rules, key=lambda rule: rule is Rule.FORGETS_SRTT, default=None)


@dataclass
class _Sender:
    """State of ns-2's sender, reconstructed from its steps."""

    case: DropCase
    una: int = 0
    end: int = 0
    """Highest segment sent, plus 1."""
    sent: int = 0
    """Number of segments sent, including retransmissions."""
    cwnd: float = 1.0
    duplicates: int = 0
    """Number of duplicate ACKs as ns-2 counts them."""
    since_timeout: int | None = None
    """Number of duplicate ACKs since a timeout, until the next new ACK; None if there was none."""
    recover: int | None = None
    """End of the data sent before a fast retransmit, until they are acknowledged or a timeout occurs."""
    latest: tuple[float, int] = (-1.0, -1)
    """Time and number of the latest segment sent."""
    fast: bool = False
    """Whether a third duplicate is being processed."""
    expired: bool = False
    """Whether the timer has expired since the latest segment was sent."""
    expired_s: float = -1.0
    expired_sent: int = 0
    """Time of the latest timeout's retransmission, and number of segments sent before it."""

    def follow(self, step: Step) -> Iterator[tuple[int, Rule]]:
        """Yields the rules that a step reveals, each with the number of segments sent so far."""
        if step.s - self.expired_s < INSTANT_S and step.kind == "ack":
            yield self.expired_sent, Rule.RACE
        reaction = {
            "ack": self._on_ack,
            "dupacks_": self._on_duplicates,
            "cwnd_": self._on_window,
            "backoff_": self._on_backoff,
            "send": self._on_send,
        }[step.kind]
        for rule in reaction(step):
            yield self.sent, rule
        self.sent += step.kind == "send"

    def _on_ack(self, step: Step) -> Iterator[Rule]:
        """Processes an ACK, and yields the rules of ns-2 that it shows."""
        self.fast = False
        if step.value > self.una:
            self.una, self.since_timeout = int(step.value), None
            if self.recover is not None and self.una >= self.recover:
                self.recover = None
        elif self.since_timeout is not None:
            self.since_timeout += 1
            if self.since_timeout == DUPLICATES and self.case.tcp == "sack" and not self.case.guarded:
                yield Rule.SACK_DEAF

    def _on_duplicates(self, step: Step) -> Iterator[Rule]:
        self.duplicates = int(step.value)
        self.fast = self.duplicates == DUPLICATES
        if self.fast and self.case.tcp == "sack":
            yield from self._pipe()
        counts = {self.since_timeout, self.duplicates}
        unguarded_tahoe = self.case.tcp == "tahoe" and not self.case.guarded
        if unguarded_tahoe and self.since_timeout is not None and len(counts) > 1 and DUPLICATES in counts:
            yield Rule.TAHOE_COUNTS_ON

    def _pipe(self) -> Iterator[Rule]:
        """Yields the rule that the initial value of PIPE follows at a fast retransmit of SACK."""
        window = min(int(self.cwnd), self.case.window)
        from_window = self.case.pipe == "window"
        if from_window and int(self.cwnd) > self.case.window:
            yield Rule.PIPE_BEYOND_WINDOW
            return
        in_flight = window if from_window else self.end - self.una
        if in_flight - DUPLICATES < max(window // 2, SMALLEST_WINDOW):
            yield Rule.PIPE_WAITS

    def _on_window(self, step: Step) -> Iterator[Rule]:
        if self.fast and step.value < SMALLEST_WINDOW and self.case.tcp in ("reno", "newreno", "sack"):
            yield Rule.SMALL_WINDOW
        if self.fast:
            self.recover = self.end
        if self.case.deflation and not self.fast and self.duplicates >= DUPLICATES and step.value < self.cwnd:
            yield Rule.DEFLATED_WINDOW
        self.cwnd = step.value

    def _on_backoff(self, step: Step) -> Iterator[Rule]:
        if step.value == 1:
            return
        self.since_timeout, self.expired, self.recover = 0, True, None
        if step.value > LARGEST_BACKOFF:
            yield Rule.BACKOFF
        elif step.value > FORGETFUL_BACKOFF:
            yield Rule.FORGETS_SRTT

    def _on_send(self, step: Step) -> Iterator[Rule]:
        """Processes a transmission, and yields the rules of ns-2 that it shows."""
        if self.expired:
            self.expired, self.expired_s, self.expired_sent = False, step.s, self.sent
        self.fast = False
        segment = int(step.value)
        if self.latest == (step.s, segment):
            yield Rule.SENDS_TWICE
        if self.case.tcp == "newreno" and self.duplicates > DUPLICATES and self.recover is None:
            yield Rule.INFLATES_ON
        if segment >= self.case.segments:
            yield Rule.BEYOND_END
        elif segment >= self.una + self.case.window:
            yield Rule.BEYOND_WINDOW
        self.end, self.latest = max(self.end, segment + 1), (step.s, segment)
