"""Pictures of runs over time, and of studies over their factors; each has a separate function for its data."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from longpipe.pictures.comparison import compare
    from longpipe.pictures.events import loss_events, phases, slow_start_exits
    from longpipe.pictures.kinds.completions import completion_points, slowdowns
    from longpipe.pictures.kinds.delay import delay, delay_cdf, delay_points, drop_counts, drops
    from longpipe.pictures.kinds.grants import grant_points, grants
    from longpipe.pictures.kinds.kind import Kind
    from longpipe.pictures.kinds.network import network
    from longpipe.pictures.kinds.path import path, path_series
    from longpipe.pictures.kinds.queue import queue, queue_by_flow
    from longpipe.pictures.kinds.rates import control_steps, rates
    from longpipe.pictures.kinds.rtt import rtt, rtt_points
    from longpipe.pictures.kinds.rtt_cdf import rtt_cdf
    from longpipe.pictures.kinds.sequence import sequence, sequence_events
    from longpipe.pictures.kinds.share import shares
    from longpipe.pictures.kinds.throughput import throughput, throughput_series
    from longpipe.pictures.kinds.window import window, window_steps
    from longpipe.pictures.overlays import overlay
    from longpipe.pictures.recorded import Recorded
    from longpipe.pictures.share_of_time import time_shares
    from longpipe.pictures.sweeps import heat, sweep, sweep_means

__all__ = [
    "Recorded",
    "compare",
    "completion_points",
    "control_steps",
    "delay",
    "delay_cdf",
    "delay_points",
    "drop_counts",
    "drops",
    "grant_points",
    "grants",
    "heat",
    "loss_events",
    "network",
    "overlay",
    "path",
    "path_series",
    "phases",
    "queue",
    "queue_by_flow",
    "rates",
    "rtt",
    "rtt_cdf",
    "rtt_points",
    "sequence",
    "sequence_events",
    "shares",
    "slow_start_exits",
    "slowdowns",
    "sweep",
    "sweep_means",
    "throughput",
    "throughput_series",
    "time_shares",
    "window",
    "window_steps",
]

# Pictures of `longpipe plot`, each with its module in `kinds`, which declares it (`PICTURES`). The function that draws
# a picture has the name of the picture.
KINDS: Final = {
    "window": "window",
    "sequence": "sequence",
    "queue": "queue",
    "throughput": "throughput",
    "rates": "rates",
    "rtt": "rtt",
    "rtt-cdf": "rtt_cdf",
    "delay": "delay",
    "delay-cdf": "delay",
    "drops": "delay",
    "grants": "grants",
    "shares": "share",
    "slowdowns": "completions",
    "path": "path",
}


def kind_of(name: str) -> "Kind":
    """Returns what a picture declares; `name` is in `KINDS`."""
    kind: Kind = import_module(f"{__name__}.kinds.{KINDS[name]}").PICTURES[name]
    return kind


if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Modules are imported on demand, because Matplotlib is slow to import.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            name: f"{__name__}.{module}"
            for module, names in {
                "comparison": ("compare",),
                "events": ("loss_events", "phases", "slow_start_exits"),
                "kinds.completions": ("completion_points",),
                "kinds.delay": ("delay_points", "drop_counts"),
                "kinds.grants": ("grant_points",),
                "kinds.network": ("network",),
                "kinds.path": ("path_series",),
                "kinds.queue": ("queue_by_flow",),
                "kinds.rates": ("control_steps",),
                "kinds.rtt": ("rtt_points",),
                "kinds.sequence": ("sequence_events",),
                "kinds.throughput": ("throughput_series",),
                "kinds.window": ("window_steps",),
                "overlays": ("overlay",),
                "recorded": ("Recorded",),
                "share_of_time": ("time_shares",),
                "sweeps": ("heat", "sweep", "sweep_means"),
            }.items()
            for name in names
        }
        | {name.replace("-", "_"): f"{__name__}.kinds.{module}" for name, module in KINDS.items()},
    )
    del lazy_attributes
