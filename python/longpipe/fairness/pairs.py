"""Simulates all pairs of senders over a set of paths, and each sender alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple

import pandas as pd

from longpipe.analysis.intervals import Estimate, estimate
from longpipe.design import Design, Factor
from longpipe.design.design import Run
from longpipe.errors import ScenarioError
from longpipe.fairness.controls import Sender
from longpipe.scenario import Scenario
from longpipe.study import Runner
from longpipe.units import TIME

PORT: Final = "port:switch1->switch2"
# Names of the two flows, and of the factors of their senders.
ONE, OTHER = "one", "other"
# Column that names the flows whose connection ended before the run.
DIED: Final = "died"
ENDED: Final = "died: in some runs, the connection of a flow ended early; its throughput is the mean of the whole run."
# Factor that alternates which flow starts first; its levels are ONE and OTHER.
FIRST: Final = "first"
# Maximum length [ps] of the interval in which the first flow starts, and of the next one, in which the second does.
_HALF_PS: Final = TIME.parse("500 ms")
_SHARED: Final = (f"p95={PORT}.queueing_p95", f"loss={PORT}.loss")
# Delay of each access link and of each exit.
_NEAR: Final = "1 ms"


@dataclass(frozen=True)
class Paths:
    """Rates, round-trip times and buffers, of which every combination is a path."""

    rates: tuple[str, ...] = ("8 Mbit/s", "50 Mbit/s")
    rtts: tuple[str, ...] = ("50 ms",)
    buffers: tuple[str, ...] = ("4 BDP",)

    def factors(self) -> list[Factor]:
        """Returns the factors of a design."""
        near = TIME.parse(_NEAR)
        delays: dict[str, object] = {}
        for rtt in self.rtts:
            try:
                one_way = TIME.parse(rtt) // 2 - 2 * near
            except ValueError as error:
                raise ScenarioError(f"--rtt: {error}") from None
            if one_way < 0:
                raise ScenarioError(f"--rtt: {rtt}; needs at least {TIME.format(4 * near)}")
            delays[rtt] = TIME.format(one_way)
        return [
            Factor.over("network.trunk_rate", self.rates, "rate"),
            Factor.over("network.trunk_delay", delays, "rtt"),
            Factor.over("switch.buffer", self.buffers, "buffer"),
        ]


class PairKey(NamedTuple):
    """A pair of senders on a path: the name of the path, the sender that starts first, and the other sender.

    If the scenario has start times of its own, the senders are in the order of the flows instead.
    """

    path: str
    first: str
    second: str


@dataclass(frozen=True)
class Pair:
    """Measures of a row's sender in competition with a column's sender on one path, with intervals over the seeds.

    In a pair of equal senders, the row is the one that starts first and the column the one that starts later. `share`
    is the row's fraction of the total throughput, `harm` the fraction of its throughput alone that the column's
    sender loses in competition with the row's (Ware et al., HotNets 2019), `loss` the share of packets that the
    bottleneck lost and `p95_s` the 95th percentile of its queueing delays [s]. `died` is the number of runs in which
    the connection of a flow ended before the run; its throughput is the mean of the whole run.
    """

    path: str
    row: str
    column: str
    share: Estimate
    harm: Estimate
    loss: Estimate
    p95_s: Estimate
    died: int = 0


def base(duration: str, changes: Mapping[str, Any]) -> Scenario:
    """Returns the scenario of a pair of flows, which start within a second.

    Raises ScenarioError if a changed group has several flows.
    """
    scenario = Scenario.model_validate(
        {
            "defaults": "1996",
            "name": "fairness",
            "duration": duration,
            "framing": "ip",
            "start": {"kind": "random", "over": TIME.format(2 * _HALF_PS)},
            "network": {
                "kind": "dumbbell",
                "access_rate": "1 Gbit/s",
                "access_delay": _NEAR,
                "exit_delay": _NEAR,
                "group": [{"name": ONE}, {"name": OTHER}],
            },
            "tcp": {"profile": "linux-6"},
            "traces": {"delay": True},
        }
    ).with_(**changes)
    groups: Any = getattr(scenario.network, "group", None) or ()
    for number, group in enumerate(groups):
        if group.count != 1:
            raise ScenarioError(
                f"network.group.{number}.count: {group.count}; needs 1: shares are those of single flows"
            )
    return scenario


class FairnessDesigns(NamedTuple):
    """The designs of a comparison: all pairs of senders, and each sender alone."""

    pairs: Design
    alone: Design


def designs(scenario: Scenario, senders: Sequence[Sender], paths: Paths, seeds: int) -> FairnessDesigns:
    """Returns the designs of all pairs, each once, and of all senders alone.

    Unless the scenario has start times of its own, a factor alternates which flow starts first: `planned` omits half of
    the design's runs.
    """
    path_factors = paths.factors()
    first, other = (
        Factor(name, {sender.name: _fields(index, sender) for sender in senders})
        for index, name in enumerate((ONE, OTHER))
    )
    orders = [_order(scenario)] if scenario.start == base(scenario.duration, {}).start else []
    names = [sender.name for sender in senders]
    path_levels = list(product(*(factor.levels for factor in path_factors)))
    couples = [(a, b) for i, a in enumerate(names) for b in names[i:]]
    # The sender of ONE, the sender of OTHER, the flow that starts first if it alternates, and the levels of the path.
    points = [
        (*couple, *order, *path)
        for couple in couples
        for order in product(*(factor.levels for factor in orders))
        for path in path_levels
    ]
    pair_design = Design(
        scenario, (first, other, *orders, *path_factors), tuple(points), seeds,
        measures=("one_bps=flow:one.throughput", "other_bps=flow:other.throughput", *_SHARED),
    )  # fmt: skip
    alone = scenario.with_(**{"network.group": [{"name": ONE}]})
    solo = Design(
        alone, (first, *path_factors), tuple((name, *path) for name in names for path in path_levels), seeds,
        measures=("one_bps=flow:one.throughput", *_SHARED),
    )  # fmt: skip
    return FairnessDesigns(pair_design, solo)


def _order(scenario: Scenario) -> Factor:
    """Returns the factor that alternates which flow starts first.

    A random order would be far from balanced over a few seeds.
    """
    half = TIME.format(min(_HALF_PS, TIME.parse(scenario.duration) // 2))
    early, late = {"kind": "random", "over": half}, {"kind": "random", "from": half, "over": half}
    starts = ("network.group.0.start", "network.group.1.start")
    return Factor(
        FIRST,
        {
            ONE: dict(zip(starts, (early, late), strict=True)),
            OTHER: dict(zip(starts, (late, early), strict=True)),
        },
    )


def planned(design: Design) -> list[Run]:
    """Returns the runs of a design; if the order alternates, ONE starts first with odd seeds, OTHER with even ones."""

    def is_planned(run: Run) -> bool:
        turn = ONE if run.seed % 2 else OTHER
        return design.levels(run.point).get(FIRST, turn) == turn

    return [run for run in design.runs() if is_planned(run)]


def run(design: Design, runner: Runner) -> pd.DataFrame:
    """Runs the missing runs of a design; returns a row per run with its factors, seed and measures.

    The column `first` of a pair names the flow that starts first, and `died` the flows whose connection ended early.
    """
    scenarios, runs = design.scenarios, planned(design)
    runner.complete((scenarios[planned_run.point - 1], planned_run.seed) for planned_run in runs)
    rows = []
    for planned_run in runs:
        result = runner.require(scenarios[planned_run.point - 1], planned_run.seed)
        measured = {measure.name: measure(result) for measure in design.asked}
        starts = result.part("flows")["start_s"]
        first = {FIRST: ONE if starts[0] <= starts[1] else OTHER} if len(starts) > 1 else {}
        rows.append(
            {
                **design.levels(planned_run.point),
                **first,
                "seed": planned_run.seed,
                **measured,
                DIED: " ".join(sorted(result.died)),
            }
        )
    return pd.DataFrame(rows)


def matrix(pair_runs: pd.DataFrame, solo: pd.DataFrame) -> list[Pair]:
    """Returns the pairs, each in both directions, by path."""
    columns = [solo[name] for name in (ONE, "rate", "rtt", "buffer", "seed", "one_bps")]
    alone: dict[tuple[object, ...], float] = {tuple(row[:-1]): row[-1] for row in zip(*columns, strict=True)}
    pairs = []
    for (rate, rtt, buffer, a, b), rows in pair_runs.groupby(["rate", "rtt", "buffer", ONE, OTHER], sort=False):
        path = path_name(rate, rtt, buffer)
        keys = [(rate, rtt, buffer, seed) for seed in rows["seed"]]
        alone_bps = {name: pd.Series([alone[(name, *key)] for key in keys], index=rows.index) for name in {a, b}}
        # Throughputs of ONE and of OTHER in competition, from which shares and harm are computed.
        of_one, of_other = rows["one_bps"], rows["other_bps"]
        if a == b:
            is_one = rows[FIRST] == ONE
            early, late = of_one.where(is_one, of_other), of_other.where(is_one, of_one)
            pairs.append(_pair(path, str(a), str(b), rows, _parts(early, late, alone_bps[b])))
            continue
        pairs.append(_pair(path, str(a), str(b), rows, _parts(of_one, of_other, alone_bps[b])))
        pairs.append(_pair(path, str(b), str(a), rows, _parts(of_other, of_one, alone_bps[a])))
    return pairs


def path_name(rate: object, rtt: object, buffer: object) -> str:
    """Returns the name of a path in tables."""
    return f"{rate}, {rtt}, {buffer}"


def scenarios(pair_design: Design) -> dict[PairKey, Scenario]:
    """Returns the scenario of each pair, or two of them, in which either sender starts first, if that alternates."""
    by_pair: dict[PairKey, Scenario] = {}
    for point, scenario in enumerate(pair_design.scenarios, 1):
        levels = pair_design.levels(point)
        names = [str(levels[name]) for name in (ONE, OTHER)]
        first, second = reversed(names) if levels.get(FIRST) == OTHER else names
        path = path_name(levels["rate"], levels["rtt"], levels["buffer"])
        name = f"{first} beside {second}, {path}"
        by_pair.setdefault(PairKey(path, first, second), scenario.with_(name=name))
    return by_pair


def _parts(flow_rates: pd.Series, other: pd.Series, other_alone: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Returns a flow's share, and the harm that it does to the other flow."""
    return flow_rates / (flow_rates + other), (other_alone - other) / other_alone


def _pair(path: str, row: str, column: str, rows: pd.DataFrame, parts: tuple[pd.Series, pd.Series]) -> Pair:
    share, harm = parts
    return Pair(
        path, row, column, estimate(share, (0, 1)), estimate(harm), estimate(rows["loss"]), estimate(rows["p95"]),
        died=int((rows[DIED] != "").sum()),
    )  # fmt: skip


def table(pairs: Sequence[Pair]) -> pd.DataFrame:
    """Returns a row per pair and path: each measure's mean with the half-width of its 95 % interval.

    The column of `Pair.harm` names who suffers the harm: the flow of the control in the column "beside".
    """
    rows: list[dict[str, object]] = []
    for pair in pairs:
        row: dict[str, object] = {"path": pair.path, "control": pair.row, "beside": pair.column}
        columns = (("share", pair.share, 1.0), ("harm to beside", pair.harm, 1.0), ("loss [%]", pair.loss, 0.01))
        for name, mean, scale in (*columns, ("p95 [ms]", pair.p95_s, 1e-3)):
            row[name] = mean.mean / scale
            row[f"± {name}"] = half_width(mean) / scale
        # Only real stacks end their connections.
        if any(other.died for other in pairs):
            row["runs with a dead connection"] = pair.died
        rows.append(row)
    return pd.DataFrame(rows)


def half_width(mean: Estimate) -> float:
    """Returns the half-width of the interval of a mean; nan for one run."""
    return math.nan if math.isnan(mean.mean_high) else (mean.mean_high - mean.mean_low) / 2


def _fields(place: int, sender: Sender) -> dict[str, object]:
    return {f"network.group.{place}.{name}": value for name, value in sender.fields.items()}
