"""C4, BBR and CUBIC in the test cases of draft-huitema-ccwg-c4-test, beside the published means.

The published numbers are means over 100 runs of picoquic in its own simulator. They are compared by the signs of the
differences between two controls, because absolute times depend on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any, Final, NamedTuple

import pandas as pd
from pandas.api.types import is_numeric_dtype

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.inputs.frame import read_frame
from longpipe.measures.measure import parse

# Published name of each control, and longpipe's.
CONTROLS: Final = {"c4": "c4", "bbr": "bbr3", "cubic": "cubic"}
COLUMNS: Final = ["case", "quantity", "unit", *CONTROLS]
_NEEDS: Final = f"a CSV file with the columns {', '.join(COLUMNS)}, of which the last three are numbers"
# A published difference is compared if it exceeds 10 % of the smaller value, or 10 percentage points of a share.
LEAST: Final = 0.1
_MB: Final = 10**6
# picoquic's simulator (sim_link.c) admits a packet if those before it leave within the time of the buffer, so that one
# packet more fits.
_PACKET_BYTES: Final = 1500
_QUEUEING: Final = parse("port:switch1->switch2.queueing_mean")


@dataclass(frozen=True)
class Background:
    """A transfer that competes with the main one: its control, its size, and its start relative to the main one."""

    control: str
    bytes: int
    offset_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """A transfer over a path: rate [Mbit/s], RTT [ms], buffer [ms], bytes, changes of the path, and competition."""

    rate: float
    rtt: float
    buffer: float
    bytes: int
    path: Mapping[str, Any] | None = None
    background: Background | None = None
    # Whether the bottleneck has a dual queue, and C4 sends ECT(1).
    marks: bool = False

    def scenario(self, control: str, changes: Mapping[str, Any], run: int, stack: Path | None = None) -> Scenario:
        """Returns one run of the case with `control` as the main transfer. Runs differ in the start times by 1 ms.

        `stack` is a shared object of picoquic, whose controls replace longpipe's.
        """
        offset_s = self.background.offset_s if self.background is not None else 0.0
        groups = [self._group("main", control, self.bytes, max(0.0, -offset_s) + run / 1000, stack)]
        if self.background is not None:
            other = self.background
            groups.append(self._group("background", other.control, other.bytes, max(0.0, offset_s), stack))
        network: dict[str, Any] = {
            "kind": "dumbbell",
            "access_rate": "10 Gbit/s",
            "access_delay": "10 us",
            "exit_delay": "10 us",
            "trunk_rate": f"{self.rate:g} Mbit/s",
            "trunk_delay": f"{self.rtt / 2 - 0.02:g} ms",
            "group": groups,
        }
        if self.path is not None:
            network["path"] = {"kind": "moving", **self.path}
        switch: dict[str, Any] = {"buffer": f"{round(125 * self.rate * self.buffer) + _PACKET_BYTES} B"}
        if self.marks:
            switch["policy"] = "dualpi2"
        fields = {"framing": "ip", "duration": "90 s", "network": network, "switch": switch}
        is_own = control == "c4" and stack is None
        group_changes = {f"network.group.0.{field}": value for field, value in changes.items() if is_own}
        traces = {"traces.delay": True, "traces.arrivals": self.background is not None}
        return Scenario(defaults="1996").with_(**fields, **{"tcp.profile": "linux-6"}, **traces).with_(**group_changes)

    def _group(self, name: str, control: str, size: int, start_s: float, stack: Path | None) -> dict[str, Any]:
        start = {"kind": "fixed", "at": f"{start_s:g} s"}
        if stack is not None:
            settings = {"congestion": control, "size": f"{size} B"}
            return {
                "name": name,
                "traffic": {"kind": "own-stack", "file": str(stack), "settings": settings},
                "start": start,
            }
        tcp: dict[str, Any] = {"congestion": {"kind": CONTROLS[control]}}
        if self.marks and control == "c4":
            tcp["ecn"] = {"kind": "accurate", "ect": 1}
        return {
            "name": name,
            "count": 1,
            "tcp": tcp,
            "traffic": {"kind": "transfer", "size": f"{size} B"},
            "start": start,
        }


def _against(rate: float, rtt: float, buffer: float, size: int, other: tuple[int, float]) -> Callable[[str], Case]:
    return lambda control: Case(rate, rtt, buffer, size, background=Background(control, *other))


_SHORT: Final = _against(20, 80, 80, 5 * _MB, (10 * _MB, 0.0))
_LONG: Final = _against(20, 80, 80, 30 * _MB, (20 * _MB, 0.0))
_LAST: Final = _against(10, 70, 80, 15 * _MB, (10 * _MB, 1.0))
_BLOAT: Final = _against(20, 80, 20_000, 30 * _MB, (20 * _MB, 0.0))
# Cases with a scenario of longpipe. Sizes and paths are those of the simulator's files, which differ from the text.
CASES: Final[dict[str, Case]] = {
    "alone": Case(20, 80, 80, 10 * _MB),
    "alone_200": Case(200, 40, 80, 20 * _MB),
    "alone_1_5M": Case(1.5, 40, 50, 4 * _MB),
    "alone_512k": Case(0.512, 34, 50, 1 * _MB),
    "low_and_up": Case(5, 100, 80, 7 * _MB, {"rate": [["0 s", "5 Mbit/s"], ["2.5 s", "10 Mbit/s"]]}),
    "drop_and_back": Case(
        10, 100, 80, 7 * _MB, {"rate": [["0 s", "10 Mbit/s"], ["1.5 s", "5 Mbit/s"], ["3.5 s", "10 Mbit/s"]]}
    ),
    "blackhole": Case(25, 70, 80, 10 * _MB, {"outages": {"intervals": [["2 s", "4 s"]]}}),
    "short_long": Case(10, 30, 200, 20 * _MB, {"delay": [["0 s", "15 ms"], ["1 s", "100 ms"]], "between": "hold"}),
    "bbloat": Case(20, 80, 20_000, 30 * _MB),
    "wifi_suspension": Case(
        20, 10, 20, 10 * _MB, {"outages": {"intervals": [[f"{t + 1.8:g} s", f"{t + 2} s"] for t in range(0, 60, 2)]}}
    ),
    "ecn": Case(20, 80, 80, 10 * _MB, marks=True),
    "after_c4": Case(20, 80, 80, 5 * _MB, background=Background("c4", 10 * _MB, -0.5)),
    "before_c4": Case(50, 30, 80, 10 * _MB, background=Background("c4", 20 * _MB, 0.5)),
    **{f"vs_{control}": _SHORT(control) for control in CONTROLS},
    **{f"vs_{control}_lg": _LONG(control) for control in CONTROLS},
    **{f"vs_{control}_lg2": _LAST(control) for control in CONTROLS},
    **{f"bbloat_{control}": _BLOAT(control) for control in CONTROLS},
}
# Published cases without a scenario of longpipe, by the reason.
OMITTED: Final = {
    "satellite": "Careful Resume does not apply to c4 and bbr3",
    **dict.fromkeys(
        ("wifi_bad", "wifi_fade", "wifi_bad_bbr", "wifi_bad_c4", "wifi_bad_cubic"), "picoquic's jitter of Wi-Fi"
    ),
    **dict.fromkeys(("ecn_c4", "ecn_cubic", "ecn_bbr"), "sizes of the transfers are not stated"),
}


class Compared(NamedTuple):
    """A published quantity of a case beside longpipe's, by control, with the pairs whose difference is compared."""

    case: str
    quantity: str
    unit: str
    published: dict[str, float]
    model: dict[str, float]

    def pairs(self) -> Iterator[tuple[str, str, bool]]:
        """Yields each pair of controls that differ, and whether the difference has the published sign."""
        for a, b in combinations(CONTROLS, 2):
            difference = self.published[a] - self.published[b]
            scale = 100.0 if self.quantity == "share" else min(self.published[a], self.published[b])
            if abs(difference) > LEAST * scale:
                yield a, b, difference * (self.model[a] - self.model[b]) > 0


def read(file: Path) -> pd.DataFrame:
    """Reads the published means; raises ScenarioError for other columns, and for an unknown case."""
    table = read_frame(file, _NEEDS)
    if list(table.columns) != COLUMNS or not all(is_numeric_dtype(table[control]) for control in CONTROLS):
        raise ScenarioError(f"{file}: columns {', '.join(map(str, table.columns))}; needs {_NEEDS}")
    for case in table["case"]:
        if case not in CASES and case not in OMITTED:
            raise ScenarioError(f"{file}: case {case!r}; needs one of {', '.join([*CASES, *OMITTED])}")
    return table


def compare(
    published: pd.DataFrame,
    changes: Mapping[str, Any],
    runs: int,
    tell: Callable[[str], None],
    stack: Path | None = None,
) -> Iterator[Compared]:
    """Runs each case with each control, and yields its quantities; `changes` are fields of C4.

    With a shared object of picoquic as `stack`, its controls run instead, without the case that needs marks.
    """
    for name in dict.fromkeys(published["case"]):
        if name in OMITTED or (stack is not None and CASES[name].marks):
            continue
        tell(name)
        case = CASES[name]
        runs_by_control = {
            control: [_quantities(case, case.scenario(control, changes, run, stack), run) for run in range(runs)]
            for control in CONTROLS
        }
        for row in published[published["case"] == name].to_dict("records"):
            quantity = str(row["quantity"])
            if quantity == "rtt" and case.path is not None:
                continue
            model = {
                control: mean(measured[quantity] for measured in values) for control, values in runs_by_control.items()
            }
            numbers = {control: float(row[control]) for control in CONTROLS}
            yield Compared(name, quantity, str(row["unit"]), numbers, model)


def _quantities(case: Case, scenario: Scenario, run: int) -> dict[str, float]:
    """Returns completion time [s], mean RTT [ms], and share of the link [%] during the competition."""
    result = simulate(scenario, seed=run + 1)
    flows = result.flows.set_index("flow")
    main = next(str(flow) for flow in flows.index if str(flow).startswith("main"))
    quantities = {
        "time": float(flows["completion_s"][main]),
        "rtt": case.rtt + 1e3 * float(_QUEUEING(result)),
    }
    if case.background is not None:
        arrivals = result.traces["arrivals"]
        spans = arrivals.groupby("flow", observed=True)["time_s"].agg(["min", "max"])
        begin, end = spans["min"].max(), spans["max"].min()
        competing = arrivals[(arrivals["flow"] == main) & arrivals["time_s"].between(begin, end)]
        quantities["share"] = 100 * 8 * float(competing["bytes"].sum()) / (case.rate * 1e6 * (end - begin))
    return quantities
