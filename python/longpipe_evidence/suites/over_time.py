"""Figures of a suite's runs over time: rates of flows at the bottleneck, queueing delays, and losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from longpipe.pictures.figure import with_literal_texts
from longpipe.units import TIME
from longpipe_evidence.suites.criteria import CONTROL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.study import Runner
    from longpipe_evidence.suites.suite import SuitePart

# Factor whose levels are time intervals of a single run.
PHASE: Final = "phase"
# Interval [s] over which rates, delays and losses are computed (RFC 8867 section 3).
INTERVAL_S: Final = 0.2
SEED: Final = 1
_PORT: Final = "switch1->switch2"


@dataclass(frozen=True)
class OverTime:
    """A figure of the run with seed 1: the factors' levels, a text alternative, and the SVG text."""

    levels: str
    alt: str
    svg: str


def figures(part: SuitePart, base: Scenario, runner: Runner) -> Iterator[OverTime]:
    """Yields a figure of the whole run of `base` for each combination of levels of factors except phase and control."""
    # Imported here because Matplotlib takes half a second to load.
    from longpipe.pictures.saving import describe, to_svg

    factors = [list(levels.items()) for name, levels in part.factors.items() if name not in (PHASE, CONTROL)]
    for chosen in product(*factors):
        levels = ", ".join(str(level) for level, _ in chosen)
        fields = {field: value for _, own in chosen for field, value in own.items()}
        scenario = base.with_(**fields).with_(**{"traces.delay": True, "traces.drops": True})
        runner.complete([(scenario, SEED)])
        figure = _drawn(runner.require(scenario, SEED), levels)
        yield OverTime(levels, describe(figure), to_svg(figure, f"{part.id} {levels}"))


@with_literal_texts
def _drawn(result: Result, levels: str) -> Figure:
    """Draws the rate of each flow, the queueing delay, and lost packets, in intervals of 200 ms."""
    from longpipe.pictures.recorded import edges_s
    from longpipe.pictures.style import GREY, color, legend, panels

    end_s = TIME.parse(result.scenario.duration) / 1e12
    edges = edges_s(0.0, end_s, INTERVAL_S)
    delays, drops = result.traces["delay"], result.traces["drops"]
    delays, drops = delays[delays.port == _PORT], drops[drops.port == _PORT]
    title = f"{result.scenario.name}{f', {levels}' if levels else ''}: means of 200 ms"
    figure, (rates, waits, losses) = panels(3, title, (0, end_s))
    names = [name for name in result.flows.flow if (delays.flow == name).any()]
    for number, name in enumerate(names):
        own = delays[delays.flow == name]
        sent, _ = np.histogram(own.time_s, edges, weights=own.bytes)
        rates.step(edges[:-1], sent * 8 / INTERVAL_S / 1e6, where="post", color=color(number), lw=0.8, label=name)
    counts, _ = np.histogram(delays.time_s, edges)
    sums, _ = np.histogram(delays.time_s, edges, weights=delays.delay_s)
    waits.step(edges[:-1], 1e3 * sums / np.maximum(counts, 1), where="post", color=GREY, lw=0.8)
    lost, _ = np.histogram(drops.time_s, edges)
    losses.step(edges[:-1], lost, where="post", color=GREY, lw=0.8)
    for panel, label in ((rates, "rate [Mbit/s]"), (waits, "queue [ms]"), (losses, "lost packets")):
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
    legend(figure, [rates])
    return figure
