"""The connections of RFC 9438's tables: a path that loses every n-th segment exactly, and that has no queue."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from longpipe.result import Result, duration_s
from longpipe.scenario import Scenario
from longpipe.units import SIZE
from longpipe_evidence.papers.paper import published_data

ID: Final = "rfc-9438"
MSS: Final = 1000
# Seed of the only run of each connection: its losses are at fixed segments, so that the seed has no effect.
SEED: Final = 1

_CUBIC: Final = {"kind": "cubic", "rules": "rfc-9438", "hystart": "none", "fast_convergence": False}
# Controllers of the RFC's columns. CUBIC has no fast convergence (section 4.7), because the printed means are those of
# a single flow, and fast convergence serves competing ones.
CONTROLS: Final[dict[str, dict[str, object]]] = {
    "reno": {"kind": "aimd"},
    "highspeed": {"kind": "highspeed", "rules": "rfc-3649"},
    "cubic-0.04": {**_CUBIC, "scaling": 0.04},
    "cubic-0.4": {**_CUBIC, "scaling": 0.4},
    "cubic-4": {**_CUBIC, "scaling": 4.0},
}
NAMES: Final = {
    "reno": "Reno",
    "highspeed": "HSTCP",
    "cubic-0.04": "CUBIC, C = 0.04",
    "cubic-0.4": "CUBIC, C = 0.4",
    "cubic-4": "CUBIC, C = 4",
}
# Minimum loss rate that is simulated: at a lower one, six losses take more than 12 million segments.
MIN_LOSS_RATE: Final = 5e-7
# Number of segments of a run, unless fewer or more are needed for MIN_LOSSES to MAX_LOSSES losses.
SEGMENTS: Final = 2_500_000
MIN_LOSSES: Final = 6
MAX_LOSSES: Final = 100
# Ratio of the window at a loss to the mean window, about that of CUBIC (RFC 9438 section 5.1): the window
# C (t - K)^3 + W_max begins at 0.7 W_max, has the mean W_max (1 - 0.3 / 4), and 1 / 0.925 = 1.08.
PEAK_TO_MEAN: Final = 1.08
# Ratio of the segments sent in a slow start to the window at which it ends: a window that doubles every round trip
# from w_0 to W takes W + W/2 + W/4 + ... < 2 W segments, and the rest is a margin.
SLOW_START_SEGMENTS: Final = 2.1
# Ratio of the number of losses of the path to that in the run, for windows that are much larger than the printed ones.
SPARE_LOSSES: Final = 3
# Ratio of the run's duration to the time in which the printed window sends its segments.
DURATION_MARGIN: Final = 1.2

BASE: Final = Scenario(defaults="1996").with_(
    **{
        "framing": "ip",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Tbit/s",
            "trunk_rate": "100 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
        },
        "switch.buffer": "1000000 packets",
        "tcp.profile": "linux-6",
        "tcp.mss": f"{MSS} B",
        "tcp.receiver_window": "1 GiB",
        "tcp.ack": "immediate",
    }
)


@dataclass(frozen=True)
class Connection:
    """One number of a table: RTT [ms], loss rate, controller, and the printed mean window [segment].

    The run uses the printed window only for the end of slow start, before which nothing is lost, and for its duration.
    """

    round_trip_ms: int
    loss: float
    control: str
    window: float

    @property
    def name(self) -> str:
        """Returns the name of the connection's scenario, such as "reno 100 ms p=0.01"."""
        return f"{self.control} {self.round_trip_ms} ms p={self.loss:g}"

    @property
    def period(self) -> int:
        """Returns the number of segments from one loss to the next."""
        return round(1 / self.loss)

    @property
    def losses(self) -> int:
        """Returns the number of losses in the run."""
        return min(MAX_LOSSES, max(MIN_LOSSES, SEGMENTS // self.period))

    def scenario(self, **changes: object) -> Scenario:
        """Returns the connection as a scenario, with changed (dotted) fields."""
        at_loss = PEAK_TO_MEAN * self.window
        first_loss = int(SLOW_START_SEGMENTS * at_loss)
        indices = [first_loss + self.period * loss for loss in range(SPARE_LOSSES * self.losses)]
        round_trips = DURATION_MARGIN * self.losses * self.period / self.window
        seconds = round_trips * self.round_trip_ms / 1000
        return BASE.with_(
            **{
                "name": f"{ID} {self.name}",
                "duration": f"{round(seconds, 3)} s",
                "network.trunk_delay": f"{self.round_trip_ms / 2} ms",
                "network.trunk_loss": {"kind": "packets", "indices": indices},
                "tcp.initial_ssthresh": f"{int(at_loss * MSS)} B",
                "tcp.congestion": CONTROLS[self.control],
                **changes,
            }
        )

    def bernoulli(self) -> dict[str, object]:
        """Returns the change to independent losses with the same rate."""
        return {"network.trunk_loss": {"kind": "bernoulli", "probability": self.loss}}


def measure(result: Result, round_trip_ms: int) -> dict[str, float]:
    """Returns `window`, segments delivered per RTT over the whole run, and `timeouts`."""
    delivered = float(result.flows["delivered_bytes"].sum()) / SIZE.parse(result.scenario.tcp.mss)
    round_trips = duration_s(result.scenario) * 1000 / round_trip_ms
    return {"window": delivered / round_trips, "timeouts": int(result.flows["timeouts"].sum())}


def published() -> pd.DataFrame:
    """Returns every number of Tables 1 to 3: `table`, `round_trip_ms`, `loss`, `control`, `window` [segment]."""
    return published_data(ID, "published.csv")


def simulated() -> list[Connection]:
    """Returns the connections of Tables 1 to 3 that are simulated, in the order of the tables."""
    printed = map(connection, published().to_dict("records"))
    return [other for other in printed if other.loss >= MIN_LOSS_RATE]


def connection(row: dict[Any, Any]) -> Connection:
    """Returns the connection of a row of `published`."""
    return Connection(int(row["round_trip_ms"]), float(row["loss"]), str(row["control"]), float(row["window"]))
