"""Picture of the RTT and the data in flight of observed, fitted and changed flows over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from longpipe.errors import shortened
from longpipe.fit.whatif import WhatIf
from longpipe.pictures.figure import with_literal_texts
from longpipe.pictures.style import GREY, PALETTE, panels, titled


@with_literal_texts
def whatif(found: WhatIf) -> Figure:
    """Draws the RTT and data in flight of one flow in `WhatIf`'s pair of runs, and of the observed flow if recorded."""
    changes_text = ", ".join(f"{field}={value}" for field, value in found.changes.items())
    end = float(found.baseline.grid[-1])
    pair = "a pair of runs over the estimated path" if found.estimates else "first of the pairs of runs"
    if len(found.flows) > 1:
        pair += f", flow {found.flows[0]} of {len(found.flows)}"
    figure, axes = panels(2, titled(shortened(changes_text, 100), pair), (0.0, end), height=2.4)
    flows = [("fitted" if found.estimates else "unchanged", found.baseline.grid, found.baseline, PALETTE[0], 1.3)]
    flows.append(("changed", found.changed.grid, found.changed, PALETTE[1], 1.3))
    for place, (name, label, factor) in enumerate((("rtt", "RTT [ms]", 1e3), ("in_flight", "in flight [kB]", 1e-3))):
        if found.estimates is not None:
            series = found.estimates["series"]
            key = "rtt_s" if name == "rtt" else "in_flight_bytes"
            axes[place].plot(
                series["time_s"], factor * np.array(series[key], dtype=float), color=GREY, lw=2.6, label="observed"
            )
        for label_of, grid, of, colour, width in flows:
            axes[place].plot(grid, factor * getattr(of, name), color=colour, lw=width, label=label_of)
        axes[place].set_ylabel(label)
        axes[place].set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
