"""aioquic as an end of longpipe's flows (docs/more-stacks.md): make stacks-aioquic.

aioquic takes the time as an argument of each call. Its random numbers come from `os.urandom`, which is replaced by
numbers from the seed of the run; those of its cryptography library differ in each run, without effect on lengths.
"""

import dataclasses
import datetime as dt
import os
import random
import ssl
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Final

from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import MAX_EARLY_DATA, QuicConnection
from aioquic.quic.events import ConnectionTerminated, DatagramFrameReceived, HandshakeCompleted, StreamDataReceived
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.tls import CipherSuite, ExtensionType, SessionTicket
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from longpipe.end import Datagram, End, Report, Setup, State, serve

PEER: Final = ("10.0.0.1", 443)
PS_PER_S: Final = 1e12
CONTROLS: Final = ("reno", "cubic")
WORKLOADS: Final = ("bulk", "streams", "requests", "datagrams")
EARLY_DATA: Final = "early_data"
HTTP3: Final = "http3"
WEB: Final = "web"
NAMES: Final = (
    *("congestion", "size", "workload", "requests", "request", "streams", "datagram", "interval_us", "window", WEB),
    *(EARLY_DATA, HTTP3),
)
SERVER: Final = "longpipe.test"
# Lengths of a datagram [byte], which contains a time and fits into the shortest packet of each stack, and numbers of
# concurrent streams.
DATAGRAM: Final = range(8, 1101)
STREAMS: Final = range(1, 100_001)
PS_PER_US: Final = 10**6
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


def _within(settings: Mapping[str, str], name: str, default: int, accepted: range) -> int:
    value = _number(settings, name, default)
    if value not in accepted:
        raise SettingError(f"{name}: {value}; needs {accepted.start} to {accepted[-1]}")
    return value


def _flag(settings: Mapping[str, str], name: str) -> bool:
    if (text := settings.get(name, "false")) not in ("true", "false"):
        raise SettingError(f"{name}: {text}; needs true or false")
    return text == "true"


@dataclasses.dataclass(frozen=True)
class WebRequest:
    """A request of a web client: its time [ps], its length, and that of its response [byte]."""

    at: int
    request: int
    response: int


def _web(settings: Mapping[str, str]) -> list[WebRequest]:
    """Returns the requests of a web client; empty for other workloads."""
    for name in ("workload", "size") if WEB in settings else ():
        if name in settings:
            raise SettingError(f"{name}: {settings[name]}; needs to be absent with web traffic")
    try:
        return [WebRequest(*map(int, line.split())) for line in settings.get(WEB, "").split(";") if line]
    except (TypeError, ValueError):
        raise SettingError(f"{WEB}: {settings[WEB][:60]}; needs a time and two lengths") from None


class Aioquic(End):
    """Concurrent streams, requests one after another or of a web client, or datagrams, over one connection."""

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
        if workload not in WORKLOADS:
            raise SettingError(f"workload: {workload}; needs {', '.join(WORKLOADS)}")
        early_data, self.http3 = _flag(settings, EARLY_DATA), _flag(settings, HTTP3)
        self.web, self.is_web = _web(settings), WEB in settings
        if self.http3 and not self.is_web:
            raise SettingError(f"{HTTP3}: true; needs traffic with the field web")
        self.requests = workload == "requests"
        self.streams = _within(settings, "streams", 10, STREAMS) if workload == "streams" else 1
        # Length of a datagram; None for other workloads.
        self.datagram = _within(settings, "datagram", 1000, DATAGRAM) if workload == "datagrams" else None
        self.interval = _within(settings, "interval_us", 10_000, range(1, 2**32)) * PS_PER_US
        # None is endless.
        self.size = _number(settings, "size", None)
        if self.requests and self.size is None:
            raise SettingError("size: absent; needs the length of a response in bytes")
        self.request = _number(settings, "request", 100) or 0
        self.count = (_number(settings, "requests", 1) or 0) if self.requests else 1
        self.sends, self.start = setup.sends, setup.start_ps
        self.connects = self.sends != (self.requests or self.is_web)
        os.urandom = random.Random(setup.seed).randbytes  # noqa: S311 - repeatable
        window = _number(settings, "window", None)
        windows = {} if window is None else {"max_data": window, "max_stream_data": window}
        self.configuration = QuicConfiguration(
            is_client=self.connects,
            alpn_protocols=H3_ALPN if self.http3 else ["longpipe"],
            congestion_control_algorithm=congestion,
            max_datagram_size=setup.most_bytes,
            verify_mode=ssl.CERT_NONE,
            max_datagram_frame_size=None if self.datagram is None else setup.most_bytes,
            **windows,
        )
        if not self.connects:
            self.configuration.certificate, self.configuration.private_key = _certificate()
        if early_data:
            self.configuration.server_name = SERVER
            self.configuration.session_ticket = self._ticket()
        self.connection: QuicConnection | None = None
        self.http: H3Connection | None = None
        # Requests that the client has sent, when this end had received each request or its response, and whether the
        # client may send.
        self.web_sent = 0
        self.web_received: dict[int, int] = {}
        self.web_begun = False
        # Streams that send, and the bytes that they have not taken yet.
        self.outgoing: dict[int, int | None] = {}
        # Time of the next datagram, and the number so far, of a sender.
        self.next_datagram: int | None = None
        self.datagrams = 0
        self.received = self.sent = self.sent_bytes = self.lost = self.lost_bytes = self.reductions = self.opened = 0
        self.requested = 0
        # Times of responses, concurrent streams or datagrams.
        self.took_s: list[float] = []
        self.handshake: int | None = None
        self.completed: int | None = None
        self.closed: tuple[int, str] | None = None

    def due(self) -> int | None:
        """Returns the time of the connection's timer, or of its start."""
        if self.connection is None:
            return self.start if self.connects else None
        timer = self.connection.get_timer()
        times = [] if timer is None else [int(timer * PS_PER_S) + ROUNDING_PS]
        times += [] if self.next_datagram is None else [self.next_datagram]
        times += [self.web[self.web_sent].at] if self._is_client and self.web_begun else []
        return min(times, default=None)

    def receive(self, now: int, payload: bytes, ecn: int) -> None:
        """Passes a datagram to the connection, which its first one creates at a server."""
        del ecn
        if self.connection is None:
            # The first packet's header has the identifier that the client chose (RFC 9000 section 17.2).
            destination = payload[6 : 6 + payload[5]]
            self.connection = self._prepared(
                QuicConnection(
                    configuration=self.configuration,
                    original_destination_connection_id=destination,
                    session_ticket_fetcher=lambda _: self.configuration.session_ticket,
                )
            )
        self.connection.receive_datagram(payload, PEER, now / PS_PER_S)

    def wake(self, now: int) -> Iterator[Datagram]:
        """Lets timers, the application and the connection act."""
        if self.connection is None:
            if not self.connects or now < self.start:
                return
            self.connection = self._prepared(QuicConnection(configuration=self.configuration))
            self.connection.connect(PEER, now / PS_PER_S)
            if self.configuration.session_ticket is not None:
                self._begin(self.connection, now)
        timer = self.connection.get_timer()
        if timer is not None and timer <= now / PS_PER_S:
            self.connection.handle_timer(now / PS_PER_S)
        while (event := self.connection.next_event()) is not None:
            self._handle(self.connection, event, now)
        self._send_datagrams(self.connection, now)
        self._send_requests(self.connection, now)
        while True:
            self._fill_streams(self.connection)
            datagrams = self.connection.datagrams_to_send(now / PS_PER_S)
            if not datagrams:
                return
            for payload, _ in datagrams:
                self.sent += 1
                self.sent_bytes += len(payload)
                yield Datagram(payload)

    @property
    def _is_client(self) -> bool:
        """Whether this end is a web client that has further requests."""
        return self.connects and self.web_sent < len(self.web)

    def _send_requests(self, connection: QuicConnection, now: int) -> None:
        """Sends the requests of the web client that are due, each in a stream of its own."""
        while self.web_begun and self._is_client and self.web[self.web_sent].at <= now:
            number, request = self.web_sent, self.web[self.web_sent]
            self.web_sent += 1
            if not self.http3:
                self._send_stream(connection, request.request)
                continue
            path = f"/{number}".encode()
            fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", SERVER.encode()), (b":path", path)]
            self._http(connection).send_headers(connection.get_next_available_stream_id(), fields, end_stream=True)

    def _http(self, connection: QuicConnection) -> H3Connection:
        """Returns the connection of HTTP/3, which begins with the first call."""
        if self.http is None:
            self.http = H3Connection(connection)
        return self.http

    def _handle_message(self, connection: QuicConnection, event: H3Event, now: int) -> None:
        if isinstance(event, DataReceived):
            self.received += 0 if self.sends else len(event.data)
        if isinstance(event, DataReceived | HeadersReceived) and event.stream_ended:
            self._end(connection, event.stream_id, now)

    def _ticket(self) -> SessionTicket:
        """Returns the session that the client resumes: both ends make an equal one, as if a server had issued it."""
        certificate, key = _certificate()
        configuration = dataclasses.replace(
            self.configuration, is_client=False, certificate=certificate, private_key=key
        )
        server = QuicConnection(configuration=configuration, original_destination_connection_id=bytes(8))
        server._version = QuicProtocolVersion.VERSION_1
        self._permit_streams(server)
        parameters = (ExtensionType.QUIC_TRANSPORT_PARAMETERS, server._serialize_transport_parameters())
        return SessionTicket(
            age_add=0,
            cipher_suite=CipherSuite.AES_256_GCM_SHA384,
            not_valid_before=dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            not_valid_after=dt.datetime(2120, 1, 1, tzinfo=dt.UTC),
            resumption_secret=bytes(48),
            server_name=SERVER,
            ticket=bytes(64),
            max_early_data_size=MAX_EARLY_DATA,
            other_extensions=[parameters],
        )

    def _permit_streams(self, connection: QuicConnection) -> None:
        """Lets the peer open the concurrent streams; the library's limit has no setting."""
        limit = connection._local_max_streams_uni
        limit.value = max(limit.value, self.streams)

    def _prepared(self, connection: QuicConnection) -> QuicConnection:
        """Permits the streams, and counts the losses of a connection, which aioquic reports to its control alone."""
        self._permit_streams(connection)
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
                self._begin(connection, now)
        elif self.http3 and isinstance(event, StreamDataReceived):
            for message in self._http(connection).handle_event(event):
                self._handle_message(connection, message, now)
        elif isinstance(event, StreamDataReceived):
            self.received += 0 if self.sends else len(event.data)
            if event.end_stream:
                self._end(connection, event.stream_id, now)
        elif isinstance(event, DatagramFrameReceived):
            self.received += len(event.data)
            self.took_s.append((now - int.from_bytes(event.data[:8], "little")) / PS_PER_S)
            if self.size is not None and self.received >= self.size:
                self.completed = now
        elif isinstance(event, ConnectionTerminated):
            self.closed = (now, event.reason_phrase or f"error {event.error_code}")

    def _begin(self, connection: QuicConnection, now: int) -> None:
        """Lets the application begin, unless it has begun in early data."""
        if self.opened or self.datagrams:
            return
        if self.is_web:
            self.web_begun = True
        elif self.datagram is not None:
            self.next_datagram = now
        elif self.requests:
            self._request(connection, now)
        else:
            for index in range(self.streams):
                share = None if self.size is None else self.size // self.streams + (index < self.size % self.streams)
                self._send_stream(connection, share)

    def _send_stream(self, connection: QuicConnection, size: int | None) -> None:
        stream = connection.get_next_available_stream_id(is_unidirectional=not (self.requests or self.is_web))
        self.outgoing[stream] = size
        self.opened += 1
        # The library numbers streams when they are first used.
        self._fill(connection, stream)

    def _request(self, connection: QuicConnection, now: int) -> None:
        self.requested = now
        self._send_stream(connection, self.request)

    def _send_datagrams(self, connection: QuicConnection, now: int) -> None:
        """Sends the datagrams that are due. Each begins with its time."""
        bytes_ = self.datagram or 0
        while (at := self.next_datagram) is not None and at <= now:
            connection.send_datagram_frame(at.to_bytes(8, "little").ljust(bytes_, b"\0"))
            self.datagrams += 1
            is_last = self.size is not None and self.datagrams * bytes_ >= self.size
            self.next_datagram = None if is_last else at + self.interval

    def _end(self, connection: QuicConnection, stream: int, now: int) -> None:
        """Handles the end of a stream: of the transfer, a request or a response."""
        if self.is_web:
            self._end_web(connection, stream, now)
            return
        if self.requests and self.sends:
            self.outgoing[stream] = self.size
            return
        self.took_s.append((now - (self.requested if self.requests else self.start)) / PS_PER_S)
        if len(self.took_s) == (self.count if self.requests else self.streams):
            self.completed = now
        elif self.requests:
            self._request(connection, now)

    def _end_web(self, connection: QuicConnection, stream: int, now: int) -> None:
        # The client numbers its streams in both directions 0, 4, 8 and so on (RFC 9000 section 2.1).
        number = stream // 4
        self.web_received[number] = now
        if self.connects:
            self.completed = now if len(self.web_received) == len(self.web) else None
            return
        self.outgoing[stream] = self.web[number].response
        if self.http3:
            length = str(self.web[number].response).encode()
            self._http(connection).send_headers(stream, [(b":status", b"200"), (b"content-length", length)])

    def _fill_streams(self, connection: QuicConnection) -> None:
        for stream in list(self.outgoing):
            self._fill(connection, stream)

    def _fill(self, connection: QuicConnection, stream: int) -> None:
        """Passes data to a stream that sends, unless enough wait there."""
        left = self.outgoing[stream]
        known = connection._streams.get(stream)
        if known is not None and known.sender._buffer_stop - known.sender._buffer_start >= CHUNK_BYTES:
            return
        chunk = CHUNK_BYTES if left is None else min(left, CHUNK_BYTES)
        ends = chunk == left
        if self.http is None:
            connection.send_stream_data(stream, bytes(chunk), end_stream=ends)
        else:
            self.http.send_data(stream, bytes(chunk), end_stream=ends)
        if ends:
            del self.outgoing[stream]
        else:
            self.outgoing[stream] = None if left is None else left - chunk

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
        values |= self._application_values()
        counters: dict[str, Any] = {"sent_packets": self.sent, "sent_bytes": self.sent_bytes}
        counters |= {"lost_packets": self.lost, "lost_bytes": self.lost_bytes, "congestion_events": self.reductions}
        told = Report(self.received, self.completed, handshake_ps=self.handshake, values=values, **counters)
        if self.closed and self.completed is None and (self.outgoing or self.next_datagram is not None):
            told.closed_ps, told.closed = self.closed
        return told

    def _application_values(self) -> dict[str, float]:
        """Returns the values about what the application has sent or received."""
        if self.is_web:
            return {f"file {number}": at for number, at in self.web_received.items()}
        values: dict[str, float] = {}
        noun = "response" if self.requests else "stream"
        if self.datagram is not None:
            noun = "datagram"
            values = {"sent_datagrams": self.datagrams} if self.sends else {"received_datagrams": len(self.took_s)}
        elif self.requests and self.took_s:
            values = {"responses": len(self.took_s)}
        if not self.took_s or (noun == "stream" and self.streams == 1):
            return values
        return values | {f"mean_{noun}_s": statistics.fmean(self.took_s), f"max_{noun}_s": max(self.took_s)}


def _certificate() -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """Returns a certificate and its key, whose signatures have a constant length, unlike those of ECDSA."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER)])
    begin = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin.replace(year=2120))
    return builder.sign(key, None), key


if __name__ == "__main__":
    serve(Aioquic)
