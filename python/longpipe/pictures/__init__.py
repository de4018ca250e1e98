"""Pictures of runs over time, and of studies over their factors; each has a separate function for its data."""

from longpipe.pictures.compare import compare
from longpipe.pictures.completions import completion_points, slowdowns
from longpipe.pictures.delay import delay, delay_cdf, delay_points, drop_counts, drops
from longpipe.pictures.events import loss_events, phases, slow_start_exits
from longpipe.pictures.network import network
from longpipe.pictures.overlays import overlay
from longpipe.pictures.path import path
from longpipe.pictures.queue import queue, queue_by_flow
from longpipe.pictures.rates import control_steps, rates
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.rtt import rtt, rtt_points
from longpipe.pictures.sequence import sequence, sequence_events
from longpipe.pictures.share import shares
from longpipe.pictures.share_of_time import time_shares
from longpipe.pictures.sweep import heat, sweep, sweep_means
from longpipe.pictures.throughput import throughput, throughput_series
from longpipe.pictures.window import window, window_steps

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
    "heat",
    "loss_events",
    "network",
    "overlay",
    "path",
    "phases",
    "queue",
    "queue_by_flow",
    "rates",
    "rtt",
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
