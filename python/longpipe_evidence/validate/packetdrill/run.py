"""Executes a script: delivers its input segments, and compares the sender's segments with the expected ones."""

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

# System calls without effect on the sender.
_UNHEARD: Final = frozenset(("socket", "bind", "listen", "accept", "fcntl", "connect", "getsockopt", "read", "recv"))
_WRITES: Final = frozenset(("write", "send", "sendto"))
_ENDS: Final = frozenset(("close", "shutdown"))
# Maximum size of a script; Linux's scripts have at most 20 KB.
MOST_BYTES: Final = 256 << 10
# Latest time at which timers are processed; a script can leave a timer that expires again and again, without end.
_LATEST_PS: Final = TIME.parse("10000 s")
# Number of timer expirations at one instant above which an endless loop is assumed.
_MOST_AT_ONCE: Final = 1000


class _Over(Exception):  # noqa: N818 - not an error: the remaining events concern the end of the connection
    """The application closed the connection; the rest of the script contains no events that concern data."""


@dataclass(frozen=True, slots=True)
class _Sent:
    at_ps: int
    start: int
    end: int
    capable: bool


@dataclass
class _Player:
    settings: Settings = field(default_factory=Settings)
    notes: Notes = field(default_factory=Notes)
    endpoint: Endpoint | None = None
    now_ps: int = 0
    # Time of the previous event in the script, and the time at which the sender under test sent its SYN or SYN-ACK.
    before_ps: int = 0
    answered_ps: int = 0
    # Whether the sender under test opened the connection, and whether the handshake is complete.
    opens: bool = False
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
                self._go_on_to(earliest)
                self._arrives(packet, statement)
            case Call() as call:
                self._go_on_to(earliest)
                self._call(call, statement)
            case Code(text):
                self._go_on_to(earliest)
                fields = self.endpoint.info() if self.endpoint is not None else {}
                self.notes.run(text, fields, statement.line)
        self.before_ps = earliest
        return None

    def _times(self, when: When, line: int) -> tuple[int, int]:
        since = self.before_ps if when.kind == "relative" else 0
        if since + when.latest_ps > _LATEST_PS:
            raise NotUnderstoodError(f"a time after {TIME.format(_LATEST_PS)}", line)
        if when.kind == "any":
            return self.before_ps, self.before_ps + TIME.parse("1000 s")
        return since + when.earliest_ps, since + when.latest_ps

    def _go_on_to(self, at_ps: int) -> None:
        """Advances the time, and processes timers that expire."""
        while self._next_timer(at_ps):
            pass
        self.now_ps = max(self.now_ps, at_ps)

    def _next_timer(self, until_ps: int) -> bool:
        """Processes the first timer that expires by `until_ps`; returns whether there was one."""
        if self.endpoint is None:
            return False
        for _ in range(_MOST_AT_ONCE):
            due = self.endpoint.next_timeout()
            if due is None or due > until_ps:
                return False
            moved, self.now_ps = due > self.now_ps, max(self.now_ps, due)
            self.endpoint.on_timeout(self.now_ps)
            self._let_out()
            if moved:
                return True
        raise DiffersError("a timer that expires endlessly")

    def _let_out(self) -> None:
        if self.endpoint is not None:
            self.sent += (_Sent(self.now_ps, start, end, ect) for start, end, ect in self.endpoint.poll(self.now_ps))

    def _call(self, call: Call, statement: Statement) -> None:
        if call.name in _ENDS:
            raise _Over
        if call.name == "setsockopt":
            if "TCP_CONGESTION" in call.arguments and len(call.arguments) > 3:
                self.settings.take_control(call.arguments[3].strip('[]"'))
        elif call.name in _WRITES:
            if self.endpoint is None or not re.fullmatch(r"[0-9]{1,18}", call.result):
                raise NotUnderstoodError(statement.text, statement.line)
            self.endpoint.write(int(call.result))
            self._let_out()
        elif call.name not in _UNHEARD:
            raise NotUnderstoodError(statement.text, statement.line)

    def _arrives(self, packet: Packet, statement: Statement) -> None:
        if packet.flags.startswith("S"):
            return self._agree(packet)
        if packet.length or "F" in packet.flags or "R" in packet.flags or packet.acknowledgement is None:
            raise NotUnderstoodError(statement.text, statement.line)
        window = (packet.window or 0) << self.settings.scale
        if not window or packet.options is None or "TS" in packet.options:
            raise NotUnderstoodError(statement.text, statement.line)
        if self.endpoint is None:
            return self._begin(window)
        blocks = packet.options.get("sack", ())
        try:
            self.endpoint.ack(
                self.now_ps,
                packet.acknowledgement - 1,
                [(start - 1, end - 1) for start, end in blocks],  # type: ignore[attr-defined] # pairs of numbers
                "E" in packet.flags,
                window,
            )
        except ValueError as error:
            raise DiffersError(f"{statement.text}: {error}") from None
        self._let_out()
        return None

    def _agree(self, packet: Packet) -> None:
        """Processes the peer's SYN or SYN-ACK, which completes the handshake."""
        self.settings.peer = packet.options or {}
        self.settings.marks = "E" in packet.flags
        if "." in packet.flags:
            self._begin(packet.window or 0)

    def _begin(self, window: int) -> None:
        rtt_ps = self.now_ps - self.answered_ps
        self.endpoint = Endpoint(self.settings.tcp_json(rtt_ps, window))

    def _expect(self, packet: Packet, statement: Statement, earliest: int, latest: int) -> None:
        if "F" in packet.flags:
            raise _Over
        if packet.length == 0:
            if self.endpoint is not None and packet.start != 1:
                raise NotUnderstoodError(statement.text, statement.line)
            self._go_on_to(earliest)
            self.answered_ps = self.now_ps
            return
        share = self.settings.tolerance_share * (earliest - self.before_ps)
        tolerance = max(self.settings.tolerance_ps, int(share))
        self._wait_for(1, latest + tolerance)
        if not self.sent:
            raise DiffersError(f"{_bytes(packet.start, packet.end)} at {_s(earliest)}; no segment is sent by then")
        first = self.sent.popleft()
        start, end = first.start + 1, first.end + 1
        while end < packet.end and self._wait_for(1, latest + tolerance) and self.sent[0].start + 1 == end:
            end = self.sent.popleft().end + 1
        if (start, end) != (packet.start, packet.end):
            wanted, left = _bytes(packet.start, packet.end), _bytes(start, end)
            raise DiffersError(f"{wanted} at {_s(earliest)}; {left} at {_s(first.at_ps)}")
        if not earliest - tolerance <= first.at_ps <= latest + tolerance:
            within = f"within {_s(tolerance)}"
            raise DiffersError(f"{_bytes(start, end)} at {_s(earliest)} {within}; at {_s(first.at_ps)}")
        if packet.ecn and (packet.ecn == "ect0") != first.capable:
            raise DiffersError(f"[{packet.ecn}]; {'[ect0]' if first.capable else '[noecn]'}")
        self.now_ps = max(self.now_ps, earliest)

    def _wait_for(self, segments: int, until_ps: int) -> bool:
        while len(self.sent) < segments and self._next_timer(until_ps):
            pass
        return len(self.sent) >= segments


def run_script(path: Path, name: str | None = None) -> Outcome:
    """Executes the script in a file with a sender that is configured like Linux 6, except for the script's settings.

    The handshake and the end of the connection are not checked, and neither are flags other than those of ECN.
    """
    shown, player, line = name or str(path), _Player(), 1
    try:
        for statement in parse(read_text(path, "a script of packetdrill", max_bytes=MOST_BYTES, legacy=True)):
            line = statement.line
            player.play(statement)
    except _Over:
        pass
    except DiffersError as found:
        return Outcome(shown, "differs", found.line or line, f"script: {found}")
    except NotUnderstoodError as found:
        return Outcome(shown, "not understood", found.line, str(found))
    except OverflowError:
        return Outcome(shown, "not understood", line, "a number of more than 64 bits, or one below 0")
    except ScenarioError as error:
        return Outcome(shown, "not understood", line, str(error).replace("\n", "; "))
    return Outcome(shown, "pass", unchecked=player.notes.unchecked, unknown=tuple(player.notes.unknown))


def _bytes(start: int, end: int) -> str:
    return f"{start}:{end}"


def _s(at_ps: int) -> str:
    return f"{at_ps / 10**12:.6f} s"
