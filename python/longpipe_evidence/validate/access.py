"""Compares medium access with closed forms and independent simulations: random access, requests, HARQ, fairness.

The numbers are rows of `tests/data/access`, which a program without longpipe computed (`tests/access_witnesses`).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

import pandas as pd

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.inputs import read_text
from longpipe_evidence.validate import cellular, docsis

FOLDER: Final = Path("tests/data/access")
COLUMNS: Final = ("quantity", "conditions", "value", "error", "tolerance", "source", "how")
# Number of standard errors within which a mean of the model is that of the row.
SIGMAS: Final = 3
# Superframe with 100 bursts of waveform 13, which have 123 bytes, and the time between two datagrams, each of which has
# a superframe of its own: seven superframes.
SUPERFRAME_S: Final = 0.01
BURST_BYTES: Final = 123
SLOTS: Final = 100
INTERVAL_S: Final = 0.07
HEADER_BYTES: Final = 28
PAYLOAD_BYTES: Final = 12
# First packets: their payload [byte], which at 1 kbit/s gives an interval of 4.024 s, so that they have 25 phases
# within a superframe of 100 ms.
FIRST_BYTES: Final = 475
FIRST_INTERVAL_S: Final = 8 * (FIRST_BYTES + HEADER_BYTES) / 1000
# One-way delays [ms] around the one of the row: they change the phase of slots at the terminal.
SHIFTS_MS: Final = tuple(-47.5 + 5 * number for number in range(20))
# Quantities all of whose rows have a counterpart.
OTHERS: Final = (
    "DVB-RCS2 first packet ms",
    "LTE or NR first packet ms",
    "HARQ mean added ms",
    "proportional fair gain",
)
# Runs that measure quantities of links other than DVB-RCS2.
QUANTITIES: Final = {**cellular.QUANTITIES, **docsis.QUANTITIES}
# Parameters of a terminal in each case, and the one-way delay [ms] of the runs. SNS3 plans for terminals at up to
# 280 ms.
CASES: Final[Mapping[str, tuple[dict[str, Any], float]]] = {
    "cra": ({"constant_rate": "47920 bit/s", "requests": "none"}, 270),
    "random-access": ({"random_access": "crdsa", "requests": "none"}, 270),
    "on-demand": ({}, 270),
    "periodic": ({"on_demand": False}, 270),
    "sns3": ({"preset": "sns3"}, 230),
}


@dataclass(frozen=True)
class Compared:
    """A number of a row, and that of the model with its standard error."""

    name: str
    value: float
    tolerance: float
    model: float
    error: float

    @property
    def holds(self) -> bool:
        """Returns whether the numbers differ by at most the tolerance and `SIGMAS` standard errors of the model."""
        return abs(self.model - self.value) <= math.hypot(self.tolerance, SIGMAS * self.error)


def rows(folder: Path) -> pd.DataFrame:
    """Returns the rows that have a counterpart in the model; raises ScenarioError for a file without the columns."""
    every = pd.concat([_table(folder / f"{name}.csv") for name in ("random-access", "delays")], ignore_index=True)
    crdsa = (every["quantity"] == "CRDSA loss") & every["conditions"].str.contains("users=poisson")
    aloha = (every["quantity"] == "slotted ALOHA throughput") & every["conditions"].str.contains("stations=infinite")
    # The other slots for requests are those of further users of a cell.
    first_user = (every["quantity"] == "NR first packet ms") & every["conditions"].str.contains("sr-slot=7")
    # MAP intervals of 1 ms are no whole number of frames, to which the model rounds them.
    loops = every["quantity"].isin(list(docsis.QUANTITIES)) & every["conditions"].str.contains("map-interval=2")
    whole = every["quantity"].isin(list(OTHERS))
    return every[crdsa | aloha | first_user | loops | whole]


def _table(file: Path) -> pd.DataFrame:
    needs = "a table of tests/data/access"
    lines = [line for line in read_text(file, needs).splitlines() if not line.startswith("#")]
    if not lines or lines[0].split(",") != list(COLUMNS):
        raise ScenarioError(f"FOLDER: {str(file)!r}; needs the columns {','.join(COLUMNS)}")
    return pd.read_csv(io.StringIO("\n".join(lines)), dtype={"tolerance": str})


def compare(rows: pd.DataFrame, packets: int) -> Iterator[Compared]:
    """Yields the comparison of each row, with `packets` datagrams per load, and fewer for each delay."""
    for row in rows.to_dict("records"):
        conditions = dict(pair.split("=", 1) for pair in row["conditions"].split(" "))
        value, tolerance = float(row["value"]), str(row["tolerance"])
        if tolerance.endswith("%"):
            tolerance = str(value * float(tolerance[:-1]) / 100)
        if measured := QUANTITIES.get(row["quantity"]):
            name, model, error = measured(conditions, packets)
        elif "case" in conditions:
            name = f"first packet, {conditions['case']}: ms"
            model, error = first_packet_ms(conditions["case"], float(conditions["one-way"]), max(10, packets // 1000))
        else:
            load = float(conditions["G"])
            replicas = int(conditions.get("replicas", 1))
            model = lost_share(load, replicas, packets)
            name, lost, scale = f"CRDSA {replicas}, G {load:g}: loss", value, 1.0
            if replicas == 1:
                name, lost, scale = f"ALOHA, G {load:g}: throughput", 1 - value / load, load
                model = load * (1 - model)
            # The standard error of the number that is expected, because few losses do not determine their own.
            error = scale * math.sqrt(lost * (1 - lost) / packets)
        yield Compared(name, value, float(tolerance), model, error)


def lost_share(load: float, replicas: int, packets: int) -> float:
    """Returns the share of datagrams that random access at a load of other terminals loses."""
    kind = {"random_access": "slotted-aloha"} if replicas == 1 else {"random_access": "crdsa", "replicas": replicas}
    access = {
        "kind": "dvb-rcs2",
        "superframe": f"{SUPERFRAME_S} s",
        "waveform": 13,
        "requests": "none",
        "random_access_slots": SLOTS,
        "random_access_load": load,
        **kind,
    }
    bits = 8 * (HEADER_BYTES + PAYLOAD_BYTES)
    traffic = {"kind": "cbr", "rate": f"{round(bits / INTERVAL_S)} bit/s", "payload": f"{PAYLOAD_BYTES} B"}
    rate = f"{round(8 * SLOTS * BURST_BYTES / SUPERFRAME_S)} bit/s"
    result = simulate(_scenario(access, traffic, rate, "250 ms", packets * INTERVAL_S))
    counted = result.datagrams.iloc[0]
    # The last datagrams have not arrived at the end.
    share = 1 - counted["received"] / (counted["sent"] - math.ceil(0.3 / INTERVAL_S))
    return min(1.0, max(0.0, float(share)))


def first_packet_ms(case: str, one_way_ms: float, packets: int) -> tuple[float, float]:
    """Returns the mean delay [ms] of datagrams that find an idle terminal, and its standard error over delays."""
    fields, delay_ms = CASES[case]
    means = []
    for shift_ms in SHIFTS_MS:
        access = {"kind": "dvb-rcs2", "waveform": 22, **fields}
        traffic = {"kind": "cbr", "rate": "1 kbit/s", "payload": f"{FIRST_BYTES} B"}
        own_ms = delay_ms + shift_ms
        result = simulate(_scenario(access, traffic, "2348 kbit/s", f"{own_ms} ms", packets * FIRST_INTERVAL_S))
        means.append(1e3 * result.datagrams.iloc[0]["mean_delay_s"] - shift_ms + one_way_ms - delay_ms)
    return fmean(means), stdev(means) / math.sqrt(len(means))


def _scenario(
    access: Mapping[str, Any], traffic: Mapping[str, Any], rate: str, delay: str, duration_s: float
) -> Scenario:
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Gbit/s",
        "trunk_rate": rate,
        "trunk_delay": delay,
        "access": dict(access),
    }
    return Scenario.model_validate(
        {"framing": "ip", "duration": f"{duration_s} s", "network": network, "traffic": dict(traffic)}
    )
