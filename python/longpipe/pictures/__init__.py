"""Pictures of one run over time: each a function of its traces, its data step separate."""

from longpipe.pictures.queue import queue
from longpipe.pictures.recorded import Recorded
from longpipe.pictures.rtt import rtt
from longpipe.pictures.sequence import sequence
from longpipe.pictures.throughput import throughput
from longpipe.pictures.window import window

__all__ = ["Recorded", "queue", "rtt", "sequence", "throughput", "window"]
