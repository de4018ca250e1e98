"""Tables for a terminal of 80 columns."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from longpipe.analysis.web import QUANTILES
from longpipe.result import Result, records
from longpipe.scenario.buffers import Framing

Row = dict[str, Any]

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
    tables = [_flows(records(result.part("flows"))), _ports(records(result.part("ports")), scenario.framing)]
    if sources := records(result.part("vbr")):
        tables.append(_vbr(sources))
    if classes := records(result.part("response_times")):
        tables.append(_web(classes))
    for table in tables:
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


def _flows(flows: list[Row]) -> Table:
    table = _table("flow", "throughput\n[Mbit/s]", "segments\nsent", "resent", "timeouts", "fast re-\ntransmits")
    complete = any(row["completion_s"] is not None for row in flows)
    if complete:
        table.add_column("complete\n\\[s]", justify="right")
    for row in flows[:MOST_FLOWS]:
        sent, completion_s = row["sent_segments"], row["completion_s"]
        table.add_row(
            row["flow"],
            f"{row['throughput_bps'] / 1e6:.3f}",
            str(sent),
            f"{row['retransmitted_segments'] / sent:.1%}" if sent else "-",
            str(row["timeouts"]),
            str(row["fast_retransmits"]),
            *(["-" if completion_s is None else f"{completion_s:.3f}"] if complete else []),
        )
    return _captioned(table, MOST_FLOWS, len(flows), "flows")


def _ports(ports: list[Row], framing: Framing) -> Table:
    unit = "packets" if framing == "ip" else "cells"

    def lost(row: Row, *causes: str) -> int:
        return sum(row[f"{unit}_lost_{cause}"] for cause in causes if f"{unit}_lost_{cause}" in row)

    causes = [name.removeprefix(f"{unit}_lost_") for name in ports[0] if name.startswith(f"{unit}_lost_")]
    used = [row for row in ports if row["kind"] == "switch" and row[f"{unit}_in"] > 0]
    used.sort(key=lambda row: (lost(row, *causes), row["utilization"]), reverse=True)
    queues = (f"mean queue\n[{unit}]", f"peak queue\n[{unit}]")
    table = _table("switch port", f"{unit} in", "lost", "of which\nrefused", *queues, "used")
    for row in used[:MOST_PORTS]:
        in_all = lost(row, *causes)
        table.add_row(
            row["port"],
            str(row[f"{unit}_in"]),
            f"{in_all / row[f'{unit}_in']:.2%}" if in_all else "-",
            f"{lost(row, 'refused', 'discarded') / in_all:.1%}" if in_all else "-",
            "-" if row[f"mean_queue_{unit}"] is None else f"{row[f'mean_queue_{unit}']:.0f}",
            str(row[f"peak_queue_{unit}"]),
            f"{row['utilization']:.1%}",
        )
    return _captioned(table, MOST_PORTS, len(used), "ports")


def _vbr(sources: list[Row]) -> Table:
    table = _table("VBR source", "cells sent", "lost", "mean delay\n[ms]", "longest\n[ms]")
    for row in sources[:MOST_FLOWS]:
        delays = (row[name] for name in ("mean_delay_s", "max_delay_s"))
        shown = ("-" if delay is None else f"{1e3 * delay:.3f}" for delay in delays)
        table.add_row(row["source"], str(row["cells_sent"]), str(row["cells_lost"]), *shown)
    return _captioned(table, MOST_FLOWS, len(sources), "VBR sources")


def _web(classes: list[Row]) -> Table:
    table = _table("files of class", "requested", "complete", "median\n[s]", "95 %\n[s]", "99 %\n[s]")
    for row in classes[:MOST_FLOWS]:
        waits = (row[name] for name in QUANTILES)
        shown = ("-" if wait is None else f"{wait:.3f}" for wait in waits)
        table.add_row(str(row["class"]), str(row["files"]), str(row["completed"]), *shown)
    table.caption = "time from a request to its file's last byte; -: beyond the run"
    table.caption_justify = "left"
    return table


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
