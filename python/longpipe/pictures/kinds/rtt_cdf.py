"""Cumulative distribution of a sender's RTT samples."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.kinds.kind import Kind
from longpipe.pictures.recorded import Run, chosen_senders, name_of, of_flows, rows_of, trace, within
from longpipe.pictures.style import DASHES, PALETTE, color, figure_of, legend, logarithmic, plain, title_of, titled

MAX_FLOWS: Final = 8
# What a flow without a sender lacks.
LACKS: Final = "RTT samples"


def _samples(run: Run, span_s: tuple[float, float] | None) -> pd.DataFrame:
    return within(trace(run, "rtt").dropna(subset=["rtt_s"]), span_s)


@with_literal_texts
def rtt_cdf(
    runs: Run | Mapping[str, Run],
    flows: Sequence[str] | None = None,
    span_s: tuple[float, float] | None = None,
    *,
    most: int | None = MAX_FLOWS,
    log: bool = False,
) -> Figure:
    """Draws the cumulative distribution of RTT samples; from `traces.rtt`.

    One run is drawn with a line for each flow; without `flows`, for the `most` flows with the most samples (None for
    all). Several runs are drawn with one line each, labeled with the run's key, for the samples of all `flows`
    together. With `log`, the axis of RTTs is logarithmic.
    """
    several = runs if isinstance(runs, Mapping) else {"": runs}
    lines: dict[str, pd.Series] = {}
    note = ""
    for label, run in several.items():
        samples = _samples(run, span_s)
        sizes = samples["flow"].astype(str).value_counts()
        names, note = chosen_senders(run, flows, most, sizes, "most RTT samples", rows=samples, lacks=LACKS)
        if len(several) > 1:
            lines[label], note = rows_of(samples, flows)["rtt_s"], ""
        else:
            lines = {name: samples["rtt_s"][samples["flow"].astype(str) == name] for name in names}
    figure = figure_of(4.4)
    panel = figure.subplots()
    plain(panel)
    for number, (label, rtts_s) in enumerate(lines.items()):
        ordered_ms = np.sort(1e3 * rtts_s.to_numpy())
        shares = np.arange(1, len(ordered_ms) + 1) / len(ordered_ms)
        dashes = DASHES[number // len(PALETTE) % len(DASHES)]
        panel.step(ordered_ms, shares, where="post", color=color(number), ls=dashes, lw=1.2, label=label)
    if log:
        logarithmic(panel, "x")
    panel.set_ylim(0, 1)
    panel.set_xlabel("round trip [ms]")
    panel.set_ylabel("share of samples up to this value")
    called = ", ".join(dict.fromkeys(name_of(run) for run in several.values()))
    title_of(figure, titled(f"{called}: RTT samples{of_flows(flows)}", note))
    if len(lines) > 1:
        legend(figure, [panel])
    return figure


PICTURES: Final = {"rtt-cdf": Kind(draw=rtt_cdf, of="flows", traces=("rtt",), lacks=LACKS, needs_sender=True)}
