"""Figures of one transfer's send sequence in longpipe and in ns-2."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe.pictures.style import ASH, BLUE, MAX_SHAPES, ORANGE, VERMILION, legend, plain
from longpipe_evidence.validate.ns2_drops import Comparison
from longpipe_evidence.validate.ns2_transfers import TransferComparison

LONGPIPE, NS2, LOST = BLUE, ORANGE, VERMILION
# Length of the detail, which starts shortly before the first loss, or at the transfer's start if there are no losses.
BEFORE_S: Final = 0.15
DETAIL_S: Final = 1.2


def sequences(comparison: TransferComparison) -> pd.DataFrame:
    """Returns the segments sent and lost in each simulator: `simulator`, `event` (sent or lost), `s`, `segment`."""
    frames = {
        ("ns-2", "sent"): comparison.ns2_sent,
        ("longpipe", "sent"): comparison.longpipe_sent,
        ("longpipe", "lost"): comparison.longpipe_lost,
    }
    return pd.concat(
        [frame.assign(simulator=simulator, event=event) for (simulator, event), frame in frames.items()],
        ignore_index=True,
    )[["simulator", "event", "s", "segment"]]


def sequence(comparison: TransferComparison) -> Figure:
    """Draws the segments sent over time in both simulators: the whole transfer, and a detail around its first loss."""
    points = sequences(comparison)
    lost = comparison.longpipe_lost
    begin = max(0.0, float(lost["s"].iloc[0]) - BEFORE_S) if len(lost) else 0.0
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    whole, detail = figure.subplots(1, 2)
    _panel(whole, points, size=0.6)
    whole.set_title("whole transfer", loc="left", fontsize=10)
    window = points[points["s"].between(begin, begin + DETAIL_S)]
    _panel(detail, window, size=2.5)
    detail.set_title("from the first loss on" if len(lost) else "the beginning", loc="left", fontsize=10)
    transfer = comparison.transfer
    longpipe_s, ns2_s = (measures["completion_time_s"] for measures in (comparison.longpipe, comparison.ns2))
    figure.suptitle(
        f"{transfer.tcp}, W* = {transfer.w_star_packets}, B = {transfer.buffer_bdp:g} W*: complete after "
        f"{longpipe_s:.4f} s in longpipe, {ns2_s:.4f} s in ns-2"
    )
    handles, labels = whole.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, markerscale=4)
    return figure


def drops(comparison: Comparison) -> Figure:
    """Draws the segments sent over time in longpipe and in ns-2 with the same packets dropped, from the first drop on.

    A mark shows where the orders differ.
    """
    sent, case = comparison.sent, comparison.case
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    plain(axes)
    for side, name, size, color in (("ns2", "ns-2", 7.0, NS2), ("longpipe", "longpipe", 3.5, LONGPIPE)):
        sequence = sent[[f"{side}_s", f"{side}_segment"]].dropna().astype(float).to_numpy()
        many = len(sequence) > MAX_SHAPES
        axes.plot(
            sequence[:, 0], sequence[:, 1], "o", color=color, ms=size, mew=0, label=f"sent by {name}", rasterized=many
        )
    # The bottleneck numbers packets in order of transmission.
    lost = sent.loc[sent.index.isin(case.drop), ["longpipe_s", "longpipe_segment"]].dropna().astype(float).to_numpy()
    if len(lost):
        axes.plot(lost[:, 0], lost[:, 1], "x", color=LOST, ms=9, mew=1.6, label="dropped")
        axes.set_xlim(left=max(0.0, lost[0, 0] - BEFORE_S))
    first = comparison.first_difference
    if first is not None:
        parted_s = sent[["longpipe_s", "ns2_s"]].to_numpy(dtype=float)[first].min()
        axes.axvline(parted_s, color=ASH, lw=1, ls="--", label="orders diverge")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("segment")
    verdict = "the same order" if first is None else f"order differs from number {first} on"
    dropped = f"dropping {', '.join(map(str, case.drop))}" if case.drop else "no drops"
    figure.suptitle(f"{case.tcp}, {dropped}: {verdict}", fontsize=11)
    legend(figure, [axes])
    return figure


def _panel(axes: Axes, points: pd.DataFrame, size: float) -> None:
    """Draws the segments sent and lost in both simulators."""
    plain(axes)
    for simulator, event, label, marker, color, scale in (
        ("ns-2", "sent", "sent by ns-2", "o", NS2, 4.0),
        ("longpipe", "sent", "sent by longpipe", "o", LONGPIPE, 1.0),
        ("longpipe", "lost", "lost at the bottleneck (longpipe)", "x", LOST, 2.5),
    ):
        segments = points[(points["simulator"] == simulator) & (points["event"] == event)]
        # Rasterize, because there are thousands of points.
        axes.plot(
            segments["s"],
            segments["segment"],
            marker,
            color=color,
            markersize=size * scale**0.5 * 1.6,
            markeredgewidth=0.8 if marker == "x" else 0,
            label=label,
            rasterized=True,
        )
    axes.set_xlabel("time [s]")
    axes.set_ylabel("segment")
