"""Your own protocol stack in Python, at an end of a flow: `traffic.kind = "own-stack"` starts it as a program.

A subclass of :class:`End` receives datagrams with their arrival times, returns the datagrams to send and the time of
its next action, and uses no clock. :func:`serve` runs it. All times are whole numbers of picoseconds since the start of
the run, so no time is rounded::

    from longpipe.end import End, serve

    class Mine(End): ...

    if __name__ == "__main__":
        serve(Mine)

The protocol between the run and the program is described in docs/own-stacks.md and `crates/lockstep/src/program.rs`.
"""

import dataclasses
import json
import os
import random
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final

# Version of the protocol.
VERSION: Final = 1
# ECN bits of an IP header (RFC 3168 section 5).
NOT_ECT: Final = 0
ECT_1: Final = 1
ECT_0: Final = 2
CE: Final = 3

_SET_UP, _RECEIVE, _WAKE, _STATE, _REPORT = range(5)
_DONE, _SEND, _ANSWER, _FAILED = range(4)
_HEAD: Final = struct.Struct("<IB")
_TIME: Final = struct.Struct("<Q")
_RECEIVED: Final = struct.Struct("<QB")
_NEVER: Final = 2**64 - 1


@dataclass(frozen=True)
class Setup:
    """Arguments for the creation of an end."""

    # Whether this end sends the flow's data; for the other end, `sends` is False.
    sends: bool
    # Seed of all randomness of this end; `serve` seeds the module `random` with it.
    seed: int
    # Start time of the flow [ps].
    start_ps: int
    # Maximum UDP payload on the path [byte].
    most_bytes: int
    # Settings of the scenario, as text.
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Datagram:
    """A UDP datagram to send, with the ECN bits of its IP header."""

    payload: bytes
    ecn: int = NOT_ECT


@dataclass
class State:
    """State of the sender for the trace `cwnd`; None for values that the stack does not have."""

    # Congestion window and slow-start threshold [byte].
    cwnd: int | None = None
    ssthresh: int | None = None
    # Smoothed and minimum RTT [ps].
    srtt_ps: int | None = None
    min_rtt_ps: int | None = None
    # Pacing rate [bit/s].
    pacing_bps: int | None = None
    sent_packets: int = 0
    lost_packets: int = 0


@dataclass
class Report:
    """Counters of an end: the sender counts what it sent, the receiver what arrived."""

    # Amount of contiguous data that the application has received [byte].
    delivered_bytes: int = 0
    # Time at which the application had received all expected data [ps].
    completed_ps: int | None = None
    sent_packets: int = 0
    # UDP payload sent [byte].
    sent_bytes: int = 0
    lost_packets: int = 0
    lost_bytes: int = 0
    # Number of reductions of the congestion window.
    congestion_events: int = 0
    # Time at which the handshake was complete [ps].
    handshake_ps: int | None = None
    # Time [ps] at which the connection ended before the application had finished, and the reason.
    closed_ps: int | None = None
    closed: str = ""
    # Additional columns of `Result.stacks`; each name includes the unit. "timeouts" also sets that column of
    # `Result.flows`, which is otherwise nan.
    values: dict[str, float] = field(default_factory=dict)


class End(ABC):
    """One end of a flow. A flow has two ends, each in its own process."""

    def __init__(self, setup: Setup) -> None:
        """Creates an end. If it raises an exception, the scenario is rejected with its message."""
        self.setup = setup

    @abstractmethod
    def due(self) -> int | None:
        """Returns the time [ps] at which `wake` is to be called if no datagram arrives before then, or None."""

    @abstractmethod
    def receive(self, now: int, payload: bytes, ecn: int) -> None:
        """Accepts a datagram that arrives at `now` [ps]; `wake` is called afterwards at the same time."""

    @abstractmethod
    def wake(self, now: int) -> Iterable[Datagram]:
        """Processes timers and received datagrams at `now` [ps], and returns the datagrams to send."""

    def state(self) -> State:
        """Returns the state of the sender."""
        return State()

    @abstractmethod
    def report(self) -> Report:
        """Returns the counters at the end of the run."""


def serve(create: Callable[[Setup], End]) -> None:
    """Runs an end over standard input and output until the simulation closes them.

    Text that the stack prints goes to standard error instead.
    """
    source = sys.stdin.buffer
    # Output of the stack must not mix with the protocol.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve(create, source, target)
    except (BrokenPipeError, EOFError):
        # The run is over.
        os._exit(0)


def _serve(create: Callable[[Setup], End], source: BinaryIO, target: BinaryIO) -> None:
    """Creates an end from the first message of `source`, and answers all further messages on `target`."""
    try:
        kind, body = _read(source)
        if kind != _SET_UP:
            raise ValueError(f"message {kind} before the set-up")
        end = create(_setup(body))
        _write(target, _DONE, _time(end.due()))
        target.flush()
        while True:
            _answer(end, *_read(source), target)
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:
        _write(target, _FAILED, _error_line(error).encode())
        target.flush()
        # The simulation decides when to end.
        source.read()


def _answer(end: End, kind: int, body: bytes, target: BinaryIO) -> None:
    """Answers one message of the simulator."""
    if kind == _RECEIVE:
        now, ecn = _RECEIVED.unpack_from(body)
        end.receive(now, body[_RECEIVED.size :], ecn)
        return
    if kind == _WAKE:
        for datagram in end.wake(_TIME.unpack(body)[0]):
            _write(target, _SEND, bytes([datagram.ecn]) + datagram.payload)
        _write(target, _DONE, _time(end.due()))
    elif kind in (_STATE, _REPORT):
        answer = end.state() if kind == _STATE else end.report()
        _write(target, _ANSWER, json.dumps(dataclasses.asdict(answer)).encode())
    else:
        raise ValueError(f"unknown message {kind}; this program has version {VERSION} of the protocol")
    target.flush()


def _read(source: BinaryIO) -> tuple[int, bytes]:
    head = source.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    length, kind = _HEAD.unpack(head)
    body = source.read(length - 1)
    if len(body) < length - 1:
        raise EOFError
    return kind, body


def _write(target: BinaryIO, kind: int, body: bytes) -> None:
    target.write(_HEAD.pack(len(body) + 1, kind))
    target.write(body)


def _setup(body: bytes) -> Setup:
    fields = json.loads(body)
    if fields["version"] != VERSION:
        raise ValueError(f"protocol version {fields['version']}; this program has {VERSION}")
    random.seed(fields["seed"])
    return Setup(fields["sends"], fields["seed"], fields["start_ps"], fields["most_bytes"], fields["settings"])


def _time(due: int | None) -> bytes:
    return _TIME.pack(_NEVER if due is None else due)


def _error_line(error: Exception) -> str:
    """Returns an error as one line, with the location in the user's code."""
    location, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            location = f" at {os.path.basename(code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119 - without pathlib
        trace = trace.tb_next
    return f"{type(error).__name__}{location}: {error}"
