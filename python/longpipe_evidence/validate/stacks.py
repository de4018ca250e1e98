"""Compares CUBIC in longpipe, quinn and noq over random paths, and finds implementations that deviate."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from statistics import median
from typing import Any, Final

from longpipe.run import simulate
from longpipe.scenario import Scenario

# The implementations, and the fields of their flows. Linux's profile uses RACK (RFC 8985), which like QUIC (RFC 9002)
# has a time threshold for losses.
IMPLEMENTATIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "longpipe": {"traffic": "greedy", "tcp": {"profile": "linux-6", "congestion": "cubic", "mss": "1440 B"}},
    **{
        stack: {"traffic": {"kind": "stack", "stack": stack, "congestion": "cubic", "window": "64 MiB"}}
        for stack in ("quinn", "noq")
    },
}
RATES_MBITS: Final = (2, 5, 10, 20, 50)
ROUND_TRIPS_MS: Final = (10, 20, 40, 80, 150, 300)
BUFFERS_BDP: Final = (0.3, 0.5, 1, 2)
# Smallest buffer [packets], and the length of a full packet [bytes].
MIN_PACKETS: Final = 2
PACKET_BYTES: Final = 1480
# Difference from the median goodput, as a share of it, above which an implementation deviates.
WITHIN: Final = 0.05


def draw(seed: int) -> dict[str, float]:
    """Draws a path: rate, round-trip time and buffer."""
    random = Random(f"stacks {seed}")  # noqa: S311 - not used for cryptography
    return {
        "rate_mbits": random.choice(RATES_MBITS),
        "round_trip_ms": random.choice(ROUND_TRIPS_MS),
        "buffer_bdp": random.choice(BUFFERS_BDP),
    }


def scenario(path: Mapping[str, float], implementation: str, duration_s: float) -> Scenario:
    """Returns one flow of an implementation over a path."""
    return Scenario(
        defaults="1996",
        **{
            "framing": "ip",
            "duration": f"{duration_s:g} s",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "access_rate": "1 Gbit/s",
                "trunk_rate": f"{path['rate_mbits']:g} Mbit/s",
                "trunk_delay": f"{path['round_trip_ms'] / 2:g} ms",
            },
            "switch": {"buffer": _buffer(path)},
            **IMPLEMENTATIONS[implementation],
        },
    )


def _buffer(path: Mapping[str, float]) -> str:
    """Returns the buffer of a path, which holds at least `MIN_PACKETS` packets."""
    packets = path["buffer_bdp"] * 1e3 * path["rate_mbits"] * path["round_trip_ms"] / 8 / PACKET_BYTES
    return f"{path['buffer_bdp']:g} BDP" if packets >= MIN_PACKETS else f"{MIN_PACKETS} packets"


def deviating(goodputs: Mapping[str, float]) -> list[str]:
    """Returns the implementations whose goodput differs from the median of all by more than `WITHIN`."""
    middle = median(goodputs.values())
    return [name for name, goodput in goodputs.items() if abs(goodput - middle) > WITHIN * middle]


def run(seeds: Sequence[int], duration_s: float) -> Iterator[dict[str, Any]]:
    """Yields rows: path, each implementation's goodput [Mbit/s] and share of lost packets, and those that deviate."""
    for seed in seeds:
        path = draw(seed)
        goodputs: dict[str, float] = {}
        diagnostics: dict[str, float | str] = {}
        for name in IMPLEMENTATIONS:
            result = simulate(scenario(path, name, duration_s), seed=seed)
            flow = result.flows.iloc[0]
            goodputs[name] = float(flow.throughput_bps) / 1e6
            diagnostics[f"{name}_lost"] = float(flow.retransmitted_segments / max(1, flow.sent_segments))
            # The reason why a connection ended early.
            diagnostics[f"{name}_closed"] = str(result.stacks.closed[0]) if len(result.stacks) else ""
        yield {"seed": seed, **path, **goodputs, **diagnostics, "deviating": " ".join(deviating(goodputs))}
