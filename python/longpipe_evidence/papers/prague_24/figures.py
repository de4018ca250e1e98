"""Figure of Prague's share in each queue, simulated and published."""

from typing import Final

from matplotlib.figure import Figure

from longpipe.pictures.style import BLUE, GREY, VERMILION, plain
from longpipe_evidence.papers.prague_24 import BUFFERS_BDP, LEGACY, QUEUES
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import counted

TITLES: Final = {"cubic": "CUBIC\nwithout ECN", "cubic-ecn": "CUBIC\nwith classic ECN", "bbr": "BBR"}


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Draws Prague's share over the buffer: a panel per queue and other control, with the intervals of the means."""
    rows = reproduction.rows
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    panels = figure.subplots(len(LEGACY), len(QUEUES), sharex=True, sharey=True)
    for line, legacy in zip(panels, LEGACY, strict=True):
        for panel, (queue, name) in zip(line, QUEUES.items(), strict=True):
            cells = rows[(rows["legacy"] == legacy) & (rows["queue"] == queue)]
            panel.axhline(0.475, color=GREY, lw=0.8)
            panel.plot(cells["buffer_bdp"], cells["published"], "o-", color=VERMILION, mfc="none", label="published")
            above, below = cells["mean_high"] - cells["mean"], cells["mean"] - cells["mean_low"]
            panel.errorbar(
                cells["buffer_bdp"], cells["mean"], [below, above], fmt="s-", color=BLUE, ms=4, label="longpipe"
            )
            panel.set_xscale("log", base=2)
            panel.set_xticks(BUFFERS_BDP, [f"{buffer:g}" for buffer in BUFFERS_BDP])
            panel.set_ylim(0, 1)
            plain(panel)
            if legacy == "cubic":
                panel.set_title(name, fontsize=10)
            if legacy == "bbr":
                panel.set_xlabel("buffer [BDP]")
        line[0].set_ylabel(f"beside {TITLES[legacy]}", fontsize=9)
    panels[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"prague-24: share of 100 Mbit/s of TCP Prague, {counted(reproduction.seeds)}")
    return {"shares": figure}
