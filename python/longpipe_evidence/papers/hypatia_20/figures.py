"""Figures of Hypatia's runs: each controller's share of the link, and windows."""

from typing import Final

from matplotlib.figure import Figure

from longpipe.pictures.style import BLUE, VERMILION, plain
from longpipe_evidence.papers.hypatia_20.claims import PAIRS
from longpipe_evidence.papers.names import NAMES
from longpipe_evidence.papers.reproduction import Reproduction
from longpipe_evidence.papers.seeds import counted

COLORS: Final = {"newreno": BLUE, "vegas": VERMILION}
PANELS: Final = {"utilization": "share of 10 Mbit/s in use", "mean_queue": "mean queue [packets]"}


def figures(reproduction: Reproduction) -> dict[str, Figure]:
    """Draws the used share of the link and the mean queue by pair and controller, with a point per seed."""
    runs = reproduction.runs[reproduction.runs["replicated"]]
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(PANELS))
    for panel, (metric, label) in zip(panels, PANELS.items(), strict=True):
        for tcp, color in COLORS.items():
            for index, pair in enumerate(PAIRS):
                values = runs[(runs["pair"] == pair) & (runs["tcp"] == tcp)][metric]
                panel.plot(
                    [index] * len(values), values, "o", color=color, alpha=0.7, label=NAMES[tcp] if index == 0 else ""
                )
        panel.set_xticks(range(len(PAIRS)), [name.replace(" - ", "\n") for name in PAIRS.values()], fontsize=8)
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
        plain(panel)
    panels[0].legend(frameon=False)
    figure.suptitle(f"hypatia-20: one flow over Kuiper-630 for 200 s, {counted(reproduction.seeds)}")
    return {"controls": figure}
