"""Pictures of one run over time, and of a study over its factors: each a function, its data step separate."""

from longpipe.pictures.compare import compare
from longpipe.pictures.network import network
from longpipe.pictures.path import path
from longpipe.pictures.queue import queue
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.rtt import rtt
from longpipe.pictures.sequence import sequence
from longpipe.pictures.sweep import heat, sweep
from longpipe.pictures.throughput import throughput
from longpipe.pictures.window import window

__all__ = [
    "Recorded",
    "compare",
    "heat",
    "network",
    "path",
    "queue",
    "rtt",
    "sequence",
    "sweep",
    "throughput",
    "window",
]
