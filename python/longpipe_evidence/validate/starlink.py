"""Compares the Starlink path with published measurements, number by number.

The measurements are the rows of `tests/data/starlink/measured.csv`, which was written before the model ran. `use` says
whether a number served to calibrate the model's parameters, is independent of them (judgement), or is only reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from statistics import mean, stdev
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.fit.series import POINTS, TRACES, simulated
from longpipe.inputs.frame import read_frame
from longpipe.scenario.points import Points
from longpipe.scenario.starlink import Site, Starlink
from longpipe.scenario.starlink_draws import Drawn
from longpipe.units import TIME

FILE: Final = Path("tests/data/starlink/measured.csv")
COLUMNS: Final = ("id", "quantity", "value", "unit", "year", "conditions", "use", "criterion", "source", "how")
PS: Final = 1e12
# Days of WetLinks, and hours of the day in UTC.
DAYS: Final = 180
# A ping test: about 250 pings (figure 6 has steps of 0.4 %); their interval is assumed.
PINGS: Final = 250
PING_INTERVAL_S: Final = 0.1
# WetLinks' mean excludes tests with larger losses.
LARGEST_LOSS: Final = 0.145
TEST_S: Final = 15
# Payload of an IP packet of 1500 bytes with TCP timestamps [byte], and its share.
MSS: Final = 1448
PAYLOAD: Final = MSS / 1500
# One-way delay between point of presence and server: assumed; WetLinks' bent pipe has none.
EXIT_S: Final = {2022: 5e-3, 2023: 5e-3, 2025: 4e-3}
# Messages of 5 to 25 kB, 25 per second, which are 3 Mbit/s (IMC '22), sent without pacing.
MESSAGES_PER_S: Final = 25
MESSAGE_PACKETS: Final = (4, 18)
MESSAGE_PACKET_S: Final = 1350 * 8 / 200e6
# Transmission time of a packet at the measured rate of a download, 125 Mbit/s.
PACKET_S: Final = 1500 * 8 / 125e6
CONTROLS: Final = (
    "linux-reno", "bic", "highspeed", "htcp", "hybla", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
# Goodput below which there is a fall [Mbit/s].
LOW_MBPS: Final = 10.0
Numbers = npt.NDArray[np.float64]
Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Effort:
    """Numbers of batches of tests, of tests in each, and of runs of each control."""

    batches: int
    tests: int
    runs: int


@dataclass(frozen=True)
class Compared:
    """A measured number, the model's with the half-width of its 95 % interval, and whether the criterion holds."""

    row: Mapping[str, Any]
    model: float
    half_width: float
    holds: bool | None


def read(file: Path) -> pd.DataFrame:
    """Returns the measured numbers. Raises ScenarioError for a file with other columns."""
    needs = f"the measured numbers, with the columns {','.join(COLUMNS)}"
    rows = read_frame(file, needs, texts=[name for name in COLUMNS if name not in ("value", "year")])
    if tuple(rows.columns) != COLUMNS:
        raise ScenarioError(f"FILE: {str(file)!r}; needs {needs}")
    return rows


def compare(rows: pd.DataFrame, effort: Effort, tell: Callable[[str], None]) -> Iterator[Compared]:
    """Yields each measured number with that of the model."""
    model: Samples = {}
    for group in GROUPS:
        tell(f"{group.__name__.replace('_', ' ')} ...")
        model |= group(effort)
    for record in rows.to_dict("records"):
        row = {str(name): value for name, value in record.items()}
        values = model[str(row["id"])]
        middle = mean(values)
        half = 2.0 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        yield Compared(row, middle, half, holds(str(row["criterion"]), float(row["value"]), middle))


def holds(criterion: str, value: float, model: float) -> bool | None:
    """Returns whether a model's number meets a criterion, None if there is none.

    `10%` bounds the relative deviation, `x1.5` the factor in either direction, `10..60` the number itself, and `>=3`
    or `>1` bounds it from below.
    """
    if criterion == "report":
        return None
    if criterion.endswith("%"):
        return abs(model / value - 1) <= float(criterion[:-1]) / 100
    if criterion.startswith("x"):
        factor = float(criterion[1:])
        return value / factor <= model <= value * factor
    if ".." in criterion:
        low, high = map(float, criterion.split(".."))
        return low <= model <= high
    if criterion.startswith(">="):
        return model >= float(criterion[2:])
    return model > float(criterion.removeprefix(">"))


# Tests without a transport protocol, from the series alone.


def tests_of_wetlinks(effort: Effort) -> Samples:
    """Rates and pings of tests of 15 s at random times of six months, in batches with a seed of their own."""
    samples: Samples = {}
    for batch in range(effort.batches):
        for name, value in _of_tests(drawn_tests(batch, effort.tests)).items():
            samples.setdefault(name, []).append(value)
        # The site whose parameters follow from those of Osnabrück and the medians of Enschede.
        for name, value in _of_tests(drawn_tests(batch, effort.tests, "enschede")).items():
            samples.setdefault(f"enschede-fitted-{name}", []).append(value)
    same = {"down-p25", "down-p50", "down-p75", "up-p25", "up-p50", "up-p75", "bent-pipe-p25", "bent-pipe-p50"}
    same |= {"bent-pipe-p75", "ping-lossless", "ping-mean", "ping-p90", "ping-p95", "ping-p99"}
    return samples | {f"enschede-{name}": samples[name] for name in same}


def drawn_tests(batch: int, count: int, site: Site = "osnabrueck") -> list[Test]:
    """Returns tests at random times of six months over a path with the batch as its seed."""
    times = Random(f"wetlinks/{batch}")  # noqa: S311 - a simulation
    return [Test(batch, times, site) for _ in range(count)]


class Test:
    """A test of WetLinks: the rates of its seconds down and up, the mean RTT of its pings, and their losses."""

    def __init__(self, seed: int, times: Random, site: Site) -> None:
        begin = datetime(2023, 9, 15, tzinfo=UTC) + timedelta(seconds=int(times.random() * DAYS * 86400))
        path = Starlink.unchecked(year=2023, site=site, seed=seed, begin=begin.isoformat())
        down, up = (Drawn("path", direction, TIME.parse("30 s")) for direction in (path, path.opposite()))
        self.hour = (begin.hour + path.utc_offset) % 24
        self.phase = (begin.second + 3) % TEST_S
        lost = [shares_of(direction.losses(), np.arange(0.005, TEST_S, 0.01)).mean() for direction in (down, up)]
        self.down, self.up = (
            PAYLOAD * (1 - loss) * np.array([rate for _, rate in direction.rates()][:TEST_S], dtype=float) / 1e6
            for direction, loss in zip((down, up), lost, strict=True)
        )
        sent = np.asarray((np.arange(PINGS) + times.random()) * PING_INTERVAL_S, dtype=float)
        rtt, arrives = _pings(down, up, sent, np.array([times.random() for _ in sent]))
        self.rtt_ms = 1e3 * float(rtt[arrives].mean()) if arrives.any() else math.nan
        self.lost = 1 - float(arrives.mean())


def _of_tests(tests: list[Test]) -> dict[str, float]:
    down, up = (np.array([getattr(test, name).mean() for test in tests]) for name in ("down", "up"))
    rtt, lost = (np.array([getattr(test, name) for test in tests]) for name in ("rtt_ms", "lost"))
    seconds = np.concatenate([test.down for test in tests])
    phases = np.concatenate([(test.phase + np.arange(TEST_S)) % TEST_S for test in tests])
    hours = np.array([test.hour for test in tests])
    rtt = rtt[~np.isnan(rtt)]
    quantiles = {
        f"{name}-p{percent}": float(np.percentile(values, percent))
        for name, values in (("down", down), ("up", up), ("bent-pipe", rtt))
        for percent in (25, 50, 75)
    }
    return quantiles | {
        **{f"second-p{percent:02}": float(np.percentile(seconds, percent)) for percent in (5, 50, 95)},
        "phase-first": float(np.median(seconds[phases == 0])),
        "phase-middle": float(np.median(seconds[(phases > 0) & (phases < TEST_S - 1)])),
        "phase-last": float(np.median(seconds[phases == TEST_S - 1])),
        "hour-5": float(np.median(down[np.abs(hours - 5) <= 1])),
        "hour-19": float(np.median(down[np.abs(hours - 19) <= 1])),
        "enschede-hours": float(np.median(down[np.abs(hours - 19) <= 1]) / np.median(down[np.abs(hours - 5) <= 1])),
        "ping-lossless": float(np.mean(lost == 0)),
        "ping-single": float(np.mean(np.round(lost * PINGS) == 1)),
        "ping-mean": 100 * float(lost[lost <= LARGEST_LOSS].mean()),
        **{f"ping-p{percent}": 100 * float(np.percentile(lost, percent)) for percent in (90, 95, 99)},
    }


def idle_and_messages(effort: Effort) -> Samples:
    """Idle RTTs of 2022 and 2025, and messages at 3 Mbit/s over the path of 2022."""
    samples: Samples = {}
    for batch in range(effort.batches):
        of_batch = _idle(2022, batch, effort.tests) | _messages(batch, effort.tests)
        recent = _idle(2025, batch, effort.tests)
        of_batch |= {"min-rtt-2025": recent["idle-min"], "idle-2025-p50": recent["idle-p50"]}
        for name, value in of_batch.items():
            samples.setdefault(name, []).append(value)
    return samples


def _windows(year: int, batch: int, count: int, span: str) -> Iterator[tuple[Drawn, Drawn, Random]]:
    """Yields both directions of a path at random times of half a year, and a generator of random numbers."""
    times = Random(f"{year}/{batch}")  # noqa: S311 - a simulation
    for _ in range(count):
        begin = datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=int(times.random() * DAYS * 86400))
        path = Starlink.unchecked(year=year, seed=batch, begin=begin.isoformat())
        down, up = (Drawn("path", direction, TIME.parse(span)) for direction in (path, path.opposite()))
        yield down, up, times


def _idle(year: int, batch: int, tests: int) -> dict[str, float]:
    rtts = []
    for down, up, times in _windows(year, batch, tests, "5 s"):
        sent = np.asarray(np.arange(5) + times.random() * 0.9, dtype=float)
        rtt, _ = _pings(down, up, sent, np.ones(len(sent)))
        rtts.append(1e3 * (rtt + 2 * EXIT_S[year]))
    every = np.concatenate(rtts)
    quantiles = {f"idle-p{percent}": float(np.percentile(every, percent)) for percent in (25, 50, 75)}
    return quantiles | {"idle-min": float(every.min())}


def _messages(batch: int, tests: int) -> dict[str, float]:
    lost: dict[str, list[float]] = {"down": [], "up": []}
    durations, rtts = [], []
    for down, up, times in _windows(2022, batch, tests, "61 s"):
        sent = np.array(
            [
                message / MESSAGES_PER_S + packet * MESSAGE_PACKET_S
                for message in range(60 * MESSAGES_PER_S)
                for packet in range(times.randint(*MESSAGE_PACKETS))
            ]
        )
        for name, delays in (("down", down), ("up", up)):
            gone = np.array([times.random() for _ in sent]) < shares_of(delays.losses(), sent)
            lost[name].append(float(gone.mean()))
            durations += [sent[last - 1] - sent[first] for first, last in _bursts(gone)]
        leaves = sent + delays_of(down, sent)
        rtts.append(leaves - sent + delays_of(up, leaves) + 2 * EXIT_S[2022])
    rtt = 1e3 * np.concatenate(rtts)
    return {
        **{f"message-loss-{name}": 100 * mean(values) for name, values in lost.items()},
        **{f"message-event-p{percent}": 1e3 * float(np.percentile(durations, percent)) for percent in (50, 95, 99)},
        **{f"message-rtt-down-p{percent}": float(np.percentile(rtt, percent)) for percent in (50, 95, 99)},
    }


def _pings(down: Drawn, up: Drawn, sent: Numbers, draws: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Returns the RTTs [s] of pings over an idle path, and whether each arrives; `draws` are uniform numbers."""
    at_satellite = sent + delays_of(up, sent)
    back = at_satellite + delays_of(down, at_satellite)
    arrives = (1 - shares_of(up.losses(), sent)) * (1 - shares_of(down.losses(), at_satellite))
    return back - sent, draws < arrives


def delays_of(path: Drawn, times: Numbers) -> Numbers:
    """Returns the one-way delays [s] of packets at some times of the run, with waits for grants."""
    begins, delays = (np.array(column, dtype=float) / PS for column in path.delays().columns)
    at = np.searchsorted(begins, times, side="right") - 1
    return delays[at] + np.mod(begins[at] - times, path.grant_ps / PS)


def shares_of(steps: Points, times: Numbers) -> Numbers:
    """Returns the probabilities of a loss at some times [s] of the run."""
    begins, shares = (np.array(column, dtype=float) for column in steps.columns)
    return shares[np.searchsorted(begins / PS, times, side="right") - 1]


def _bursts(gone: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yields the first number and the number after the last of each sequence of consecutive lost packets."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], gone.astype(int), [0]])))
    for first, last in edges.reshape(-1, 2):
        yield int(first), int(last)


# Simulated transfers.


def scenario(year: int, run: int, direction: str, changes: Mapping[str, object]) -> Scenario:
    """Returns the example with the path of a year, at another time of another day for each run."""
    begin = datetime(year, 8, 1, 8, tzinfo=UTC) + timedelta(hours=25 * run, seconds=7 * run)
    path = {
        "kind": "starlink",
        "year": year,
        "seed": run,
        "begin": f"{begin:%Y-%m-%dT%H:%M:%S}",
        "direction": direction,
    }
    exit_delay = f"{1e3 * EXIT_S[year]:g} ms"
    rates = ("225 Mbit/s", "15.5 Mbit/s") if direction == "down" else ("15.5 Mbit/s", "225 Mbit/s")
    fields = {
        "network.path": path, "network.access_delay": exit_delay, "network.trunk_rate": rates[0],
        "network.return_rate": rates[1], "duration": "30 s",
    }  # fmt: skip
    return Scenario.example("starlink").with_(**{**fields, **changes})


def _rate(run: int, changes: Mapping[str, object], direction: str = "down") -> float:
    return simulate(scenario(2023, run, direction, changes), seed=run).total_bps / 1e6


@cache
def goodputs_of_controls(effort: Effort) -> dict[str, list[float]]:
    """Returns the goodputs of 30 s of one flow down over the path of 2023 [Mbit/s], by congestion control."""
    return {
        name: [_rate(run, {"tcp.congestion": name}) for run in range(effort.runs)]
        for name in ("cubic", "bbr", "bbr3", "illinois", *CONTROLS)
    }


def controls(effort: Effort) -> Samples:
    """Goodputs of 30 s of one or more flows over the path of 2023 [Mbit/s]."""
    runs = range(effort.runs)
    of = goodputs_of_controls(effort)
    up = {name: [_rate(run, {"tcp.congestion": name}, "up") for run in runs] for name in ("cubic", "bbr")}
    plain = {"kind": "cubic", "hystart": "none"}
    without = [_rate(run, {"tcp.congestion": plain}) for run in runs]
    two, four = ([_rate(run, {"network.sources": flows}) for run in runs] for flows in (2, 4))
    three = [_rate(run, {"network.sources": 3, "tcp.congestion": "linux-reno"}) for run in runs]
    best = max(mean(of[name]) for name in CONTROLS)
    worst = min(mean(values) for name, values in of.items() if name != "cubic")
    return {
        "cubic-down": of["cubic"], "bbr-down": of["bbr"], "cubic-up": up["cubic"], "bbr-up": up["bbr"],
        "bbr-over-cubic": _ratio(of["bbr"], of["cubic"]), "bbr3-over-cubic": _ratio(of["bbr3"], of["cubic"]),
        "two-over-one": _ratio(two, of["cubic"]), "four-over-one": _ratio(four, of["cubic"]),
        "no-hystart": _ratio(without, of["cubic"]), "three-reno": _ratio(three, of["linux-reno"]),
        "illinois-over-others": [mean(of["illinois"]) / best],
        "cubic-under-others": [worst / mean(of["cubic"])],
    }  # fmt: skip


def falls(effort: Effort) -> Samples:
    """Times for which the goodput of one Reno flow over the path of 2023 stays below 10 Mbit/s after a fall [s]."""
    durations_s = []
    for run in range(effort.runs):
        changes = {"tcp.congestion": "linux-reno", "duration": f"{POINTS} s", **TRACES}
        flow = simulated(simulate(scenario(2023, run, "down", changes), seed=run), POINTS)
        durations_s += durations_of_falls(np.diff(flow.delivered, prepend=0.0) * 8 / 1e6)
    return {"recovery-p50": [float(np.median(durations_s))]}


def durations_of_falls(mbps: Numbers) -> list[float]:
    """Returns for how many seconds each fall below `LOW_MBPS` lasts that begins and ends within the seconds."""
    edges = np.diff((mbps < LOW_MBPS).astype(int))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    ends = ends[ends > begins[0]] if len(begins) else ends[:0]
    return [float(end - begin) for begin, end in zip(begins, ends, strict=False)]


def _ratio(of: list[float], to: list[float]) -> list[float]:
    """Returns the ratio of the means."""
    return [mean(of) / mean(to)]


def transfers_of_2022(effort: Effort) -> Samples:
    """Downloads and uploads of 100 MB with CUBIC over the path of 2022."""
    samples: Samples = {}
    for run in range(effort.runs):
        for direction in ("down", "up"):
            for name, value in _transfer(run, direction).items():
                samples.setdefault(name, []).append(value)
    return samples


def _transfer(run: int, direction: str) -> dict[str, float]:
    size = {"kind": "transfer", "size": "100 MB"}
    span = "60 s" if direction == "down" else "120 s"
    result = simulate(
        scenario(2022, run, direction, {"traffic": size, "duration": span, "traces.rtt": True, "traces.drops": True}),
        seed=run,
    )
    (flow,) = result.flows.to_dict("records")
    end = flow["completion_s"] if flow["completion_s"] == flow["completion_s"] else TIME.parse(span) / PS
    rtt = 1e3 * result.traces["rtt"]["rtt_s"].dropna()
    drops = result.traces["drops"]
    measures = {
        f"quic-{direction}": flow["delivered_bytes"] * 8 / (end - flow["start_s"]) / 1e6,
        **{f"loaded-rtt-{direction}-p{percent}": float(np.percentile(rtt, percent)) for percent in (50, 95, 99)},
        f"loaded-loss-{direction}": 100 * len(drops) / flow["sent_segments"],
    }
    if direction == "down" and len(drops):
        measures["loaded-event-p99"] = 1e3 * float(np.percentile(_durations(drops), 99))
    return measures


def _durations(drops: pd.DataFrame) -> list[float]:
    """Returns the time from the first to the last loss of each sequence of consecutive segments [s].

    It is at least the transmission time of a packet.
    """
    times, sequences = drops["time_s"].to_numpy(), drops["sequence_bytes"].to_numpy()
    breaks = np.flatnonzero(np.diff(sequences) != MSS) + 1
    return [max(PACKET_S, float(np.ptp(part))) for part in np.split(times, breaks)]


GROUPS: Final = (tests_of_wetlinks, idle_and_messages, controls, falls, transfers_of_2022)
