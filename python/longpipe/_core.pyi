from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

__all__ = [
    "MAX_CELLS",
    "Ack",
    "BoundedQuantity",
    "ControlError",
    "DefectError",
    "DelayStatistics",
    "Dimension",
    "Endpoint",
    "Environments",
    "Event",
    "Facts",
    "Grant",
    "Interval",
    "LiveWatch",
    "Lost",
    "MemoryLimitError",
    "Rules",
    "ScenarioError",
    "Sent",
    "StackDefectError",
    "Topology",
    "__engine__",
    "__version__",
    "check_buffer",
    "compiled_grant_fields",
    "control_hooks",
    "descriptions",
    "drop_causes",
    "kind_facts",
    "live_alone",
    "live_replay",
    "live_run",
    "misplaced",
    "module_calls",
    "module_is_loading",
    "module_name",
    "queue_names",
    "register_class",
    "register_linux",
    "register_module",
    "register_own_object",
    "register_own_program",
    "register_stacks",
    "result_tables",
    "run",
    "trace_names",
    "variant_names",
]

__version__: str
__engine__: str
MAX_CELLS: int

class ControlError(RuntimeError): ...
class DefectError(RuntimeError): ...
class MemoryLimitError(RuntimeError): ...
class ScenarioError(ValueError): ...
class StackDefectError(RuntimeError): ...

def run(
    scenario_json: str,
    seed: int,
    progress: Callable[[float], None] | None = None,
    captures: Sequence[tuple[str, int, str]] = ...,
    memory_bytes: int = ...,
    *,
    keep_state: bool = ...,
    threads: int = ...,
    if_faster: bool = ...,
) -> dict[str, Any]: ...

@final
class DelayStatistics:
    def since(self, earlier: DelayStatistics) -> DelayStatistics: ...
    def quantile(self, share: float) -> float: ...

def result_tables() -> list[tuple[str, list[tuple[str, str, str | None, str]]]]: ...
def trace_names() -> list[tuple[str, list[str]]]: ...
def drop_causes() -> list[tuple[str, list[str], str, str]]: ...
def variant_names() -> dict[str, list[str]]: ...
def kind_facts() -> str: ...
def descriptions() -> str: ...
def queue_names(scenario_json: str) -> list[tuple[str, str]]: ...
def register_module(digest: str, file: str | PathLike[str], name: str) -> None: ...
def register_class(
    digest: str,
    name: str,
    create: Callable[[Sequence[tuple[str, str]], int, bool], tuple[object, int]],
    hooks: dict[str, int],
    interval: tuple[str, float] | None,
    wants: int,
    base: str | None,
    steers: str | None,
) -> None: ...
def control_hooks() -> list[str]: ...
def compiled_grant_fields() -> list[str]: ...
def register_stacks(file: str | PathLike[str]) -> str: ...
def register_linux(
    program: str | PathLike[str],
    preload: str | PathLike[str],
    folder: str | PathLike[str],
    modules: str | PathLike[str],
    environment: tuple[str | PathLike[str], str, str | PathLike[str]],
) -> None: ...
def register_own_object(digest: str, file: str | PathLike[str]) -> str: ...
def register_own_program(digest: str, words: Sequence[str]) -> None: ...
def module_calls() -> int: ...
def module_is_loading() -> bool: ...
def module_name(file: str | PathLike[str], shown: str, parameters: Sequence[tuple[str, str]], hz: int) -> str: ...

@final
class Ack:
    """An ACK, after loss recovery has processed it; unknown values are NaN."""

    @property
    def now(self) -> float:
        """Time since the start of the run [s]."""

    @property
    def acked(self) -> float:
        """Bytes by which SND.UNA advanced; 0 of a duplicate ACK."""

    @property
    def delivered(self) -> float:
        """Bytes newly known to have arrived, including those that SACK blocks report."""

    @property
    def lost(self) -> float:
        """Bytes newly declared lost."""

    @property
    def marked(self) -> float:
        """Bytes that arrived with an ECN mark, as far as the receiver reports."""

    @property
    def in_flight_before(self) -> float:
        """Bytes in flight before this ACK."""

    @property
    def in_flight(self) -> float:
        """Bytes in flight after this ACK."""

    @property
    def most_in_flight(self) -> float:
        """Largest number of bytes in flight in the latest round."""

    @property
    def window(self) -> float:
        """Congestion window now [byte]."""

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold now [byte]."""

    @property
    def mss(self) -> float:
        """Payload of a full segment [byte]."""

    @property
    def rtt(self) -> float:
        """RTT sample of this ACK [s]."""

    @property
    def srtt(self) -> float:
        """Smoothed RTT [s]."""

    @property
    def min_rtt(self) -> float:
        """Smallest RTT of the connection [s]."""

    @property
    def delivery_rate(self) -> float:
        """Delivery rate sample [bit/s], if the class sets measures_rate."""

    @property
    def delay(self) -> float:
        """One-way delay [s], if the class sets measures_delay."""

    @property
    def pacing_delay(self) -> float:
        """Time until the pacer lets the next segment leave [s]."""

    @property
    def una(self) -> float:
        """First unacknowledged byte, SND.UNA."""

    @property
    def nxt(self) -> float:
        """Next byte to send, SND.NXT."""

    @property
    def receiver_window(self) -> float:
        """The receiver's window [byte]."""

    @property
    def grows(self) -> bool:
        """Whether the window may grow: no recovery is in progress."""

    @property
    def in_recovery(self) -> bool:
        """Whether the sender is in fast recovery."""

    @property
    def after_timeout(self) -> bool:
        """Whether the sender repairs losses after a timeout."""

    @property
    def window_limited(self) -> bool:
        """Whether the window had no room for another segment."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited the delivery rate sample."""

    @property
    def reordered(self) -> bool:
        """Whether a segment that was sent once arrived after a segment sent later; only with the recovery RACK."""

    @staticmethod
    def _fields() -> tuple[list[str], list[str]]: ...

@final
class Interval:
    """A monitor interval; unknown values are NaN."""

    @property
    def now(self) -> float:
        """Time since the start of the run [s]."""

    @property
    def duration(self) -> float:
        """Length of the interval [s]."""

    @property
    def acks(self) -> float:
        """Number of ACKs."""

    @property
    def acked(self) -> float:
        """Bytes by which SND.UNA advanced."""

    @property
    def delivered(self) -> float:
        """Bytes newly known to have arrived."""

    @property
    def lost(self) -> float:
        """Bytes declared lost."""

    @property
    def marked(self) -> float:
        """Bytes that arrived with an ECN mark."""

    @property
    def sent(self) -> float:
        """Bytes sent, including retransmissions."""

    @property
    def send_rate(self) -> float:
        """Bytes sent over the length [bit/s]."""

    @property
    def delivery_rate(self) -> float:
        """Bytes delivered over the length [bit/s]."""

    @property
    def loss_rate(self) -> float:
        """Lost bytes as a share of lost and delivered bytes."""

    @property
    def rtt(self) -> float:
        """Mean of the RTT samples of SRTT, which include the receiver's delay of the ACK [s]."""

    @property
    def lowest_rtt(self) -> float:
        """Smallest RTT sample of the interval [s]."""

    @property
    def rtt_increase(self) -> float:
        """Mean RTT of the later half of the samples minus that of the earlier half [s]."""

    @property
    def srtt(self) -> float:
        """Smoothed RTT [s]."""

    @property
    def min_rtt(self) -> float:
        """Smallest RTT of the connection [s]."""

    @property
    def in_flight(self) -> float:
        """Bytes in flight."""

    @property
    def window(self) -> float:
        """Congestion window now [byte]."""

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold now [byte]."""

    @property
    def mss(self) -> float:
        """Payload of a full segment [byte]."""

    @property
    def in_recovery(self) -> bool:
        """Whether the sender is in fast recovery."""

    @property
    def after_timeout(self) -> bool:
        """Whether the sender repairs losses after a timeout."""

    @property
    def window_limited(self) -> bool:
        """Whether the window had no room for another segment."""

    @staticmethod
    def _fields() -> tuple[list[str], list[str]]: ...

@final
class Event:
    """A start, a reduction, or the end of a recovery."""

    @property
    def now(self) -> float:
        """Time since the start of the run [s]."""

    @property
    def window(self) -> float:
        """Congestion window now [byte]."""

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold now [byte]."""

    @property
    def in_flight(self) -> float:
        """Bytes sent and not acknowledged: SND.MAX - SND.UNA."""

    @property
    def mss(self) -> float:
        """Payload of a full segment [byte]."""

    @property
    def rtt(self) -> float:
        """RTT of the handshake [s]; NaN except in on_start."""

    @property
    def una(self) -> float:
        """First unacknowledged byte, SND.UNA."""

    @property
    def nxt(self) -> float:
        """Next byte to send, SND.NXT."""

    @property
    def receiver_window(self) -> float:
        """The receiver's window [byte]."""

    @staticmethod
    def _fields() -> tuple[list[str], list[str]]: ...

@final
class Sent:
    """A transmission."""

    @property
    def now(self) -> float:
        """Time since the start of the run [s]."""

    @property
    def sequence(self) -> float:
        """First byte."""

    @property
    def end(self) -> float:
        """First byte after the segment."""

    @property
    def in_flight(self) -> float:
        """Bytes in flight, including the segment."""

    @property
    def window(self) -> float:
        """Congestion window now [byte]."""

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold now [byte]."""

    @property
    def mss(self) -> float:
        """Payload of a full segment [byte]."""

    @property
    def retransmission(self) -> bool:
        """Whether any byte of it was sent before."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limits the data in flight."""

    @staticmethod
    def _fields() -> tuple[list[str], list[str]]: ...

@final
class Lost:
    """A transmission that is declared lost."""

    @property
    def now(self) -> float:
        """Time since the start of the run [s]."""

    @property
    def sequence(self) -> float:
        """First byte."""

    @property
    def end(self) -> float:
        """First byte after the segment."""

    @property
    def in_flight_when_sent(self) -> float:
        """Bytes in flight when it left, including it."""

    @property
    def lost_since_sent(self) -> float:
        """Bytes declared lost since it left, including it."""

    @property
    def delivered_before(self) -> float:
        """Bytes delivered before it left."""

    @property
    def delivered(self) -> float:
        """Bytes delivered up to now."""

    @property
    def window(self) -> float:
        """Congestion window now [byte]."""

    @property
    def mss(self) -> float:
        """Payload of a full segment [byte]."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited the data in flight when it left."""

    @staticmethod
    def _fields() -> tuple[list[str], list[str]]: ...

@final
class Grant:
    """A window, a slow-start threshold and a pacing rate; None leaves a value unchanged."""

    window: float | None
    """Congestion window [byte]."""
    ssthresh: float | None
    """Slow-start threshold [byte]."""
    rate: float | None
    """Pacing rate [bit/s]."""
    burst: int | None
    """Minimum burst that leaves at one instant [segment]; 2 if None."""

    def __new__(
        cls,
        window: float | None = None,
        ssthresh: float | None = None,
        rate: float | None = None,
        burst: int | None = None,
    ) -> Self: ...

@final
class Endpoint:
    def __new__(cls, tcp_json: str) -> Self: ...
    def write(self, count: int) -> None: ...
    def ack(
        self, now_ps: int, acknowledgement: int, blocks: Sequence[tuple[int, int]], echoes_mark: bool, window: int
    ) -> None: ...
    def next_timeout(self) -> int | None: ...
    def on_timeout(self, now_ps: int) -> None: ...
    def poll(self, now_ps: int) -> list[tuple[int, int, bool]]: ...
    def info(self) -> dict[str, int]: ...

@final
class Rules:
    def __new__(cls, rules_json: str) -> Self: ...
    def problems(self, part_json: str) -> list[tuple[int, str]]: ...

def misplaced(cells: bool, kind: str, unit: str | None) -> str | None: ...

@final
class Facts:
    def __new__(cls, facts_json: str) -> Self: ...

@final
class Topology:
    def __new__(cls, network_json: str) -> Self: ...
    def parts(self) -> list[tuple[int, int | None]]: ...
    def slowest_bps(self, flow: int) -> int | None: ...
    def resolve(
        self, facts: Facts, settings_json: str
    ) -> tuple[list[tuple[int, int, int]], list[tuple[list[int], list[int]]], list[int], str]: ...
    def violated(
        self, facts: Facts, settings_json: str, names: Sequence[Sequence[str]]
    ) -> list[tuple[int, list[str]]]: ...

@disjoint_base
class Dimension:
    def __new__(cls, name: str, *, unlimited: bool = False) -> Self: ...
    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def base(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    @property
    def example(self) -> str: ...
    @property
    def unlimited(self) -> bool: ...
    def scales(self) -> list[tuple[str, int]]: ...
    def number_and_unit(self, text: str) -> tuple[str, str]: ...
    def parse(self, text: str) -> int: ...
    def canonical(self, text: str) -> str: ...
    def format(self, value: int) -> str: ...
    def accepts(self) -> str: ...
    def names(self) -> list[str]: ...
    def knows(self, unit: str) -> bool: ...
    def meant(self, text: str) -> str: ...

@final
class BoundedQuantity:
    def __new__(cls, dimension: Dimension, low: str, high: str, *, auto: bool = False) -> Self: ...
    def check(self, text: str) -> str: ...

def check_buffer(text: str) -> str: ...

@final
class Environments:
    def __new__(cls, count: int, agents: int, steers: str, step: tuple[str, float], threads: int) -> Self: ...
    @staticmethod
    def features() -> list[str]: ...
    @staticmethod
    def derived() -> list[str]: ...
    @staticmethod
    def extend(
        measured: NDArray[np.float64],
        lowest_mean_rtt: NDArray[np.float64],
        highest_delivery_rate: NDArray[np.float64],
    ) -> NDArray[np.float64]: ...
    def begin(self, number: int, scenario_json: str, seed: int, flows: Sequence[int]) -> None: ...
    def measure(self, measured: NDArray[np.float64]) -> None: ...
    def step(
        self,
        factors: NDArray[np.float64],
        active: NDArray[np.bool_],
        measured: NDArray[np.float64],
        alive: NDArray[np.bool_],
        complete: NDArray[np.bool_],
    ) -> None: ...

@final
class LiveWatch:
    def __init__(self) -> None: ...
    def read(self) -> dict[str, Any]: ...

def live_alone(lasts_ns: int, real_time: bool) -> dict[str, float | None]: ...
def live_run(
    scenario_json: str,
    seed: int,
    hosts: Sequence[tuple[Sequence[str], int, bytes | None]],
    ways: Sequence[tuple[int, int, int, int]],
    longest: int,
    options: tuple[int, int, bool, int | None],
    stop: int,
    watch: LiveWatch,
    record: str | None = None,
    capture: tuple[str, list[str]] | None = None,
) -> dict[str, Any]: ...
def live_replay(scenario_json: str, seed: int, file: str, offset: int) -> dict[str, Any]: ...
