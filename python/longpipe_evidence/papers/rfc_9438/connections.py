"""The connections of RFC 9438's tables: a path with an exact loss rate and without queues."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from longpipe.result import Result, duration_s
from longpipe.scenario import Scenario
from longpipe.units import SIZE
from longpipe_evidence.papers.paper import published_data

ID: Final = "rfc-9438"
MSS: Final = 1000
# Nothing is random, so a seed has no effect.
SEED: Final = 1

_CUBIC: Final = {"kind": "cubic", "rules": "rfc-9438", "hystart": "none", "fast_convergence": False}
# The RFC's columns. Fast convergence (section 4.7), which is intended for competing flows, is not part of its means.
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
# Minimum loss rate that is simulated, because a cycle from one loss to the next takes 1 / rate segments.
LEAST_LOSS: Final = 5e-7
LEAST_LOSSES: Final = 6
MOST_LOSSES: Final = 100
SEGMENTS: Final = 2_500_000
# Ratio of the window at a loss to the mean window, and number of segments of a slow start that ends there.
PEAK: Final = 1.08
SLOW_START: Final = 2.1

BASE: Final = Scenario().with_(
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

    The printed window only determines where slow start ends, and the length of the run.
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
        return min(MOST_LOSSES, max(LEAST_LOSSES, SEGMENTS // self.period))

    def scenario(self, **changes: object) -> Scenario:
        """Returns the connection as a scenario, with changed (dotted) fields."""
        at_loss = PEAK * self.window
        begins = int(SLOW_START * at_loss)
        # Allows for windows that are much larger than the printed ones.
        indices = [begins + self.period * loss for loss in range(3 * self.losses)]
        seconds = 1.2 * self.losses * self.period / self.window * self.round_trip_ms / 1000
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
    found = map(connection, published().to_dict("records"))
    return [one for one in found if one.loss >= LEAST_LOSS]


def connection(row: dict[Any, Any]) -> Connection:
    """Returns the connection of a row of `published`."""
    return Connection(int(row["round_trip_ms"]), float(row["loss"]), str(row["control"]), float(row["window"]))
