"""Suites contain the numbers of their documents, and one command executes them and reports the results."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from longpipe.cli import app
from longpipe.errors import ScenarioError
from longpipe.units import RATE, SIZE, TIME
from longpipe_evidence.suites import IDS, SUITES
from longpipe_evidence.suites.rfc_7928 import LEVELS
from longpipe_evidence.suites.suite import SuitePart

# Parts with a thousand flows, which take seconds to check.
MANY = {"4.4.1", "4.4.2", "4.4.3", "4.4.4", "5.1", "6.3"}


def part(suite: str, section: str) -> SuitePart:
    return SUITES[suite].only([section])[0]


@pytest.mark.parametrize("suite", IDS)
def test_all_levels_of_a_suite_are_scenarios(suite: str) -> None:
    for one in SUITES[suite].parts:
        if one.id not in MANY:
            design = one.design(1, {})
            assert len(design.scenarios) == len(design.points)
            assert not {factor.name for factor in design.factors} & {measure.name for measure in design.asked}


def test_unknown_part_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ScenarioError, match=r"^PART: '8\.3'; .*accepts .*8\.2\.5") as error:
        SUITES["rfc-7928"].only(["8.3"])
    assert "\n" not in str(error.value)
    done = CliRunner().invoke(app, ["suite", "rfc-7929"])
    assert isinstance(done.exception, ScenarioError)
    assert str(done.exception).startswith("SUITE: 'rfc-7929'; ")


def graph(part_of: SuitePart, level: str | None = None, factor: str = "load") -> dict[str, Any]:
    network: Any = part_of.base["network"] if level is None else part_of.factors[factor][level]["network"]
    return dict(network)


def round_trip_ms(network: dict[str, Any], flow: dict[str, Any], routers: tuple[str, ...]) -> float:
    """Returns the RTT [ms] of a flow over a chain of routers: twice the sum of the delays."""
    delays = {frozenset(link["between"]): TIME.parse(link["delay"]) / 1e9 for link in network["links"]}
    [first] = [router for router in routers if frozenset((flow["from"], router)) in delays]
    [last] = [router for router in routers if frozenset((flow["to"], router)) in delays]
    a, b = sorted((routers.index(first), routers.index(last)))
    way = [*zip(routers[a:b], routers[a + 1 : b + 1], strict=True), (flow["from"], first), (flow["to"], last)]
    return float(2 * sum(delays[frozenset(pair)] for pair in way))


def test_evaluation_suite_paths_have_the_rtts_of_table_1() -> None:
    network = graph(part("tcpeval", "4.4.2"), "60 %")
    found = {
        (flow["to"][1], flow["from"][1]): round_trip_ms(network, flow, ("r1", "r2")) - 2 * 2
        for flow in network["flows"]
    }
    table = {"14": 4, "15": 74, "16": 150, "24": 28, "25": 98, "26": 174, "34": 54, "35": 124, "36": 200}
    assert {"".join(pair): rtt for pair, rtt in found.items()} == table


@pytest.mark.parametrize("rtts", ["80 80", "120 30", "30 120"])
def test_ramps_have_the_rtts_in_their_names(rtts: str) -> None:
    network = graph(part("tcpeval", "5.2"), rtts, "round_trips")
    assert [round_trip_ms(network, flow, ("r1", "r2")) for flow in network["flows"][:2]] == [
        float(rtt) for rtt in rtts.split()
    ]


def test_all_sources_of_the_parking_lot_have_60_ms() -> None:
    network = graph(part("tcpeval", "6.3"))
    assert {round_trip_ms(network, flow, ("r1", "r2", "r3", "r4")) for flow in network["flows"]} == {60.0}


@pytest.mark.parametrize(("load", "share"), [("60 %", 0.6), ("85 %", 0.85), ("110 %", 1.1)])
def test_clients_request_the_load_of_the_access_link(load: str, share: float) -> None:
    flows = graph(part("tcpeval", "4.4.2"), load)["flows"]
    # Table 1 of ATM Forum/98-0876: shares of classes with mean file sizes of 0.5, 5, 50 KB and so on.
    mean_kb = sum(of * 0.5 * 10**k for k, of in enumerate((0.2, 0.28, 0.4, 0.112, 0.008)))
    offered_bps = len(flows) * 5 * mean_kb * 1024 * 8 / 10
    assert offered_bps == pytest.approx(share * 100e6, rel=0.01)


def test_transients_are_those_of_section_5_3() -> None:
    levels = part("tcpeval", "5.3").factors["transient"]
    steps: Any = levels["30 steps"]["network"]
    rates = [RATE.parse(flow["traffic"]["rate"]) for flow in steps["flows"][1:]]
    assert (len(rates), sum(rates)) == (30, 75e6)
    assert round_trip_ms(dict(steps), steps["flows"][0], ("r1", "r2")) == 100.0


def test_congestion_levels_of_rfc_7928_follow_morris() -> None:
    # For losses l of 0.1, 0.5 and 1 %, N = S (l/0.76)^0.5 is 0.036, 0.081 and 0.115 times the 166 packets that fill
    # path and buffer.
    assert LEVELS == {"mild": 6, "medium": 13, "heavy": 19}
    bdp = RATE.parse("10 Mbit/s") * TIME.parse("100 ms") / 10**12 / (8 * SIZE.parse("1500 B"))
    assert round(bdp) == 83


def test_one_command_runs_a_part_and_writes_its_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["suite", "rfc-7928", "5.1.2", "--seeds", "2", "--set", "duration=2 s", "--no-store", "-o", str(out)]
    done = CliRunner().invoke(app, [*asked, "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "fq-codel" in done.output
    runs = pd.read_csv(out / "part-5.1.2.csv")
    assert len(runs) == 10
    assert set(runs["queue"]) == {"tail-drop", "adaptive red", "pie", "codel", "fq-codel"}
    assert (runs["three"] > 0).all()
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "TCP-friendly senders with different initial windows" in text
    assert "duration = 2 s" in text
    assert "8.2.6" in text


def test_page_cells_have_mean_and_interval(tmp_path: Path) -> None:
    asked = ["suite", "rfc-7928", "5.3 alone", "--seeds", "2", "--set", "duration=1 s", "--no-store", "--workers", "1"]
    done = CliRunner().invoke(app, [*asked, "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "loss [%]" in done.output
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    [heads] = re.findall(r"<thead>(.*?)</thead>", text, re.DOTALL)
    assert re.findall(r'data-head="([^"]*)"', heads) == [
        "queue",
        "goodput [Mbit/s]",
        "delay [ms]",
        "p95 [ms]",
        "loss [%]",
    ]
    # Datagrams are sent at ten times the rate: nine out of ten are lost once the buffer is full.
    runs = pd.read_csv(tmp_path / "part-5.3-alone.csv")
    tail = runs[runs["queue"] == "tail-drop"]["loss"].mean()
    assert 0.8 < tail < 0.95
    assert f"{100 * tail:.2f} ±" in text


def test_change_without_effect_in_some_parts_is_reported() -> None:
    listed = ["suite", "rfc-7928", "5.1.1", "5.3 alone", "--list"]
    done = CliRunner().invoke(app, [*listed, "--set", "switch.policy=pie", "--set", "tcp.congestion=bbr"])
    assert done.stderr.splitlines() == [
        "warning: --set switch.policy: no effect, because the factor 'queue' sets it at every level",
        "warning: --set tcp.congestion: no effect in 5.1.1, because their factors or groups set it",
    ]
