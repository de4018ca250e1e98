"""Extension of RFC 9438: figure 8 of Cardwell et al. 2016, goodput of CUBIC, BBR and BBRv3 by packet loss rate."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe.scenario import Scenario

if TYPE_CHECKING:
    from longpipe.study import Runner

# 100 Mbit/s and 100 ms for 60 s, as in the figure's caption; buffer and handshake RTT are not specified.
PATH: Final = Scenario(defaults="1996").with_(
    **{
        "framing": "ip",
        "duration": "60 s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "100 Mbit/s",
            "trunk_delay": "50 ms",
        },
        "switch.buffer": "1 BDP",
        "tcp": {"profile": "linux-6", "initial_rtt": "100 ms"},
    }
)
CONTROLS: Final = ("cubic", "bbr", "bbr3")
LOSSES: Final = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
# Losses are random.
SEEDS: Final = (1, 2, 3, 4, 5)


def scenario(control: str, loss: float) -> Scenario:
    """Returns one point of the figure as a scenario."""
    return PATH.with_(
        **{
            "name": f"figure 8 {control} p={loss:g}",
            "tcp.congestion": control,
            "network.trunk_loss": {"kind": "bernoulli", "probability": loss},
        }
    )


def reproduce_beyond(runner: Runner) -> pd.DataFrame:
    """Runs the missing points. Returns a row per run: `loss`, `control`, `seed`, `goodput_mbps`, `timeouts`."""
    planned = [(control, loss, seed) for control, loss, seed in product(CONTROLS, LOSSES, SEEDS)]
    jobs = [(scenario(control, loss), seed) for control, loss, seed in planned]
    runner.complete(jobs)
    rows = []
    for (control, loss, seed), job in zip(planned, jobs, strict=True):
        flows = runner.require(*job).flows
        goodput = float(flows["throughput_bps"].sum()) / 1e6
        measured = {"goodput_mbps": goodput, "timeouts": int(flows["timeouts"].sum())}
        rows.append({"loss": loss, "control": control, "seed": seed, **measured})
    return pd.DataFrame(rows)


def spread(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the goodput [Mbit/s] as text by loss rate, a column per controller: mean (smallest to largest run)."""
    table = runs.groupby(["loss", "control"])["goodput_mbps"].agg(["mean", "min", "max"])
    table["text"] = [f"{mean:.3g} ({low:.3g} to {high:.3g})" for mean, low, high in table.itertuples(index=False)]
    wide = table.pivot_table("text", index="loss", columns="control", aggfunc="first")
    return wide[list(CONTROLS)].rename_axis(columns=None).reset_index()


def by_loss(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the mean goodput [Mbit/s] over the seeds by loss rate, a column per controller."""
    wide = runs.pivot_table("goodput_mbps", index="loss", columns="control")
    return wide[list(CONTROLS)].rename_axis(columns=None).reset_index()
