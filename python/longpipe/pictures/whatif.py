"""Picture of the RTT and the data in flight of observed, fitted and changed flows over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from longpipe.errors import shortened
from longpipe.fit.whatif import WhatIf
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import GREY, PALETTE, panels, titled


@with_literal_texts
def whatif(comparison: WhatIf) -> Figure:
    """Draws the RTT and data in flight of one flow in `WhatIf`'s pair of runs, and of the observed flow if recorded."""
    changes_text = ", ".join(f"{field}={value}" for field, value in comparison.changes.items())
    end = float(comparison.baseline.grid[-1])
    pair = "a pair of runs over the estimated path" if comparison.estimates else "first of the pairs of runs"
    if len(comparison.flows) > 1:
        pair += f", flow {comparison.flows[0]} of {len(comparison.flows)}"
    figure, axes = panels(2, titled(shortened(changes_text, 100), pair), (0.0, end), height=2.4)
    baseline, changed = comparison.baseline, comparison.changed
    baseline_label = "fitted" if comparison.estimates else "unchanged"
    quantities = (
        ("rtt_s", baseline.rtt, changed.rtt, "RTT [ms]", 1e3),
        ("in_flight_bytes", baseline.in_flight, changed.in_flight, "in flight [kB]", 1e-3),
    )
    for panel, (observed, of_baseline, of_changed, label, factor) in zip(axes, quantities, strict=True):
        if comparison.estimates is not None:
            series = comparison.estimates["series"]
            numbers = factor * np.array(series[observed], dtype=float)
            panel.plot(series["time_s"], numbers, color=GREY, lw=2.6, label="observed")
        panel.plot(baseline.grid, factor * of_baseline, color=PALETTE[0], lw=1.3, label=baseline_label)
        panel.plot(changed.grid, factor * of_changed, color=PALETTE[1], lw=1.3, label="changed")
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
