"""A real protocol stack at both ends of a flow: QUIC implementations, in the virtual time of the run."""

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
# Congestion controls that each stack has; the BBR of quinn is version 1, that of noq version 3.
CONTROLS: Final[Mapping[str, tuple[str, ...]]] = {
    "quinn": ("cubic", "reno", "bbr"),
    "noq": ("cubic", "reno", "bbr3"),
}
# Receive window of a stream in both stacks, by their default [bytes].
_WINDOW: Final = 1_250_000


class Stack(Model):
    """A real QUIC stack at both ends: its congestion control, timers, loss recovery and TLS; needs longpipe[stacks]."""

    kind: Literal["stack"] = "stack"
    stack: Literal["quinn", "noq"] = Field(
        description="The implementation: quinn (quinn-proto 0.11.19) or noq (noq-proto 1.4.0)"
    )
    congestion: Literal["cubic", "reno", "bbr", "bbr3"] = Field(
        default="cubic", description="Its congestion control; bbr is quinn's (version 1), bbr3 is noq's"
    )
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
    longest_packet: PathMtu = Field(
        default="1480 B",
        description="Length up to which the stack searches for the longest IP packet [bytes]; it begins with 1228 B",
    )
    crypto: Literal["tls", "null"] = Field(
        default="tls", description="TLS 1.3 with AES-128-GCM, or null: packets of the same lengths without it"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.congestion not in CONTROLS[self.stack]:
            raise ValueError(f"congestion: {self.congestion}; {self.stack} has {', '.join(CONTROLS[self.stack])}")
        if self.workload == "requests" and self.size is None:
            raise ValueError("size: absent; requests need the length of a response")
        return self


def is_own(version: str) -> bool:
    """Returns whether the version of a stack in a resolved scenario is the digest of one of the user's own."""
    return len(version) == 64


def core_stack(stack: Stack) -> dict[str, Any]:
    """Converts a stack for the core, which passes the settings on."""
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


def stack_tcp(stack: Stack) -> Tcp:
    """Returns TCP fields of a flow with a stack. They only tell the length of its packets and its window."""
    return stack_tcp_of(SIZE.parse(stack.longest_packet), None if stack.window is None else SIZE.parse(stack.window))


@lru_cache
def stack_tcp_of(mtu: int, window: int | None) -> Tcp:
    """Returns TCP fields for IP packets of up to `mtu` bytes and a window [bytes], the stacks' default if None."""
    window, mss = _WINDOW if window is None else window, mtu - packet_bytes(0, timestamps=False)
    return Tcp(mss=f"{mss} B", receiver_window=f"{max(window, 2 * mss)} B", timer=Fine())


def stacks_of(resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns name and version of the stacks of `longpipe[stacks]` that a resolved scenario uses."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    stacks = {(one["stack"], one["version"]) for one in traffics if one["kind"] == "stack"}
    return sorted((name, version) for name, version in stacks if not is_own(version))


def own_stacks_of(resolved: Mapping[str, Any]) -> list[str]:
    """Returns the digests of the user's own stacks that a resolved scenario uses."""
    traffics: Iterable[Mapping[str, Any]] = (flow["traffic"] for flow in resolved["flows"])
    return sorted({one["version"] for one in traffics if one["kind"] == "stack" and is_own(one["version"])})
