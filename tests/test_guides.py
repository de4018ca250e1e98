"""Numbers in sentences of the how-to guides, computed as the guides say."""

import pytest

from documented import DOCS
from longpipe import Scenario, simulate
from thorough import examples

GUIDES = DOCS / "how-to"
# The path of Figure 8 of the BBR paper, as in cubic-or-bbr.md.
PAPER = Scenario().with_(
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
SEEDS = range(1, 6)


def rates_mbps(control: str, loss: float) -> list[float]:
    """Returns the goodput of each seed."""
    lossy = {"tcp.congestion": control, "network.trunk_loss": {"kind": "bernoulli", "probability": loss}}
    scenario = PAPER.with_(**lossy)
    return [float(simulate(scenario, seed=seed).flows["throughput_bps"].sum()) / 1e6 for seed in SEEDS]


def text_of(name: str) -> str:
    """Returns a guide without line breaks."""
    return " ".join((GUIDES / name).read_text(encoding="utf-8").split())


def test_cubic_falls_to_a_third_of_the_goodput_at_few_losses() -> None:
    assert "falls to a third at a loss rate of 10⁻⁴ (mean of five seeds)" in text_of("cubic-or-bbr.md")
    # 1500 bytes of a packet contain 1448 of payload.
    assert sum(rates_mbps("cubic", 1e-4)) / len(SEEDS) == pytest.approx(100 * 1448 / 1500 / 3, rel=0.1)


@pytest.mark.skipif(examples(0, 1) == 0, reason="LONGPIPE_THOROUGH=1 runs all guides' sweeps")
def test_bbr_collapses_at_losses_of_15_to_20_percent() -> None:
    text = text_of("cubic-or-bbr.md")
    assert "uses the capacity that remains after losses up to a loss rate of 10 %" in text
    assert all(rate > 0.9 * 100 * 1448 / 1500 * 0.9 for rate in rates_mbps("bbr", 0.1))
    assert "At 15 %, one of five runs collapses, and at 20 %" in text
    collapsed = {loss: sum(rate < 0.5 * 100 * (1 - loss) for rate in rates_mbps("bbr", loss)) for loss in (0.15, 0.2)}
    assert collapsed == {0.15: 1, 0.2: 5}
