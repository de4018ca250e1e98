"""Executes a packetdrill script against longpipe's TCP sender, which takes the place of the kernel under test.

ACKs of the peer are delivered to the sender at their times, and every data segment that the script expects is compared
with the next one that the sender transmits: its bytes, its time and its ECN codepoint. Data begin at sequence number 1
in a script, because the SYN has number 0, and at 0 in the sender.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from longpipe.endpoint import Endpoint
from longpipe.errors import ScenarioError
from longpipe.inputs import read_text
from longpipe.units import TIME
from longpipe_evidence.validate.packetdrill.code import Notes
from longpipe_evidence.validate.packetdrill.grammar import Call, Code, Command, Flag, Packet, Statement, When, parse
from longpipe_evidence.validate.packetdrill.outcome import DiffersError, NotUnderstoodError, Outcome
from longpipe_evidence.validate.packetdrill.settings import Settings

# Offset of a script's sequence numbers from the sender's: the SYN takes one.
_SYN: Final = 1
# System calls without effect on the sender, calls that write data, and calls that end the connection.
_WITHOUT_EFFECT: Final = frozenset(
    ("socket", "bind", "listen", "accept", "fcntl", "connect", "getsockopt", "read", "recv")
)
_WRITES: Final = frozenset(("write", "send", "sendto"))
_CLOSES: Final = frozenset(("close", "shutdown"))
# Maximum size of a script; Linux's scripts have at most 20 KB.
MAX_BYTES: Final = 256 << 10
# Latest time of a script, which bounds the timers that are processed: a retransmission timer restarts at each expiry.
_LATEST_PS: Final = TIME.parse("10000 s")
# Number of timer expirations at one instant above which an endless loop is assumed.
_MAX_AT_ONCE: Final = 1000


class _EndOfDataError(Exception):
    """The script closes the connection; its remaining statements, which do not concern data, are not executed."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A segment of the sender: its time, its first byte, the first byte after it, and whether it carries ECT(0)."""

    at_ps: int
    start: int
    end: int
    ect0: bool


@dataclass
class _Player:
    settings: Settings = field(default_factory=Settings)
    notes: Notes = field(default_factory=Notes)
    endpoint: Endpoint | None = None
    now_ps: int = 0
    # Time of the previous statement, from which relative times count.
    previous_ps: int = 0
    # Time at which the script expects the sender's SYN or SYN-ACK, from which its first RTT sample counts.
    syn_sent_ps: int = 0
    # Segments that the sender transmitted and that no statement has expected yet.
    sent: deque[_Sent] = field(default_factory=deque)

    def play(self, statement: Statement) -> None:
        """Executes a statement."""
        if isinstance(statement.what, Flag):
            return self.settings.take_flag(statement.what.name, statement.what.value, statement.line)
        earliest, latest = self._times(statement.when, statement.line)
        match statement.what:
            case Command(text):
                if self.endpoint is not None and "sysctl_restore" not in text:
                    raise NotUnderstoodError(statement.text, statement.line)
                self.settings.take_command(text, statement.line)
            case Packet(inbound=False) as packet:
                self._expect(packet, statement, earliest, latest)
            case Packet() as packet:
                self._advance_to(earliest)
                self._deliver(packet, statement)
            case Call() as call:
                self._advance_to(earliest)
                self._call(call, statement)
            case Code(text):
                self._advance_to(earliest)
                fields = self.endpoint.info() if self.endpoint is not None else {}
                self.notes.run(text, fields, statement.line)
        self.previous_ps = earliest
        return None

    def _times(self, when: When, line: int) -> tuple[int, int]:
        """Returns the earliest and the latest time [ps] of a statement's event."""
        since = self.previous_ps if when.kind == "relative" else 0
        if since + when.latest_ps > _LATEST_PS:
            raise NotUnderstoodError(f"a time after {TIME.format(_LATEST_PS)}", line)
        if when.kind == "any":
            return self.previous_ps, self.previous_ps + TIME.parse("1000 s")
        return since + when.earliest_ps, since + when.latest_ps

    def _advance_to(self, at_ps: int) -> None:
        """Advances the time, and processes timers that expire."""
        while self._next_timer(at_ps):
            pass
        self.now_ps = max(self.now_ps, at_ps)

    def _next_timer(self, until_ps: int) -> bool:
        """Processes the timers that are due now and the next later one, if it expires by `until_ps`.

        Returns whether that later one expired. Raises DiffersError if timers that are due now restart without end.
        """
        if self.endpoint is None:
            return False
        for _ in range(_MAX_AT_ONCE):
            due_ps = self.endpoint.next_timeout()
            if due_ps is None or due_ps > until_ps:
                return False
            is_later, self.now_ps = due_ps > self.now_ps, max(self.now_ps, due_ps)
            self.endpoint.on_timeout(self.now_ps)
            self._collect_sent()
            if is_later:
                return True
        raise DiffersError("a timer that expires endlessly")

    def _collect_sent(self) -> None:
        """Adds the segments that the sender transmits now to `sent`."""
        if self.endpoint is not None:
            self.sent += (_Sent(self.now_ps, start, end, ect) for start, end, ect in self.endpoint.poll(self.now_ps))

    def _call(self, call: Call, statement: Statement) -> None:
        """Performs a system call of the script; most of them have no effect on the simulated sender."""
        if call.name in _CLOSES:
            raise _EndOfDataError
        if call.name == "setsockopt":
            if "TCP_CONGESTION" in call.arguments and len(call.arguments) > 3:
                self.settings.take_control(call.arguments[3].strip('[]"'))
        elif call.name in _WRITES:
            if self.endpoint is None or not re.fullmatch(r"[0-9]{1,18}", call.result):
                raise NotUnderstoodError(statement.text, statement.line)
            self.endpoint.write(int(call.result))
            self._collect_sent()
        elif call.name not in _WITHOUT_EFFECT:
            raise NotUnderstoodError(statement.text, statement.line)

    def _deliver(self, packet: Packet, statement: Statement) -> None:
        """Delivers a packet of the script to the sender. Raises NotUnderstoodError unless it is an ACK or a SYN."""
        if packet.flags.startswith("S"):
            return self._take_syn(packet)
        # `Endpoint.ack` accepts neither data, nor timestamps, nor a window of 0.
        if packet.length or "F" in packet.flags or "R" in packet.flags or packet.acknowledgement is None:
            raise NotUnderstoodError(statement.text, statement.line)
        window = (packet.window or 0) << self.settings.scale
        if not window or packet.options is None or "TS" in packet.options:
            raise NotUnderstoodError(statement.text, statement.line)
        if self.endpoint is None:
            return self._connect(window)
        blocks = packet.options.get("sack", ())
        try:
            self.endpoint.ack(
                self.now_ps,
                packet.acknowledgement - _SYN,
                [(start - _SYN, end - _SYN) for start, end in blocks],  # type: ignore[attr-defined] # pairs of numbers
                "E" in packet.flags,
                window,
            )
        except ValueError as error:
            raise DiffersError(f"{statement.text}: {error}") from None
        self._collect_sent()
        return None

    def _take_syn(self, packet: Packet) -> None:
        """Reads the options of the peer's SYN, or of its SYN-ACK, which establishes the connection."""
        self.settings.peer = packet.options or {}
        self.settings.ecn = "E" in packet.flags
        if "." in packet.flags:
            # The window of a SYN-ACK is not scaled (RFC 7323 section 2.2).
            self._connect(packet.window or 0)

    def _connect(self, window: int) -> None:
        """Creates the sender after the handshake, with the window [byte] that the peer advertises."""
        rtt_ps = self.now_ps - self.syn_sent_ps
        self.endpoint = Endpoint(self.settings.tcp_json(rtt_ps, window))

    def _expect(self, packet: Packet, statement: Statement, earliest: int, latest: int) -> None:
        """Compares the next segment of the sender with the expected one, which it must send in the given times [ps]."""
        if "F" in packet.flags:
            raise _EndOfDataError
        if packet.length == 0:
            # A segment without data belongs to the handshake; after it, no pure ACK of the sender is expected.
            if self.endpoint is not None and packet.start != _SYN:
                raise NotUnderstoodError(statement.text, statement.line)
            self._advance_to(earliest)
            self.syn_sent_ps = self.now_ps
            return
        share = self.settings.tolerance_share * (earliest - self.previous_ps)
        tolerance = max(self.settings.tolerance_ps, int(share))
        if not self._wait_for_segment(latest + tolerance):
            raise DiffersError(f"{_bytes(packet.start, packet.end)} at {_s(earliest)}; no segment is sent by then")
        first = self.sent.popleft()
        start, end = first.start + _SYN, first.end + _SYN
        # A kernel with segmentation offload sends several segments as one, which a script expects as one.
        while end < packet.end and self._wait_for_segment(latest + tolerance) and self.sent[0].start + _SYN == end:
            end = self.sent.popleft().end + _SYN
        if (start, end) != (packet.start, packet.end):
            expected, actual = _bytes(packet.start, packet.end), _bytes(start, end)
            raise DiffersError(f"{expected} at {_s(earliest)}; {actual} at {_s(first.at_ps)}")
        if not earliest - tolerance <= first.at_ps <= latest + tolerance:
            within = f"within {_s(tolerance)}"
            raise DiffersError(f"{_bytes(start, end)} at {_s(earliest)} {within}; at {_s(first.at_ps)}")
        if packet.ecn and (packet.ecn == "ect0") != first.ect0:
            raise DiffersError(f"[{packet.ecn}]; {'[ect0]' if first.ect0 else '[noecn]'}")
        self.now_ps = max(self.now_ps, earliest)

    def _wait_for_segment(self, until_ps: int) -> bool:
        """Processes timers until the sender has transmitted a segment; returns whether it has by `until_ps`."""
        while not self.sent and self._next_timer(until_ps):
            pass
        return bool(self.sent)


def run_script(path: Path, name: str | None = None) -> Outcome:
    """Executes the script in a file with a sender that is configured like Linux 6, except for the script's settings.

    The handshake and the end of the connection are not checked, and neither are flags other than those of ECN.
    """
    script, player, line = name or str(path), _Player(), 1
    try:
        for statement in parse(read_text(path, "a script of packetdrill", max_bytes=MAX_BYTES, legacy=True)):
            line = statement.line
            player.play(statement)
    except _EndOfDataError:
        pass
    except DiffersError as error:
        return Outcome(script, "differs", error.line or line, f"script: {error}")
    except NotUnderstoodError as error:
        return Outcome(script, "not understood", error.line, str(error))
    except OverflowError:
        return Outcome(script, "not understood", line, "a number of more than 64 bits, or one below 0")
    except ScenarioError as error:
        return Outcome(script, "not understood", line, str(error).replace("\n", "; "))
    return Outcome(script, "pass", unchecked=player.notes.unchecked, unknown=tuple(player.notes.unknown))


def _bytes(start: int, end: int) -> str:
    return f"{start}:{end}"


def _s(at_ps: int) -> str:
    return f"{at_ps / 10**12:.6f} s"
