"""A real protocol stack at both ends of a flow, in the virtual time of the run: QUIC, WebRTC, and Linux."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from longpipe.errors import ScenarioError
from longpipe.ip import packet_bytes
from longpipe.scenario.base import (
    AudioRate,
    CommandLine,
    DatagramInterval,
    DatagramLength,
    FileSize,
    FlowWindow,
    IdleTimeout,
    MediaRate,
    PathMtu,
)
from longpipe.scenario.core import core_fields
from longpipe.scenario.digests import is_as_stored, is_optional, keep_digest
from longpipe.scenario.source import Source
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.timers import Fine
from longpipe.scenario.web import Web
from longpipe.units import RATE, SIZE, TIME

# Versions of the stacks, as in crates/stacks/Cargo.toml. Results depend on them.
VERSIONS: Final[Mapping[str, str]] = {"quinn": "0.11.19", "noq": "1.4.0", "str0m": "0.25.0"}
# Revisions of the code between a library and a run (crates/stacks/src/quic), which results depend on, too; they follow
# the version in a resolved scenario. Revision 2 lets a connection send before its application acts; revision 3
# counts reductions of the window instead of the ACKs and timers that report losses.
REVISIONS: Final[Mapping[str, int]] = {"quinn": 3, "noq": 3}
# Stacks of QUIC.
QUIC: Final = ("quinn", "noq")
# Name of the stack of user-mode Linux, whose version is that of the installed kernel.
LINUX: Final = "linux"
# Version that a resolved scenario has on a machine without user-mode Linux, where the stack cannot run.
NO_KERNEL: Final = "not installed"
# Name of the stack for media, which has one congestion control and one workload.
MEDIA: Final = "str0m"
# Congestion controls that each stack has; the BBR of quinn is version 1, that of noq version 3, gcc is Google's for
# media. For Linux, the modules of Debian's package are available.
CONTROLS: Final[Mapping[str, tuple[str, ...]]] = {
    "quinn": ("cubic", "reno", "bbr"),
    "noq": ("cubic", "reno", "bbr3"),
    MEDIA: ("gcc",),
    LINUX: (
        "cubic", "reno", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
        "vegas", "veno", "westwood", "yeah",
    ),
}  # fmt: skip
if TYPE_CHECKING:
    StackControl = str
else:
    StackControl = Literal[tuple(dict.fromkeys(chain.from_iterable(CONTROLS.values())))]
# Default receive window of a stream in both QUIC stacks [bytes].
_WINDOW: Final = 1_250_000
# Default length [bytes] of the largest IP packet of the QUIC stacks, and of Linux, whose devices have Ethernet's MTU.
_LONGEST: Final = "1480 B"
_ETHERNET: Final = "1500 B"
# Fields that apply to one kind of stack only: QUIC, media, or Linux.
_OF_QUIC: Final = (
    "streams",
    "requests",
    "request",
    "datagram",
    "interval",
    "window",
    "crypto",
    "early_data",
    "path_idle_timeout",
    "web",
)
_OF_MEDIA: Final = ("lowest_rate", "highest_rate", "frame_rate", "audio_rate")
_OF_LINUX: Final = ("ecn", "command", "serve", "digest")
# Fields that do not apply to the media stack, and fields that do not apply to Linux. The fields of media and of Linux
# do not apply to QUIC stacks.
_OF_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    MEDIA: (*_OF_QUIC, "longest_packet", *_OF_LINUX),
    LINUX: ("workload", *_OF_QUIC, *_OF_MEDIA),
}


class Stack(Source):
    """A real stack at both ends, with its own control, timers and loss recovery: QUIC, WebRTC, or Linux's TCP.

    QUIC and WebRTC need longpipe[stacks], Linux the package user-mode-linux.
    """

    in_lab: ClassVar[bool] = False
    kind: Literal["stack"] = "stack"
    stack: Literal["quinn", "noq", "str0m", "linux"] = Field(
        description="The implementation: quinn (quinn-proto 0.11.19) or noq (noq-proto 1.4.0) for QUIC, str0m (str0m "
        "0.25.0) for WebRTC media, or linux (TCP of user-mode Linux)"
    )
    congestion: StackControl = Field(
        default="cubic",
        description="Congestion control of the stack; bbr is version 1, of quinn and Linux; bbr3 is noq's; gcc is "
        "str0m's only one and its default; the names after gcc are Linux's",
    )
    workload: Literal["bulk", "streams", "requests", "datagrams", "media"] = Field(
        default="bulk",
        description="Application: bulk sends one stream, streams many at once; with requests, the receiver connects "
        "and sends one request after another; datagrams sends QUIC datagrams at regular times; media is str0m's only "
        "application and its default: video that adapts to the estimated bandwidth, and audio",
    )
    size: FileSize | None = Field(
        default=None,
        description="Total data, or for requests the length of each response [bytes], as in '20 MB'; unlimited if "
        "absent",
    )
    streams: int = Field(
        default=10, ge=1, le=100_000, description="Number of streams among which size is divided, for streams"
    )
    requests: int = Field(default=10, ge=1, le=1_000_000, description="Number of requests, for requests")
    request: FileSize = Field(default="200 B", description="Length of a request [bytes]")
    datagram: DatagramLength = Field(default="1000 B", description="Length of a QUIC datagram, for datagrams [bytes]")
    interval: DatagramInterval = Field(default="10 ms", description="Time between two datagrams, for datagrams [time]")
    web: Web | None = Field(
        default=None,
        description="A web client at the receiver, with a stream for each request, in place of a workload; {} is the "
        "default client",
    )
    window: FlowWindow | None = Field(
        default=None,
        description="Flow-control windows and send buffer [bytes]; if absent, the stack's default, 1.25 MB for a "
        "stream",
    )
    longest_packet: PathMtu | None = Field(
        default=None,
        description="Upper limit of a QUIC stack's path MTU discovery, which starts at 1228 B; 1480 B if absent; for "
        "Linux its MTU, 1500 B if absent [bytes]",
    )
    crypto: Literal["tls", "null"] = Field(
        default="tls", description="TLS 1.3 with AES-128-GCM, or null, without encryption but with equal packet lengths"
    )
    ecn: bool = Field(default=False, description="Whether Linux negotiates ECN; dctcp always does")
    command: CommandLine | None = Field(
        default=None,
        description="A program of yours and its arguments, such as 'iperf3 -c peer', that Linux runs at the flow's "
        "sender from the flow's start; without it, Linux sends size",
    )
    serve: CommandLine | None = Field(
        default=None,
        description="A program that Linux runs at the flow's receiver from the start of the run, such as 'iperf3 -s'",
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 of command, serve and the files that they name; computed if absent, otherwise compared",
    )
    path_idle_timeout: IdleTimeout | None = Field(
        default=None,
        description="Time without packets from the peer after which noq abandons one of several paths (kind = "
        "'stack-path') [time]; never if absent",
    )
    early_data: bool = Field(
        default=False,
        description="The client resumes a session of an earlier connection and sends data in its first flight (0-RTT)",
    )
    lowest_rate: MediaRate = Field(default="150 kbit/s", description="Lowest encoded rate of the video, for media")
    highest_rate: MediaRate = Field(default="1.5 Mbit/s", description="Highest encoded rate of the video, for media")
    frame_rate: int = Field(default=30, ge=1, le=120, description="Video frames per second, for media")
    audio_rate: AudioRate = Field(
        default="20 kbit/s", description="Constant encoded rate of the audio, for media; 0 for video alone"
    )

    @model_validator(mode="before")
    @classmethod
    def _media(cls, given: object) -> object:
        """Fills in the fields of str0m that have only one possible value."""
        if isinstance(given, dict) and given.get("stack") == MEDIA:
            return {"congestion": CONTROLS[MEDIA][0], "workload": "media", **given}
        return given

    @model_validator(mode="after")
    def _web_replaces_workload(self) -> Self:
        if self.web is not None and self.stack in QUIC and (self.workload != "bulk" or self.size is not None):
            raise ValueError("web: needs neither a workload nor a size")
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.congestion not in CONTROLS[self.stack]:
            raise ValueError(f"congestion: {self.congestion}; {self.stack} has {', '.join(CONTROLS[self.stack])}")
        for name in _OF_OTHERS.get(self.stack, (*_OF_LINUX, *_OF_MEDIA)):
            if (value := getattr(self, name)) != Stack.model_fields[name].default:
                raise ValueError(f"{name}: {value}; {self.stack} has no such setting")
        if (self.workload == "media") != (self.stack == MEDIA):
            has = "media" if self.stack == MEDIA else "bulk, streams, requests, datagrams"
            raise ValueError(f"workload: {self.workload}; {self.stack} has {has}")
        if self.path_idle_timeout is not None and self.stack != "noq":
            raise ValueError(f"path_idle_timeout: {self.path_idle_timeout}; {self.stack} has only one path")
        if self.early_data and self.crypto == "null":
            raise ValueError("early_data: true; needs crypto = 'tls'")
        if self.workload == "media" and self.size is not None:
            raise ValueError(f"size: {self.size}; media continues to the end of the run")
        if RATE.parse(self.lowest_rate) > RATE.parse(self.highest_rate):
            raise ValueError(f"lowest_rate: {self.lowest_rate}; needs at most highest_rate ({self.highest_rate})")
        if self.workload == "requests" and self.size is None:
            raise ValueError("size: absent; requests need the length of a response")
        self._find_programs()
        return self

    def _find_programs(self) -> None:
        """Fills in the digest of the programs. Raises ValueError if they are missing or have changed."""
        if self.command is None:
            for name in ("serve", "digest"):
                if (lone := getattr(self, name)) is not None:
                    raise ValueError(f"{name}: {lone}; needs a command")
            return
        if self.size is not None:
            raise ValueError(f"size: {self.size}; the command decides how much it sends")
        if self.digest is not None and is_as_stored():
            return
        from longpipe.linux_end.programs import digest_of

        try:
            digest = digest_of(self.command, self.serve)
        except ScenarioError as error:
            if not is_optional(self.digest, error):
                raise ValueError(str(error)) from None
            return
        keep_digest(self, digest, noun="programs", holder="the command")

    def core(self) -> dict[str, Any]:
        """Converts a stack for the core, which passes the settings on."""
        settings: dict[str, str] = {"congestion": self.congestion}
        if self.size is not None:
            settings["size"] = str(SIZE.parse(self.size))
        settings |= _linux_settings(self) if self.stack == LINUX else _library_settings(self)
        return {
            "kind": "stack",
            "stack": self.stack,
            "version": version_of(self.stack),
            "settings": [[name, settings[name]] for name in sorted(settings)],
            **requests_of(self.web),
        }


def requests_of(web: Web | None) -> dict[str, Any]:
    """Returns the field of a stack in the core with the requests of a web client; empty without a client."""
    return {} if web is None else {"web": core_fields(web, without=("kind",))}


def is_own(version: str) -> bool:
    """Returns whether the version of a stack in a resolved scenario is the digest of a user's own stack."""
    return len(version) == 64


def version_of(name: str) -> str:
    """Returns the version of a stack with its revision; for Linux, it is that of this machine's kernel."""
    if name != LINUX:
        revision = REVISIONS.get(name)
        return VERSIONS[name] if revision is None else f"{VERSIONS[name]}+{revision}"
    from longpipe.linux_end import version

    return version() or NO_KERNEL


def _linux_settings(stack: Stack) -> dict[str, str]:
    """Returns the settings that only Linux has; command lines are lists in JSON."""
    settings = {"ecn": "true"} if stack.ecn else {}
    for name, words in (("command", stack.command), ("serve", stack.serve)):
        if words is not None:
            settings[name] = json.dumps(words)
    return settings if stack.digest is None else {**settings, "digest": stack.digest}


def _library_settings(stack: Stack) -> dict[str, str]:
    """Returns the settings that only the stacks of QUIC and WebRTC have."""
    settings: dict[str, str] = {"crypto": stack.crypto, "workload": stack.workload}
    if stack.workload == "streams":
        settings["streams"] = str(stack.streams)
    if stack.workload == "requests":
        settings["requests"] = str(stack.requests)
        settings["request"] = str(SIZE.parse(stack.request))
    if stack.workload == "datagrams":
        settings["datagram"] = str(SIZE.parse(stack.datagram))
        settings["interval"] = str(TIME.parse(stack.interval))
    if stack.early_data:
        settings["early_data"] = "true"
    if stack.path_idle_timeout is not None:
        settings["path_idle_timeout"] = str(TIME.parse(stack.path_idle_timeout))
    if stack.workload == "media":
        rates = {"lowest_rate": stack.lowest_rate, "highest_rate": stack.highest_rate, "audio_rate": stack.audio_rate}
        settings |= {name: str(int(RATE.parse(rate))) for name, rate in rates.items()}
        settings["frame_rate"] = str(stack.frame_rate)
    if stack.window is not None:
        settings["window"] = str(SIZE.parse(stack.window))
    return settings


def stack_tcp(stack: Stack) -> Tcp:
    """Returns TCP fields of a flow with a stack. They only determine the length of its packets and its window."""
    longest = stack.longest_packet or (_ETHERNET if stack.stack == LINUX else _LONGEST)
    return stack_tcp_of(SIZE.parse(longest), None if stack.window is None else SIZE.parse(stack.window))


@lru_cache
def stack_tcp_of(mtu: int, window: int | None) -> Tcp:
    """Returns TCP fields for IP packets of up to `mtu` bytes and for a window [bytes] (None: the default)."""
    window, mss = _WINDOW if window is None else window, mtu - packet_bytes(0, timestamps=False)
    return Tcp(mss=f"{mss} B", receiver_window=f"{max(window, 2 * mss)} B", timer=Fine())


def stacks_of(resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the name and version of each stack that a resolved scenario uses, except the user's own."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    stacks = {(traffic["stack"], traffic["version"]) for traffic in traffics if traffic["kind"] == "stack"}
    return sorted((name, version) for name, version in stacks if not is_own(version))


def programs_of(resolved: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the settings of the flows of a resolved scenario that run programs of the user, each once."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    found = (
        dict(traffic["settings"]) for traffic in traffics if traffic["kind"] == "stack" and traffic["stack"] == LINUX
    )
    return list({one["digest"]: one for one in found if "command" in one}.values())


def own_stacks_of(resolved: Mapping[str, Any]) -> list[str]:
    """Returns the digests of the user's own stacks that a resolved scenario uses."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    return sorted(
        {traffic["version"] for traffic in traffics if traffic["kind"] == "stack" and is_own(traffic["version"])}
    )
