"""Tables for a terminal of 80 columns."""

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from longpipe.analysis.web import QUANTILES
from longpipe.result import Result

MOST_FLOWS, MOST_PORTS = 20, 10


def show(result: Result, console: Console) -> None:
    """Prints a run: its flows, the switch ports that carried something, and its two indexes."""
    scenario = result.scenario
    tcp = scenario.tcp
    console.print(f"{scenario.name}: {scenario.duration} of simulated time, seed {result.seed}", markup=False)
    console.print(
        f"{tcp.recovery} TCP, MSS {tcp.mss}, window {tcp.receiver_window}; "
        f"{scenario.switch.policy.kind} at {scenario.switch.buffer}",
        markup=False,
        style="dim",
    )
    others = [draw(result) for draw, rows in ((_vbr, result.vbr), (_web, result.response_times)) if len(rows)]
    for table in (_flows(result), _ports(result), *others):
        console.print()
        console.print(table)
    console.print()
    for name, value, meaning in (
        ("efficiency", result.efficiency, "of what the trunk could carry"),
        ("fairness", result.fairness, "Jain's index, 1 is equal shares"),
    ):
        if not math.isnan(value):
            console.print(f"{name:<10} [bold]{value:.4f}[/]  [dim]{meaning}[/]", highlight=False)
    for capture in result.captures:
        console.print(f"captured {capture.packets} packets of {capture.place} in {capture.path}", markup=False)


def _flows(result: Result) -> Table:
    table = _table("flow", "throughput\n[Mbit/s]", "segments\nsent", "resent", "timeouts", "fast re-\ntransmits")
    complete = bool(result.flows["completion_s"].notna().any())
    if complete:
        table.add_column("complete\n\\[s]", justify="right")
    for row in _rows(result.flows, MOST_FLOWS):
        sent, completion_s = row["sent_segments"], row["completion_s"]
        table.add_row(
            row["flow"],
            f"{row['throughput_bps'] / 1e6:.3f}",
            str(sent),
            f"{row['retransmitted_segments'] / sent:.1%}" if sent else "-",
            str(row["timeouts"]),
            str(row["fast_retransmits"]),
            *(["-" if math.isnan(completion_s) else f"{completion_s:.3f}"] if complete else []),
        )
    return _captioned(table, MOST_FLOWS, len(result.flows), "flows")


def _ports(result: Result) -> Table:
    unit = "packets" if result.scenario.framing == "ip" else "cells"
    ports = result.ports[(result.ports["kind"] == "switch") & (result.ports[f"{unit}_in"] > 0)]
    ports = ports.assign(lost=ports.filter(like=f"{unit}_lost_").sum(axis=1))
    refused = [name for name in ports if name in (f"{unit}_lost_refused", f"{unit}_lost_discarded")]
    ports = ports.assign(refused=ports[refused].sum(axis=1))
    ports = ports.sort_values(["lost", "utilization"], ascending=False, kind="stable")
    queues = (f"mean queue\n[{unit}]", f"peak queue\n[{unit}]")
    table = _table("switch port", f"{unit} in", "lost", "of which\nrefused", *queues, "used")
    for row in _rows(ports, MOST_PORTS):
        lost = row["lost"]
        table.add_row(
            row["port"],
            str(row[f"{unit}_in"]),
            f"{lost / row[f'{unit}_in']:.2%}" if lost else "-",
            f"{row['refused'] / lost:.1%}" if lost else "-",
            f"{row[f'mean_queue_{unit}']:.0f}",
            str(row[f"peak_queue_{unit}"]),
            f"{row['utilization']:.1%}",
        )
    return _captioned(table, MOST_PORTS, len(ports), "ports")


def _vbr(result: Result) -> Table:
    table = _table("VBR source", "cells sent", "lost", "mean delay\n[ms]", "longest\n[ms]")
    for row in _rows(result.vbr, MOST_FLOWS):
        delays = (f"{1e3 * row[name]:.3f}" for name in ("mean_delay_s", "max_delay_s"))
        table.add_row(row["source"], str(row["cells_sent"]), str(row["cells_lost"]), *delays)
    return _captioned(table, MOST_FLOWS, len(result.vbr), "VBR sources")


def _web(result: Result) -> Table:
    table = _table("files of class", "requested", "complete", "median\n[s]", "95 %\n[s]", "99 %\n[s]")
    for row in _rows(result.response_times, MOST_FLOWS):
        waits = (row[name] for name in QUANTILES)
        shown = ("-" if math.isnan(wait) else f"{wait:.3f}" for wait in waits)
        table.add_row(str(row["class"]), str(row["files"]), str(row["completed"]), *shown)
    table.caption = "time from a request to its file's last byte; -: beyond the run"
    table.caption_justify = "left"
    return table


def _rows(frame: pd.DataFrame, most: int) -> list[dict[Hashable, Any]]:
    return frame.head(most).to_dict(orient="records")


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name.replace("[", r"\["), justify="right", no_wrap=True)
    return table


def _captioned(table: Table, shown: int, rows: int, what: str) -> Table:
    if rows > shown:
        table.caption = f"{shown} of {rows} {what}; --csv DIR writes all"
        table.caption_justify = "left"
    return table
