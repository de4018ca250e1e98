"""Runs the same works in every simulator, interleaved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import simulators
from rich.console import Console
from rich.table import Table
from simulators import MODES, Mode, Run
from works import WORKS, Work

from longpipe.aal5 import packet_cells

LOADED = {"longpipe": "Python and its libraries", "ns-2": "Tcl and its scripts", "ns-3": "its libraries"}


@dataclass(frozen=True)
class Task:
    """A work to run in one mode of one simulator."""

    simulator: str
    work: Work
    mode: Mode


def tasks(
    works: list[str],
    names: list[str],
    duration_s: float | None,
    ns3_share: float,
    modes: Mapping[str, tuple[Mode, ...]] = MODES,
) -> list[Task]:
    """Returns the tasks: every work in every mode of every simulator; ns-3 simulates only a fraction of the time."""
    chosen = [WORKS[name] if duration_s is None else WORKS[name].lasting(duration_s) for name in works]
    share = {"ns-3": ns3_share}
    return [
        Task(name, work.lasting(max(work.duration_s * share.get(name, 1.0), 1.0)).suiting(mode), mode)
        for work in chosen
        for name in names
        for mode in modes[name]
    ]


def interleaved(todo: list[Task], runs: int, told: Callable[[Task], None]) -> dict[Task, list[Run]]:
    """Runs all tasks in `runs` rounds, one after another; every other round is in reverse order."""
    done: dict[Task, list[Run]] = {task: [] for task in todo}
    for number in range(runs):
        for task in todo if number % 2 == 0 else reversed(todo):
            told(task)
            done[task].append(simulators.run(task.simulator, task.work, task.mode))
    return done


def records(done: Mapping[Task, list[Run]]) -> list[dict[str, Any]]:
    """Returns a record of medians per task; seconds are user CPU time, and ratios are to longpipe in the same mode."""
    counts = {(task.work, task.mode): runs[0].delivered_packets for task, runs in done.items() if _ours(task)}
    written = []
    for task, runs in done.items():
        count = runs[0].delivered_packets
        cpu_s, simulation_s = (median(getattr(run, name) for run in runs) for name in ("cpu_s", "simulation_s"))
        expected = counts.get((task.work, task.mode))
        if expected is None and any(map(_ours, done)):
            expected = simulators.run("longpipe", task.work, task.mode).delivered_packets
        written.append(
            {
                "work": task.work.name,
                "mode": task.mode,
                "simulator": task.simulator,
                "simulated_seconds": task.work.duration_s,
                "runs": len(runs),
                "delivered_packets": count,
                "delivered_to_longpipe": count / expected if expected else None,
                "cpu_seconds": cpu_s,
                "cpu_seconds_least": min(run.cpu_s for run in runs),
                "cpu_seconds_most": max(run.cpu_s for run in runs),
                "packets_per_cpu_second": count / cpu_s,
                "simulation_cpu_seconds": simulation_s,
                "packets_per_simulation_cpu_second": count / simulation_s,
                "process_cpu_seconds": median(run.end_s for run in runs),
                "peak_memory_bytes": round(median(run.peak_bytes for run in runs)),
                "loaded_memory_bytes": round(median(run.loaded_bytes for run in runs)),
            }
        )
    return written


def _ours(task: Task) -> bool:
    return task.simulator == "longpipe"


def show(found: list[dict[str, Any]], console: Console) -> None:
    """Prints a table per work, the cost of cells, and a note on what the numbers exclude."""
    ours = {(row["work"], row["mode"]): row for row in found if row["simulator"] == "longpipe"}
    for name in dict.fromkeys(row["work"] for row in found):
        rows = [row for row in found if row["work"] == name]
        console.print(f"{WORKS[name]}, {rows[0]['simulated_seconds']:g} s", highlight=False)
        console.print(_table(rows, ours))
        if {(name, "ip"), (name, "cells")} <= ours.keys():
            console.print(_cells(name, ours[name, "cells"], ours[name, "ip"]), highlight=False)
        console.print()
    for row in {row["simulator"]: row for row in found}.values():
        console.print(
            f"{row['simulator']}: to load {LOADED[row['simulator']]} takes "
            f"{row['process_cpu_seconds'] - row['cpu_seconds']:.2f} CPU s, not counted, "
            f"and {row['loaded_memory_bytes'] / 1e6:.0f} MB, counted",
            highlight=False,
        )


def show_kinds(found: list[dict[str, Any]], console: Console) -> None:
    """Prints the cost of a packet with each queue and each control, relative to tail drop and to ns-3."""
    rate = "packets_per_simulation_cpu_second"
    ours = {row["mode"]: row for row in found if row["simulator"] == "longpipe"}
    theirs = {row["mode"]: row for row in found if row["simulator"] == "ns-3"}
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("delivered\n[packets]", "\ncost", "Mpackets/\nCPU s", "ns-3\ndiffers", "longpipe\nfaster"):
        table.add_column(heading.replace("[", r"\["), justify="right", no_wrap=True)
    for mode, row in ours.items():
        rival = theirs.get(mode)
        table.add_row(
            mode,
            str(row["delivered_packets"]),
            f"{ours['ip'][rate] / row[rate]:.2f}",
            f"{row[rate] / 1e6:.2f}",
            "" if rival is None else f"{rival['delivered_to_longpipe'] - 1:+.1%}",
            "" if rival is None else f"{row[rate] / rival[rate]:.0f} x",
        )
    console.print(table)


def _table(rows: list[dict[str, Any]], ours: Mapping[tuple[str, str], Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    headings = ("delivered\n[packets]", "\ndiffers", "Mpackets/\nCPU s", "longpipe\nfaster")
    for heading in (*headings, "simulating\nalone", "longpipe\nfaster", "memory\n[MB]"):
        table.add_column(heading.replace("[", r"\["), justify="right", no_wrap=True)
    for row in rows:
        rival = row["simulator"] != "longpipe"
        best = ours.get((row["work"], row["mode"])) if rival else None
        rates = ("packets_per_cpu_second", "packets_per_simulation_cpu_second")
        ratios = ["" if best is None else f"{best[rate] / row[rate]:.1f} x" for rate in rates]
        shorter = row["simulated_seconds"] < rows[0]["simulated_seconds"]
        table.add_row(
            f"{row['simulator']}, " + (f"{row['simulated_seconds']:g} s" if shorter else row["mode"]),
            str(row["delivered_packets"]),
            "" if best is None else f"{row['delivered_to_longpipe'] - 1:+.1%}",
            f"{row[rates[0]] / 1e6:.3f}",
            ratios[0],
            f"{row[rates[1]] / 1e6:.3f}",
            ratios[1],
            f"{row['peak_memory_bytes'] / 1e6:.0f}",
        )
    return table


def _cells(name: str, cells: Mapping[str, Any], packets: Mapping[str, Any]) -> str:
    rate = "packets_per_simulation_cpu_second"
    of_packet = packet_cells(WORKS[name].mss_bytes, timestamps=False)
    return (
        f"a packet as {of_packet} cells costs {packets[rate] / cells[rate]:.2f} times an IP packet; "
        f"{cells[rate] * of_packet / 1e6:.0f} million cells delivered per CPU second of simulating"
    )
