"""Pictures of one run over time, and of a study over its factors: each a function, its data step separate."""

from longpipe.pictures.compare import compare
from longpipe.pictures.delay import delay, delay_cdf, drops
from longpipe.pictures.network import network
from longpipe.pictures.path import path
from longpipe.pictures.queue import queue
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.rtt import rtt
from longpipe.pictures.sequence import sequence
from longpipe.pictures.share import shares
from longpipe.pictures.sweep import heat, sweep
from longpipe.pictures.throughput import throughput
from longpipe.pictures.window import window

__all__ = [
    "Recorded",
    "compare",
    "delay",
    "delay_cdf",
    "drops",
    "heat",
    "network",
    "path",
    "queue",
    "rtt",
    "sequence",
    "shares",
    "sweep",
    "throughput",
    "window",
]
