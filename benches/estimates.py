"""Accuracy of the times that `longpipe design` states before and during the runs, as tables in Markdown.

Usage: python benches/estimates.py [left]. Columns: design; runs; runs on which the time was measured; the time stated
before the runs, and that of all runs in a study [s]; ratio of the two, which is to be from 1/1.5 to 1.5; the same ratio
for the estimate from the scenario alone. With `left`: the remaining time after 10 s of studies that take longer, with
its range, the true remaining time [s], and the ratio of the two, which is to be in the same range.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from longpipe import Factor, Scenario
from longpipe.design import Design
from longpipe.store import Store
from longpipe.study import Progress, Study
from longpipe.study.pilot import measured_cost
from longpipe.study.remaining import Left, Remaining

# Time [s] after which the remaining time is compared.
AFTER_S: Final = 10.0
BUFFERS: Final = Factor.over("switch.buffer", ["0.5 BDP", "1 BDP", "4 BDP"], "buffer")
QUEUES: Final = Factor.over("switch.policy", ["tail-drop", "pie", "codel", "fq-codel"], "queue")
CONTROLS: Final = Factor.over("tcp.congestion", ["cubic", "bbr", "vegas"], "control")
RATES: Final = Factor.over("network.trunk_rate", ["2 Mbit/s", "20 Mbit/s", "100 Mbit/s", "300 Mbit/s"], "rate")
CELLS: Final = Factor.over("switch.buffer", ["1000 cells", "3000 cells"], "buffer")
RECOVERIES: Final = Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")


def link(**network: Any) -> Scenario:  # noqa: ANN401 - fields
    """Returns a link of 20 Mbit/s and 40 ms."""
    fields = {"kind": "dumbbell", "access_rate": "1 Gbit/s", "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
    start = {"kind": "random", "over": "1 s"}
    tcp = {"profile": "linux-6"}
    return Scenario(defaults="1996").with_(
        duration="10 s", framing="ip", start=start, network={**fields, **network}, tcp=tcp
    )


def designs() -> Mapping[str, Design]:
    """Returns the designs by name."""
    lan = Scenario(defaults="1996", duration="2 s", start={"kind": "random", "over": "100 ms"})
    web, voice = ({"network.group": [{"name": one, "count": 30, "traffic": one}]} for one in ("web", "voice"))
    quinn = {"kind": "stack", "stack": "quinn", "congestion": "cubic"}
    full = Design.full_factorial
    return {
        "ATM": full(lan, [RECOVERIES, CELLS], replications=20),
        "queues and controls": full(link(sources=4), [QUEUES, CONTROLS], replications=5),
        "rates": full(link(sources=4), [RATES], replications=4),
        "web": full(link().with_(**web), [QUEUES, BUFFERS], replications=5),
        "voice": full(link().with_(**voice), [BUFFERS], replications=20),
        "traces": full(link(sources=4).with_(**{"traces.delay": True}), [CONTROLS], replications=4),
        "quinn": full(link(sources=1).with_(traffic=quinn), [BUFFERS], replications=4),
    }


def left() -> None:
    """Prints the table of remaining times."""
    head = ("design", "runs", "load", "stated after 10 s", "range", "true", "ratio")
    for cells in (head, ("---",) * len(head)):
        _write(cells)
    chosen = {"ATM": 400, "rates": 300, "web": 60}
    for name, replications in chosen.items():
        design = replace(designs()[name], replications=replications)
        remaining, stated = Remaining(), list[Left]()
        began_s = time.monotonic()

        def update(now: Progress) -> None:
            remaining.update(now)  # noqa: B023 - called only in this iteration
            if not stated and time.monotonic() > began_s + AFTER_S and (found := remaining.left()) is not None:  # noqa: B023
                stated.append(found)  # noqa: B023
                stated_s.append(time.monotonic())  # noqa: B023

        stated_s: list[float] = []
        with closing(Store()) as store:
            Study(design, store, name).run(progress=update)
        if not stated:
            _write((name, design.cost().runs, f"took {time.monotonic() - began_s:.0f} s"))
            continue
        (one,), true_s = stated, time.monotonic() - stated_s[0]
        shown = (f"{one.expected_s:.1f} s", f"{one.low_s:.1f} to {one.high_s:.1f} s", f"{true_s:.1f} s")
        _write((name, design.cost().runs, f"{os.getloadavg()[0]:.0f}", *shown, f"{one.expected_s / true_s:.2f}"))


def main() -> None:
    """Prints the table of processor times."""
    head = ("design", "runs", "measured", "stated", "all runs", "ratio", "ratio without measurement")
    for cells in (head, ("---",) * len(head)):
        _write(cells)
    for name, design in designs().items():
        stated, alone = measured_cost(design), design.cost()
        if stated is None:
            raise RuntimeError(f"{name}: no estimate; needs shorter runs")
        with closing(Store()) as store, ThreadPoolExecutor(1) as pool:
            study, began_s = Study(design, store, name), time.process_time()
            study.run(pool)
            found_s = time.process_time() - began_s
        ratios = (f"{cost.cpu_s / found_s:.2f}" for cost in (stated, alone))
        _write((name, alone.runs, stated.measured, f"{stated.cpu_s:.2f} s", f"{found_s:.2f} s", *ratios))


def _write(cells: Iterable[object]) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    left() if sys.argv[1:] == ["left"] else main()
