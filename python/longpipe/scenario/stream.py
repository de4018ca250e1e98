"""Applications that write into a TCP socket over time: at a constant rate, or in bursts."""

from typing import Literal

from pydantic import Field

from longpipe.scenario.base import BurstTime, Delay, Model, Rate, WriteSize
from longpipe.scenario.datagrams import BurstTimes, Exponential
from longpipe.scenario.source import Source


class WriteBursts(Model):
    """Periods in which an application writes at its rate (on) or does not write (off)."""

    on: BurstTime = Field(default="500 ms", description="Mean duration of an on period [time]; ns-2 manual")
    off: Delay = Field(default="500 ms", description="Mean duration of an off period [time]; ns-2 manual")
    times: BurstTimes = Exponential.unchecked()


class Stream(Source):
    """An application that writes data at a constant rate into a TCP socket, always or in bursts."""

    kind: Literal["stream"] = "stream"
    rate: Rate = Field(description="Rate at which it writes payload [bit/s], as in '5 Mbit/s'")
    write: WriteSize | None = Field(default=None, description="Length of each write [bytes]; the MSS if absent")
    bursts: WriteBursts | None = Field(
        default=None, description="On and off periods of the writer; always on if absent"
    )
