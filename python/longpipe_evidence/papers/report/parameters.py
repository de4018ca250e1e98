"""Parameters of reproduced documents as tables: of one document by network, and the differences between documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from longpipe.report.parts import NOTHING, Cell, Column, Grid
from longpipe.scenario import Dumbbell, Scenario
from longpipe.scenario.starts import RandomStart
from longpipe.scenario.timers import Coarse
from longpipe.units import TIME
from longpipe_evidence.papers import PAPERS
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.paper import Paper


def _dumbbell(scenario: Scenario) -> Dumbbell:
    """Returns the network of a scenario that has a dumbbell."""
    assert isinstance(scenario.network, Dumbbell)  # noqa: S101 - `parameters` accepts only these
    return scenario.network


def _round_trip(scenario: Scenario) -> str:
    """Returns the propagation delay from source to sink and back."""
    network = _dumbbell(scenario)
    return TIME.format(2 * sum(map(TIME.parse, (network.access_delay, network.trunk_delay, network.exit_delay))))


def _timer(scenario: Scenario) -> str:
    """Returns the tick and the bounds of a coarse timer, otherwise the timer's kind."""
    timer = scenario.tcp.timer
    if not isinstance(timer, Coarse):
        return timer.kind
    return f"{timer.tick} ticks, RTO at least {timer.min_rto}, at first {timer.initial_rto}"


def _clock(scenario: Scenario) -> str:
    """Returns how the phases of the hosts' clocks are related."""
    timer = scenario.tcp.timer
    if not isinstance(timer, Coarse):
        return NOTHING
    return {"common": "common, phase drawn", "per-flow": "one per host", "fixed": "common, fixed"}[timer.phase.kind]


def _start(scenario: Scenario) -> str:
    """Returns when the flows start."""
    start = scenario.start
    return f"within {start.over}" if isinstance(start, RandomStart) else "all together"


# Parameters of each network in the table.
ROWS: Final[dict[str, Callable[[Scenario], str]]] = {
    "frames": lambda s: s.framing,
    "access links": lambda s: _dumbbell(s).access_rate,
    "bottleneck": lambda s: _dumbbell(s).trunk_rate,
    "delay source to switch": lambda s: _dumbbell(s).access_delay,
    "delay of the bottleneck": lambda s: _dumbbell(s).trunk_delay,
    "delay switch to sink": lambda s: _dumbbell(s).exit_delay,
    "round trip": _round_trip,
    "maximum segment size": lambda s: s.tcp.mss,
    "receiver window": lambda s: s.tcp.receiver_window,
    "initial ssthresh": lambda s: s.tcp.initial_ssthresh,
    "timer": _timer,
    "clocks of hosts": _clock,
    "starts": _start,
    "duration": lambda s: s.duration,
}

# Parameters that differ between documents although they could be equal, with reasons.
WHY: Final[dict[str, tuple[Callable[[Scenario], str], str]]] = {
    "threshold R of EPD and Selective Drop": (
        lambda s: f"{s.switch.policy.threshold:g}" if hasattr(s.switch.policy, "threshold") else NOTHING,
        "frr-96 gives .9 only for FBA, which is used for the other two as well; 98-0876 prints .8, which is also used "
        "for 97-0424 and 97-0616",
    ),
    "receiver window of the shortest path": (
        lambda s: s.tcp.receiver_window,
        "two readings of 64K: 65 535 is the maximum without window scaling; 65 536 is 64 KiB, for which www-98 needs "
        "scaling",
    ),
    "duplicate ACKs of fast retransmit": (
        lambda s: str(s.tcp.duplicate_ack_threshold),
        "the third duplicate in all documents",
    ),
    "interval between fast retransmits": (
        lambda s: s.tcp.fast_retransmit_interval,
        "fitted to gr-97's LAN, not stated in any document; claim gr-3-plain is judged without it",
    ),
    "SACK's guard against repeated fast retransmits": (
        lambda s: "on" if s.tcp.sack.guard else "off",
        "RFC 2582 of 1999 has it; www-98 disclaims it for NewReno, and a fit of gr-97 keeps it there",
    ),
    "clocks of hosts": (_clock, "a common coarse timer according to 96-1761; the same if a document states nothing"),
    "starts": (
        _start,
        "together according to 96-1761; www-98's clients send their first request within 100 ms, because simultaneous "
        "ones would form a single burst",
    ),
}


def parameters(paper: Paper) -> tuple[Grid, ...]:
    """Returns a table with a column per network of a paper; none if its networks are not dumbbells."""
    networks = {name: scenario for name, scenario in paper.networks().items() if isinstance(scenario.network, Dumbbell)}
    if not networks:
        return ()
    columns = (Column("parameter"), *(Column(NAMES.get(name, name)) for name in networks))
    rows = tuple(
        (Cell(name), *(Cell(str(parameter(scenario))) for scenario in networks.values()))
        for name, parameter in ROWS.items()
    )
    return (Grid(f"{paper.id}-parameters", "Parameters by network", columns, rows, stacked=True),)


def differences(documents: Iterable[str]) -> Grid:
    """Returns a table of the settings that differ between documents, with the reason."""
    shown = {name: PAPERS[name].networks() for name in documents}
    first = {name: next(iter(networks.values())) for name, networks in shown.items() if networks}
    first = {name: scenario for name, scenario in first.items() if isinstance(scenario.network, Dumbbell)}
    columns = (Column("setting"), *(Column(name) for name in first), Column("why"))
    rows = tuple(
        (Cell(name), *(Cell(str(setting(scenario))) for scenario in first.values()), Cell(reason))
        for name, (setting, reason) in WHY.items()
    )
    note = "Of the first network of each document. Every setting of a run is in its scenario."
    return Grid("settings", "Settings that differ between the documents", columns, rows, note=note, stacked=True)
