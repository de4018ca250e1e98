"""aioquic as an end of longpipe's flows (docs/more-stacks.md): make stacks-aioquic.

aioquic takes the time as an argument of each call. Its random numbers come from `os.urandom`, which is replaced by
numbers from the seed of the run; those of its cryptography library differ in each run, without effect on lengths.
"""

import datetime as dt
import os
import random
import ssl
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Final

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived
from aioquic.quic.packet_builder import QuicSentPacket
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from longpipe.end import Datagram, End, Report, Setup, State, serve

PEER: Final = ("10.0.0.1", 443)
PS_PER_S: Final = 1e12
CONTROLS: Final = ("reno", "cubic")
NAMES: Final = ("congestion", "size", "workload", "requests", "request", "window")
# Data that are passed to a stream at once [byte], and below which a stream's buffer is filled again.
CHUNK_BYTES: Final = 1 << 18
# The time in seconds is rounded, so that a timer may be later by this time [ps].
ROUNDING_PS: Final = 1000


class SettingError(Exception):
    """A setting is invalid: a line that names it, its value and what is accepted."""


def _number(settings: Mapping[str, str], name: str, default: int | None) -> int | None:
    text = settings.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise SettingError(f"{name}: {text}; needs a whole number")
    return int(text)


class Aioquic(End):
    """A transfer, or requests one after another, over one connection."""

    def __init__(self, setup: Setup) -> None:
        """Reads the settings. The sender of a transfer connects, and the receiver of responses."""
        settings = setup.settings
        for name in settings:
            if name not in NAMES:
                raise SettingError(f"{name}: unknown setting; needs {', '.join(NAMES)}")
        congestion = settings.get("congestion", CONTROLS[0])
        if congestion not in CONTROLS:
            raise SettingError(f"congestion: {congestion}; needs {', '.join(CONTROLS)}")
        workload = settings.get("workload", "bulk")
        if workload not in ("bulk", "requests"):
            raise SettingError(f"workload: {workload}; needs bulk or requests")
        self.requests = workload == "requests"
        # None is endless.
        self.size = _number(settings, "size", None)
        if self.requests and self.size is None:
            raise SettingError("size: absent; needs the length of a response in bytes")
        self.request = _number(settings, "request", 100) or 0
        self.count = (_number(settings, "requests", 1) or 0) if self.requests else 1
        self.sends, self.start = setup.sends, setup.start_ps
        self.connects = self.sends != self.requests
        os.urandom = random.Random(setup.seed).randbytes  # noqa: S311 - repeatable
        window = _number(settings, "window", None)
        windows = {} if window is None else {"max_data": window, "max_stream_data": window}
        self.configuration = QuicConfiguration(
            is_client=self.connects,
            alpn_protocols=["longpipe"],
            congestion_control_algorithm=congestion,
            max_datagram_size=setup.most_bytes,
            verify_mode=ssl.CERT_NONE,
            **windows,
        )
        if not self.connects:
            self.configuration.certificate, self.configuration.private_key = _certificate()
        self.connection: QuicConnection | None = None
        # Stream that sends, and the bytes that it has not taken yet.
        self.outgoing: tuple[int, int | None] | None = None
        self.received = self.sent = self.sent_bytes = self.lost = self.lost_bytes = self.reductions = self.opened = 0
        self.requested = 0
        self.responses_s: list[float] = []
        self.handshake: int | None = None
        self.completed: int | None = None
        self.closed: tuple[int, str] | None = None

    def due(self) -> int | None:
        """Returns the time of the connection's timer, or of its start."""
        if self.connection is None:
            return self.start if self.connects else None
        timer = self.connection.get_timer()
        return None if timer is None else int(timer * PS_PER_S) + ROUNDING_PS

    def receive(self, now: int, payload: bytes, ecn: int) -> None:
        """Passes a datagram to the connection, which its first one creates at a server."""
        del ecn
        if self.connection is None:
            # The first packet's header has the identifier that the client chose (RFC 9000 section 17.2).
            destination = payload[6 : 6 + payload[5]]
            self.connection = self._counted(
                QuicConnection(configuration=self.configuration, original_destination_connection_id=destination)
            )
        self.connection.receive_datagram(payload, PEER, now / PS_PER_S)

    def wake(self, now: int) -> Iterator[Datagram]:
        """Lets timers, the application and the connection act."""
        if self.connection is None:
            if not self.connects or now < self.start:
                return
            self.connection = self._counted(QuicConnection(configuration=self.configuration))
            self.connection.connect(PEER, now / PS_PER_S)
        timer = self.connection.get_timer()
        if timer is not None and timer <= now / PS_PER_S:
            self.connection.handle_timer(now / PS_PER_S)
        while (event := self.connection.next_event()) is not None:
            self._handle(self.connection, event, now)
        while True:
            self._fill(self.connection)
            datagrams = self.connection.datagrams_to_send(now / PS_PER_S)
            if not datagrams:
                return
            for payload, _ in datagrams:
                self.sent += 1
                self.sent_bytes += len(payload)
                yield Datagram(payload)

    def _counted(self, connection: QuicConnection) -> QuicConnection:
        """Counts the losses of a connection, which aioquic reports to its congestion control alone."""
        control = connection._loss._cc
        report_losses = control.on_packets_lost

        def on_packets_lost(*, now: float, packets: Iterator[QuicSentPacket]) -> None:
            lost = list(packets)
            before = control.congestion_window
            report_losses(now=now, packets=lost)
            self.lost += len(lost)
            self.lost_bytes += sum(packet.sent_bytes for packet in lost)
            self.reductions += control.congestion_window < before

        control.on_packets_lost = on_packets_lost
        return connection

    def _handle(self, connection: QuicConnection, event: object, now: int) -> None:
        if isinstance(event, HandshakeCompleted):
            self.handshake = now
            if self.connects:
                self._request(connection, now)
        elif isinstance(event, StreamDataReceived):
            self.received += 0 if self.sends else len(event.data)
            if event.end_stream:
                self._end(connection, event.stream_id, now)
        elif isinstance(event, ConnectionTerminated):
            self.closed = (now, event.reason_phrase or f"error {event.error_code}")

    def _request(self, connection: QuicConnection, now: int) -> None:
        stream = connection.get_next_available_stream_id(is_unidirectional=not self.requests)
        self.outgoing = (stream, self.request if self.requests else self.size)
        self.requested = now
        self.opened += 1

    def _end(self, connection: QuicConnection, stream: int, now: int) -> None:
        """Handles the end of a stream: of the transfer, a request or a response."""
        if not self.requests:
            self.completed = now
        elif self.sends:
            self.outgoing = (stream, self.size)
        else:
            self.responses_s.append((now - self.requested) / PS_PER_S)
            if self.opened < self.count:
                self._request(connection, now)
            else:
                self.completed = now

    def _fill(self, connection: QuicConnection) -> None:
        """Passes data to the stream that sends, unless enough wait there."""
        if self.outgoing is None:
            return
        stream, left = self.outgoing
        known = connection._streams.get(stream)
        if known is not None and known.sender._buffer_stop - known.sender._buffer_start >= CHUNK_BYTES:
            return
        chunk = CHUNK_BYTES if left is None else min(left, CHUNK_BYTES)
        ends = chunk == left
        connection.send_stream_data(stream, bytes(chunk), end_stream=ends)
        self.outgoing = None if ends else (stream, None if left is None else left - chunk)

    def state(self) -> State:
        """Returns the state of the connection's recovery."""
        recovery = None if self.connection is None else self.connection._loss
        if recovery is None:
            return State(sent_packets=self.sent, lost_packets=self.lost)
        measured = recovery._rtt_initialized
        return State(
            cwnd=recovery._cc.congestion_window,
            ssthresh=recovery._cc.ssthresh,
            srtt_ps=int(recovery._rtt_smoothed * PS_PER_S) if measured else None,
            min_rtt_ps=int(recovery._rtt_min * PS_PER_S) if measured else None,
            sent_packets=self.sent,
            lost_packets=self.lost,
        )

    def report(self) -> Report:
        """Returns the counters. Datagrams stand for packets, which aioquic does not count."""
        state = self.state()
        values: dict[str, float] = {"datagrams": self.sent, "mtu_bytes": self.configuration.max_datagram_size}
        values |= {} if state.cwnd is None else {"cwnd_bytes": state.cwnd}
        if state.srtt_ps is not None and state.min_rtt_ps is not None:
            values |= {"srtt_s": state.srtt_ps / PS_PER_S, "min_rtt_s": state.min_rtt_ps / PS_PER_S}
        if self.responses_s:
            values |= {"responses": len(self.responses_s), "mean_response_s": statistics.fmean(self.responses_s)}
            values["max_response_s"] = max(self.responses_s)
        counters: dict[str, Any] = {"sent_packets": self.sent, "sent_bytes": self.sent_bytes}
        counters |= {"lost_packets": self.lost, "lost_bytes": self.lost_bytes, "congestion_events": self.reductions}
        told = Report(self.received, self.completed, handshake_ps=self.handshake, values=values, **counters)
        if self.closed and self.completed is None and self.outgoing is not None:
            told.closed_ps, told.closed = self.closed
        return told


def _certificate() -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """Returns a certificate and its key, whose signatures have a constant length, unlike those of ECDSA."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "longpipe.test")])
    begin = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin.replace(year=2120))
    return builder.sign(key, None), key


if __name__ == "__main__":
    serve(Aioquic)
