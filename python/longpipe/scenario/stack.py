"""A real protocol stack at both ends of a flow, in the virtual time of the run: QUIC implementations, and Linux."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from longpipe.ip import packet_bytes
from longpipe.scenario.base import FileSize, FlowWindow, Model, PathMtu
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.timers import Fine
from longpipe.units import SIZE

# Versions in crates/stacks/Cargo.toml: results depend on them.
VERSIONS: Final[Mapping[str, str]] = {"quinn": "0.11.19", "noq": "1.4.0"}
# The stack that is user-mode Linux; its version is that of the installed kernel.
LINUX: Final = "linux"
# Version in a resolved scenario on a machine without user-mode Linux, where it cannot run.
NO_KERNEL: Final = "not installed"
# Congestion controls that each stack has; the BBR of quinn is version 1, that of noq version 3. Those of Linux are the
# modules of Debian's package.
CONTROLS: Final[Mapping[str, tuple[str, ...]]] = {
    "quinn": ("cubic", "reno", "bbr"),
    "noq": ("cubic", "reno", "bbr3"),
    LINUX: (
        "cubic", "reno", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
        "vegas", "veno", "westwood", "yeah",
    ),
}  # fmt: skip
# Receive window of a stream in both stacks, by their default [bytes].
_WINDOW: Final = 1_250_000
# Largest IP packet of the QUIC stacks by default, and of Linux, whose devices have Ethernet's MTU [bytes].
_LONGEST: Final = "1480 B"
_ETHERNET: Final = "1500 B"
# Fields that only apply to QUIC, and only to Linux.
_OF_QUIC: Final = ("workload", "streams", "requests", "request", "window", "crypto")
_OF_LINUX: Final = ("ecn",)


class Stack(Model):
    """A real stack at both ends, with its own congestion control, timers and loss recovery: QUIC, or Linux's TCP.

    QUIC needs longpipe[stacks], Linux the package user-mode-linux.
    """

    kind: Literal["stack"] = "stack"
    stack: Literal["quinn", "noq", "linux"] = Field(
        description="The implementation: quinn (quinn-proto 0.11.19), noq (noq-proto 1.4.0) or linux (TCP of user-mode "
        "Linux)"
    )
    congestion: Literal[
        "cubic", "reno", "bbr", "bbr3", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
        "scalable", "vegas", "veno", "westwood", "yeah",
    ] = Field(
        default="cubic",
        description="Its congestion control; bbr is quinn's or Linux's (version 1), bbr3 is noq's, and those that "
        "follow are Linux's",
    )  # fmt: skip
    workload: Literal["bulk", "streams", "requests"] = Field(
        default="bulk",
        description="Application: bulk sends one stream, streams many at once; requests has the receiver connect and "
        "ask, one request after another",
    )
    size: FileSize | None = Field(
        default=None,
        description="Data in all, or of each response [bytes], as in '20 MB'; without end if absent",
    )
    streams: int = Field(default=10, ge=1, le=100_000, description="Number of streams that share size, for streams")
    requests: int = Field(default=10, ge=1, le=1_000_000, description="Number of requests, for requests")
    request: FileSize = Field(default="200 B", description="Length of a request [bytes]")
    window: FlowWindow | None = Field(
        default=None,
        description="Flow-control windows and send buffer [bytes]; the stack's own if absent, 1.25 MB for a stream",
    )
    longest_packet: PathMtu | None = Field(
        default=None,
        description="Length up to which a QUIC stack searches for the longest IP packet, from 1228 B on, 1480 B if "
        "absent; MTU of Linux, 1500 B if absent [bytes]",
    )
    crypto: Literal["tls", "null"] = Field(
        default="tls", description="TLS 1.3 with AES-128-GCM, or null: packets of the same lengths without it"
    )

    ecn: bool = Field(default=False, description="Whether Linux negotiates ECN; dctcp always does")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.congestion not in CONTROLS[self.stack]:
            raise ValueError(f"congestion: {self.congestion}; {self.stack} has {', '.join(CONTROLS[self.stack])}")
        of_others = _OF_QUIC if self.stack == LINUX else _OF_LINUX
        for name in of_others:
            if (value := getattr(self, name)) != Stack.model_fields[name].default:
                raise ValueError(f"{name}: {value}; {self.stack} has no such setting")
        if self.workload == "requests" and self.size is None:
            raise ValueError("size: absent; requests need the length of a response")
        return self


def is_own(version: str) -> bool:
    """Returns whether the version of a stack in a resolved scenario is the digest of one of the user's own."""
    return len(version) == 64


def core_stack(stack: Stack) -> dict[str, Any]:
    """Converts a stack for the core, which passes the settings on."""
    if stack.stack == LINUX:
        return _core_linux(stack)
    settings: dict[str, str] = {"congestion": stack.congestion, "crypto": stack.crypto, "workload": stack.workload}
    if stack.size is not None:
        settings["size"] = str(SIZE.parse(stack.size))
    if stack.workload == "streams":
        settings["streams"] = str(stack.streams)
    if stack.workload == "requests":
        settings["requests"] = str(stack.requests)
        settings["request"] = str(SIZE.parse(stack.request))
    if stack.window is not None:
        settings["window"] = str(SIZE.parse(stack.window))
    return {
        "kind": "stack",
        "stack": stack.stack,
        "version": VERSIONS[stack.stack],
        "settings": [[name, settings[name]] for name in sorted(settings)],
    }


def _core_linux(stack: Stack) -> dict[str, Any]:
    """Converts an end that is Linux for the core, with the version of this machine's kernel."""
    from longpipe.linux_end import version

    settings: dict[str, str] = {"congestion": stack.congestion}
    if stack.ecn:
        settings["ecn"] = "true"
    if stack.size is not None:
        settings["size"] = str(SIZE.parse(stack.size))
    return {
        "kind": "stack",
        "stack": LINUX,
        "version": version() or NO_KERNEL,
        "settings": [[name, settings[name]] for name in sorted(settings)],
    }


def stack_tcp(stack: Stack) -> Tcp:
    """Returns TCP fields of a flow with a stack. They only tell the length of its packets and its window."""
    longest = stack.longest_packet or (_ETHERNET if stack.stack == LINUX else _LONGEST)
    return stack_tcp_of(SIZE.parse(longest), None if stack.window is None else SIZE.parse(stack.window))


@lru_cache
def stack_tcp_of(mtu: int, window: int | None) -> Tcp:
    """Returns TCP fields for IP packets of up to `mtu` bytes and a window [bytes], the stacks' default if None."""
    window, mss = _WINDOW if window is None else window, mtu - packet_bytes(0, timestamps=False)
    return Tcp(mss=f"{mss} B", receiver_window=f"{max(window, 2 * mss)} B", timer=Fine())


def stacks_of(resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns name and version of the stacks that a resolved scenario uses, other than the user's own."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    stacks = {(one["stack"], one["version"]) for one in traffics if one["kind"] == "stack"}
    return sorted((name, version) for name, version in stacks if not is_own(version))


def own_stacks_of(resolved: Mapping[str, Any]) -> list[str]:
    """Returns the digests of the user's own stacks that a resolved scenario uses."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    return sorted({one["version"] for one in traffics if one["kind"] == "stack" and is_own(one["version"])})
