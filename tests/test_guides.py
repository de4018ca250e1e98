"""Numbers in sentences of the README and the how-to guides, computed as these pages say."""

import re

import pytest

from commands import PLAIN, run
from documented import DOCS
from longpipe import Scenario, simulate
from thorough import examples

GUIDES = DOCS / "how-to"
WIDE = {**PLAIN, "COLUMNS": "300"}
# The path of Figure 8 of the BBR paper, as in cubic-or-bbr.md.
PAPER = Scenario(defaults="1996").with_(
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


def test_readme_states_throughputs_of_its_figure() -> None:
    text = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    starlink = Scenario.example("starlink")
    rates = [
        simulate(starlink.with_(**{"tcp.congestion": control}), seed=1).total_bps / 1e6 for control in ("cubic", "bbr")
    ]
    assert f"keep CUBIC at {rates[0]:.0f} Mbit/s, whereas BBR reaches {rates[1]:.0f} Mbit/s" in text


def test_cubic_has_a_third_of_the_goodput_with_few_losses() -> None:
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


@pytest.mark.skipif(examples(0, 1) == 0, reason="LONGPIPE_THOROUGH=1 runs all guides' sweeps")
def test_gateway_answer_equals_the_page() -> None:
    text = " ".join((DOCS / "advise.md").read_text(encoding="utf-8").split())
    queues = "queue:switch.policy=tail-drop,pie,codel,fq-codel"
    buffers = "buffer:switch.buffer=0.1 BDP,0.25 BDP,0.5 BDP,1 BDP,2 BDP"
    assert f"`--choose {queues} --choose '{buffers}'`" in text
    gateway = ("--gateway", "100 Mbit/s", "--rtt", "600 ms", "--users", "200", "--calls", "5")
    done = run("advise", *gateway, "--choose", queues, "--choose", buffers, "--no-store", environment=WIDE)
    found = re.match(r"queue fq-codel, buffer 0\.1 BDP: web\.p95 ([\d.]+) ±([\d.]+) s", done.stdout)
    runs, codel = re.search(r"- (\d+) runs: ", done.stdout), re.search(r"codel: worse by ([\d.]+) ", done.stdout)
    assert found is not None
    assert runs is not None
    assert codel is not None
    mean, half = f"{float(found[1]):.1f}", f"{float(found[2]):.1f}".lstrip("0")
    assert f"needs {runs[1]} runs" in text
    assert f"FQ-CoDel with a buffer of 0.1 BDP, with page times of {mean} ± {half} s. CoDel's are " in text
    assert f"{float(codel[1]):.1f} s longer with this buffer" in text


def test_proxy_shortens_a_transfer_over_geo() -> None:
    single = Scenario.example("geo-pep").with_(**{"network.sources": 1, "start": "fixed"})
    split, whole = (
        float(simulate(scenario, seed=1).flows["completion_s"][0])
        for scenario in (single, single.with_(**{"network.pep": None}))
    )
    words = f"With the proxy, the transfer of a 10 MB file takes {split:.1f} s; without `[network.pep]` it takes {whole:.1f} s"
    assert words in text_of("starlink-and-geo.md")


def shares_of_prague(interval: str | None, low: str, high: str) -> float:
    """Returns the mean share of Prague over three seeds in the scenario of l4s-over-bursty-links.md."""
    page = (GUIDES / "l4s-over-bursty-links.md").read_text(encoding="utf-8")
    scenario = Scenario.from_toml(page.partition("```toml\n")[2].partition("```")[0])
    scenario = scenario.with_(**{"switch.policy.marking": {"kind": "ramp", "min": low, "max": high}})
    changes: dict[str, object] = (
        {"network.conditioners": []} if interval is None else {"network.conditioners.0.interval": interval}
    )
    found = []
    for seed in (1, 2, 3):
        flows = simulate(scenario.with_(**changes), seed=seed).flows.set_index("flow")["throughput_bps"]
        found.append(float(flows[[name for name in flows.index if name.startswith("prague")]].sum() / flows.sum()))
    return sum(found) / len(found)


@pytest.mark.skipif(examples(0, 1) == 0, reason="LONGPIPE_THOROUGH=1 runs all guides' sweeps")
def test_shares_of_prague_over_bursty_links_are_as_stated() -> None:
    text = text_of("l4s-over-bursty-links.md")
    default = "800 us", "1200 us"
    assert f"**Without batches**, Prague gets {shares_of_prague(None, *default):.0%} of".replace("%", " %") in text
    shares = [f"{shares_of_prague(interval, *default):.2f}".lstrip("0") for interval in ("1 ms", "2 ms", "8 ms")]
    assert "Prague's share is {} with batches every 1 ms, {} with 2 ms and {} with 8 ms".format(*shares) in text
    wide = sorted(shares_of_prague(interval, "16 ms", "24 ms") for interval in ("1 ms", "2 ms", "4 ms", "8 ms"))
    stated = f"Prague's share is {wide[0]:.2f} to {wide[-1]:.2f}".replace(" 0.", " .")
    assert stated in text
