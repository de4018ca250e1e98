"""Measures packets per CPU second as a function of the number of flows, and of the trunk's rate and delay."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import pandas as pd
import simulators
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from simulators import MODES, Mode, Run
from works import Work

from longpipe.pictures.saving import save

PAIRS: Final = 20
MSS_BYTES: Final = 1024
PACKETS: Final = 1_000_000
"""About what a run delivers, unless it would then last less than `SHORTEST_S` or more than `LONGEST_S`."""
SHORTEST_S: Final = 2.0
LONGEST_S: Final = 100.0
NS2_MOST_PACKETS: Final = 6_000_000

Sweep = tuple[str, str, tuple[tuple[float, Work], ...]]


@dataclass(frozen=True)
class Look:
    """Style of a simulator's points."""

    label: str
    color: str
    marker: str


LOOKS: Final[dict[tuple[str, Mode], Look]] = {
    ("longpipe", "ip"): Look("longpipe, IP packets", "#0072b2", "o"),
    ("longpipe", "cells"): Look("longpipe, ATM cells", "#d55e00", "s"),
    ("ns-2", "ip"): Look("ns-2, IP packets", "0.45", "^"),
}


def _work(flows: int, trunk_bps: int, delay_s: float) -> Work:
    """Returns a work of 20 host pairs on links as fast as the trunk, with a buffer of one bandwidth-delay product."""
    packets_per_s = trunk_bps / 8 / (MSS_BYTES + 40)
    pipe = max(1, round(packets_per_s * 2 * delay_s))
    duration_s = min(max(PACKETS / packets_per_s, SHORTEST_S, 100 * delay_s), LONGEST_S)
    return Work("", flows, min(flows, PAIRS), MSS_BYTES, trunk_bps, trunk_bps, delay_s, pipe, duration_s)


def sweeps() -> tuple[Sweep, ...]:
    """Returns the sweeps: each has a column name, an axis label, and works."""
    flows = tuple((n, _work(n, 10_000_000_000, 0.01)) for n in (1, 15, 100, 1000, 10_000))
    rates = tuple((10**n, _work(20, 10**n, 0.01)) for n in range(7, 12))
    delays = tuple((delay, _work(20, 1_000_000_000, delay)) for delay in (0.0001, 0.001, 0.01, 0.1, 0.3))
    return (
        ("flows", "flows (trunk 10 Gbit/s, 10 ms)", flows),
        ("trunk_bps", "trunk [bit/s] (20 flows, 10 ms)", rates),
        ("delay_s", "delay of the trunk [s] (20 flows, 1 Gbit/s)", delays),
    )


def measure(runs: int, told: Callable[[str], None]) -> pd.DataFrame:
    """Returns a row per point: sweep, value, simulator, mode, and medians.

    packets_per_cpu_second covers only the simulation; layout_cpu_seconds is the time to build the network;
    bytes_per_packet is the growth in memory per packet that the path and the buffer can hold.
    """
    names = [name for name in ("longpipe", "ns-2") if simulators.missing(name) is None]
    rows = []
    for sweep, _, works in sweeps():
        for value, work in works:
            kinds = [(name, mode) for name in names for mode in MODES[name] if name == "longpipe" or _bearable(work)]
            found: dict[tuple[str, Mode], list[Run]] = {kind: [] for kind in kinds}
            for _ in range(runs):
                for name, mode in kinds:
                    told(f"{name}, {mode}: {sweep} {value:g}")
                    found[name, mode].append(simulators.run(name, work, mode))
            for (name, mode), done in found.items():
                grown = median(run.peak_bytes - run.loaded_bytes for run in done)
                rows.append(
                    {
                        "sweep": sweep,
                        "value": value,
                        "simulator": name,
                        "mode": mode,
                        "delivered_packets": done[0].delivered_packets,
                        "packets_per_cpu_second": done[0].delivered_packets / median(run.simulation_s for run in done),
                        "layout_cpu_seconds": median(run.cpu_s - run.simulation_s for run in done),
                        "peak_memory_bytes": round(median(run.peak_bytes for run in done)),
                        "bytes_per_packet": grown / (work.pipe_packets + work.buffer_packets),
                    }
                )
    return pd.DataFrame(rows)


def _bearable(work: Work) -> bool:
    return work.trunk_bps / 8 / (MSS_BYTES + 40) * work.duration_s <= NS2_MOST_PACKETS and work.flows <= 1000


def show(frame: pd.DataFrame, console: Console) -> None:
    """Prints the rows."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("against")
    headings = ("value", "simulator", "delivered", "Mpackets/\nCPU s", "laid out\nin CPU s", "memory\n[MB]")
    for name in headings:
        table.add_column(name.replace("[", r"\["), justify="right", no_wrap=True)
    for row in frame.to_dict(orient="records"):
        table.add_row(
            row["sweep"],
            f"{row['value']:g}",
            f"{row['simulator']}, {row['mode']}",
            str(row["delivered_packets"]),
            f"{row['packets_per_cpu_second'] / 1e6:.2f}",
            f"{row['layout_cpu_seconds']:.3f}",
            f"{row['peak_memory_bytes'] / 1e6:.0f}",
        )
    console.print(table)


def draw(frame: pd.DataFrame, folder: Path) -> list[Path]:
    """Draws a panel per sweep with logarithmic axes; writes scaling.png and scaling.svg."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for panel, (sweep, label, _) in zip(panels, sweeps(), strict=True):
        for (simulator, mode), look in LOOKS.items():
            here = (frame["sweep"] == sweep) & (frame["simulator"] == simulator) & (frame["mode"] == mode)
            points = frame[here]
            y = points["packets_per_cpu_second"] / 1e6
            panel.plot(points["value"], y, marker=look.marker, color=look.color, label=look.label)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(label)
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
    panels[0].set_ylabel("million data packets delivered\nper second of user CPU")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    return save(figure, folder / "scaling")
