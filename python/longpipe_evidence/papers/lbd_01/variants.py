"""Effects of the open parameters of lbd-01: the published numbers under alternative settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe_evidence.papers.lbd_01.transfers import SEED, Transfer, measure, published

if TYPE_CHECKING:
    from longpipe.study import Runner


@dataclass(frozen=True)
class TransferVariant:
    """Alternative settings to try, as dotted scenario fields; each applies to every transfer."""

    name: str
    changes: Callable[[Transfer], Mapping[str, object]]


def _fixed(name: str, **changes: object) -> TransferVariant:
    return TransferVariant(name, lambda _: changes)


AS_REPRODUCED: Final = _fixed("none")
# The text gives B as the limit of the buffer, and the limit of ns-2 includes the packet in service.
READINGS: Final = (
    TransferVariant(
        "B with the packet in service", lambda transfer: {"switch.buffer": f"{transfer.buffer_packets} packets"}
    ),
)
VARIANTS: Final = (
    AS_REPRODUCED,
    _fixed("Reno's guard after timeouts alone", **{"tcp.reno.guard": True, "tcp.reno.guard_timeouts_only": True}),
    _fixed("Reno's guard", **{"tcp.reno.guard": True}),
    _fixed("timeouts halve Reno's inflated window", **{"tcp.reno.deflate_on_timeout": False}),
    _fixed("SACK's PIPE from the window", **{"tcp.sack.pipe": "window"}),
    _fixed("NewReno without its flywheel", **{"tcp.newreno.flywheel": False}),
    *READINGS,
    _fixed("access at 155.52 Mbit/s", **{"network.access_rate": "155.52 Mbit/s"}),
    _fixed("access at 1 Gbit/s", **{"network.access_rate": "1 Gbit/s"}),
    _fixed("timer expires on a tick", **{"tcp.timer.expires_on_tick": True}),
    _fixed("ticks at 0", **{"tcp.timer.phase": {"kind": "fixed", "at": "0 s"}}),
    _fixed("RTO of at least 1 s", **{"tcp.timer.min_rto": "10 ticks"}),
)

Measured = Mapping[Transfer, Mapping[str, float]]


def _complete(tcp: str, w_star: int, buffer: float) -> Callable[[Measured], float]:
    return lambda measured: measured[Transfer(w_star, buffer, tcp)]["completion_time_s"]


def _gain(tcp: str, w_star: int) -> Callable[[Measured], float]:
    # Utilization is inversely proportional to the completion time.
    return lambda measured: _complete(tcp, w_star, 0.25)(measured) / _complete(tcp, w_star, 0.5)(measured)


# Columns: the heading, the published value, and the function that computes the value from the runs.
QUANTITIES: Final[dict[str, tuple[tuple[str, int, float, str], Callable[[Measured], float]]]] = {
    "reno_t_c": (("completion_time", 640, 0.25, "reno"), _complete("reno", 640, 0.25)),
    "newreno_t_c": (("completion_time", 640, 0.25, "newreno"), _complete("newreno", 640, 0.25)),
    "sack_less_reno_t_c": (
        ("completion_time_difference_sack_reno", 640, 1.0, ""),
        lambda found: _complete("sack", 640, 1.0)(found) - _complete("reno", 640, 1.0)(found),
    ),
    "newreno_gain_320": (("buffer_gain", 320, 0.5, "newreno"), _gain("newreno", 320)),
    "newreno_gain_640": (("buffer_gain", 640, 0.5, "newreno"), _gain("newreno", 640)),
    "sack_gain_320": (("buffer_gain", 320, 0.5, "sack"), _gain("sack", 320)),
}
TRANSFERS: Final = (
    *(Transfer(640, buffer, "reno") for buffer in (0.25, 1.0)),
    *(Transfer(w_star, buffer, "newreno") for w_star in (320, 640) for buffer in (0.25, 0.5)),
    *(Transfer(320, buffer, "sack") for buffer in (0.25, 0.5)),
    Transfer(640, 1.0, "sack"),
)


def sensitivity(runner: Runner) -> pd.DataFrame:
    """Returns a row of published values and one per variant, with the columns `variant` and QUANTITIES."""
    jobs = {
        (variant.name, transfer): (transfer.scenario(**variant.changes(transfer)), SEED)
        for variant in VARIANTS
        for transfer in TRANSFERS
    }
    runner.complete(jobs.values())
    table = published().fillna({"tcp": ""})
    printed = {(row[0], row[1], row[2], row[3]): row[4] for row in table.itertuples(index=False)}
    rows = [{"variant": "published", **{name: printed[key] for name, (key, _) in QUANTITIES.items()}}]
    for variant in VARIANTS:
        measured = {transfer: measure(runner.require(*jobs[variant.name, transfer])) for transfer in TRANSFERS}
        rows.append({"variant": variant.name, **{name: follow(measured) for name, (_, follow) in QUANTITIES.items()}})
    return pd.DataFrame(rows)
