"""Tests of `longpipe fairness`: the shares and the harm in pairs of congestion controls."""

import re
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.fairness.controls import senders
from longpipe.fairness.page import page
from longpipe.fairness.pairs import ENDED, Pair, PairKey, Paths, base, designs, matrix, planned, scenarios, table
from longpipe.fairness.pairs import run as runs_of
from longpipe.pictures.pairs import shares
from longpipe.pictures.style import text_color
from longpipe.report.svg import contrast
from longpipe.store import Store
from longpipe.study import Runner


@pytest.fixture(scope="module")
def pairs() -> dict[tuple[str, str], Pair]:
    paths = Paths(("4 Mbit/s",), ("20 ms",), ("4 BDP",))
    with ThreadPoolExecutor(1) as threads:
        runner = Runner(Store(), threads)
        frames = [runs_of(design, runner) for design in designs(base("16 s", {}), senders("cubic,vegas"), paths, 5)]
    return {(pair.row, pair.column): pair for pair in matrix(*frames)}


def test_harm_is_relative_to_the_throughput_alone(
    pairs: dict[tuple[str, str], Pair],
) -> None:
    one, other = pairs["cubic", "vegas"], pairs["vegas", "cubic"]
    assert one.share.mean + other.share.mean == pytest.approx(1)
    # Each of them can fill the link alone, so the harm to Vegas is the share that CUBIC takes from it.
    assert one.harm.mean == pytest.approx(one.share.mean, abs=0.03)
    # Of two equal controls, the flow that starts first harms the later one.
    both = pairs["cubic", "cubic"]
    assert both.harm.mean == pytest.approx(both.share.mean, abs=0.03)


def test_pairs_with_a_dead_connection_are_marked(pairs: dict[tuple[str, str], Pair]) -> None:
    dead = [replace(pair, died=2 if pair.row == "vegas" else 0) for pair in pairs.values()]
    assert list(table(dead)["runs with a dead connection"]) == [pair.died for pair in dead]
    assert "runs with a dead connection" not in table(list(pairs.values()))
    texts = {text.get_text() for text in shares(dead).axes[0].texts}
    assert {f"{pair.share.mean:.2f}" + "\ndied" * (pair.died > 0) for pair in dead} == texts
    assert ENDED in page(dead, {}, all_scenarios(dead), 5, "longpipe fairness", {})


def all_scenarios(pairs: list[Pair]) -> dict[PairKey, Scenario]:
    return {PairKey(pair.path, pair.row, pair.column): base("16 s", {}) for pair in pairs}


def test_the_flows_of_a_pair_take_turns_to_start_first() -> None:
    paths = Paths(("4 Mbit/s",), ("20 ms",), ("4 BDP",))
    scenario = base("2 s", {})
    both, solo = designs(scenario, senders("cubic,vegas"), paths, 4)
    with ThreadPoolExecutor(1) as threads:
        runner = Runner(Store(), threads)
        runs, alone = runs_of(both, runner), runs_of(solo, runner)
    assert runs.groupby(["one", "other"]).agg(list)["seed"].map(sorted).tolist() == [[1, 2, 3, 4]] * 3
    assert (runs["first"] == runs["seed"].map(lambda seed: "one" if seed % 2 else "other")).all()
    # The share of equal controls is that of the first flow, whatever its position.
    (equal,) = [pair for pair in matrix(runs, alone) if pair.row == pair.column == "vegas"]
    own = runs[(runs["one"] == "vegas") & (runs["other"] == "vegas")]
    early = own["one_bps"].where(own["first"] == "one", own["other_bps"])
    assert equal.share.mean == pytest.approx((early / (own["one_bps"] + own["other_bps"])).mean())
    # The name of a scenario has the flow that starts first in front.
    starts = {}
    for (path, first, second), one in scenarios(both).items():
        assert one.name == f"{first} beside {second}, {path}"
        starts[first, second] = simulate(one, seed=7).flows.set_index("flow")["start_s"].to_dict()
        found = [flow["tcp"]["congestion"] for flow in one.resolved["flows"]]
        controls = [control if isinstance(control, str) else control["kind"] for control in found]
        order = controls if starts[first, second]["one"] < starts[first, second]["other"] else controls[::-1]
        assert order == [first, second]
    assert set(starts) == {("cubic", "cubic"), ("cubic", "vegas"), ("vegas", "cubic"), ("vegas", "vegas")}


def test_start_times_that_are_set_are_kept() -> None:
    paths = Paths(("4 Mbit/s",), ("20 ms",), ("4 BDP",))
    at_once = base("2 s", {"start": {"kind": "staggered", "interval": "250 ms"}})
    both, _ = designs(at_once, senders("cubic,vegas"), paths, 2)
    assert [one.start for one in both.scenarios] == [at_once.start] * 3
    assert [run.seed for run in planned(both)] == [1, 2] * 3
    assert len(scenarios(both)) == 3


def test_table_names_the_harmed_flow(pairs: dict[tuple[str, str], Pair]) -> None:
    shown = table(list(pairs.values())).set_index(["control", "beside"])
    done = shown["harm to beside"]
    # CUBIC takes most of the link from Vegas.
    assert done["cubic", "vegas"] == pairs["cubic", "vegas"].harm.mean > 0.5
    assert done["vegas", "cubic"] == pairs["vegas", "cubic"].harm.mean < 0.5


def test_numbers_of_heat_maps_have_enough_contrast() -> None:
    panel = Figure().subplots()
    for colors in ("PuOr_r", "viridis"):
        image = panel.imshow([[0.0, 1.0]], cmap=colors)
        for value in np.linspace(0, 1, 101):
            # WCAG 2.1 requires 4.5 for text of this size.
            drawn = to_hex(image.to_rgba(np.array([value]))[0])
            assert contrast(drawn, to_hex(text_color(image, value))) >= 4.5, value


def test_the_title_of_a_single_heat_map_fits_its_figure(pairs: dict[tuple[str, str], Pair]) -> None:
    figure = shares(list(pairs.values()))
    figure.draw_without_rendering()
    (title,) = [text for text in figure.texts if text.get_text() == figure.get_suptitle()]
    assert figure.bbox.x0 <= title.get_window_extent().x0
    assert title.get_window_extent().x1 <= figure.bbox.x1


def test_only_prague_and_dctcp_get_required_ecn() -> None:
    paths = Paths(("20 Mbit/s",), ("10 ms",), ("4 BDP",))
    changed = {"switch.policy": "dualpi2", "tcp.ecn": "classic"}
    pairs = {}
    with ThreadPoolExecutor(1) as threads:
        runner = Runner(Store(), threads)
        frames = [runs_of(one, runner) for one in designs(base("8 s", changed), senders("prague,cubic"), paths, 2)]
        pairs = {(pair.row, pair.column): pair for pair in matrix(*frames)}
    # With ECT(1), CUBIC would wait in the low-latency queue, and Prague would get almost nothing.
    assert 0.4 < pairs["prague", "cubic"].share.mean < 0.9
    assert senders("dctcp,cubic")[0].fields["tcp"]["ecn"] == "dctcp"


def test_vegas_loses_against_cubic_in_a_large_buffer(pairs: dict[tuple[str, str], Pair]) -> None:
    """Vegas keeps the queue short and yields to controls that fill it (Mo et al., INFOCOM 1999)."""
    assert pairs["vegas", "cubic"].share.mean_high < 0.5
    # In competition with CUBIC, the buffer of 4 BDP, which holds at most 80 ms, is full.
    assert 0.05 < pairs["vegas", "cubic"].p95_s.mean < 0.08


def test_senders_are_controls_classes_modules_and_stacks() -> None:
    found = senders("cubic, stack:quinn-bbr,module:tcp_mine.so,python:mine.py:Mine,package.controls:Other")
    assert [one.name for one in found] == ["cubic", "quinn-bbr", "tcp_mine", "Mine", "Other"]
    assert found[1].fields == {"traffic": {"kind": "stack", "stack": "quinn", "congestion": "bbr"}}
    assert found[4].fields == {"tcp": {"congestion": {"kind": "python", "class": "package.controls:Other"}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cubic", "--controls: 'cubic'; needs at least two, as in cubic,bbr"),
        ("cubic,bbr,cubic", "--controls: 'cubic' occurs 2 times; needs each once"),
        ("cubic,bbrr", "--controls: 'bbrr'; did you mean 'bbr'?"),
        ("cubic,bbr2", "nearest is tcp.congestion = 'bbr3'"),
        ("cubic,stack:quinn-bbr3", "--controls: 'stack:quinn-bbr3'; did you mean 'stack:quinn-bbr'"),
        ("cubic,cubik", "'cubik'; did you mean 'cubic'"),
    ],
)
def test_unknown_senders_are_rejected(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        senders(text)
    assert message in str(error.value)


def test_the_command_prints_a_matrix_and_writes_page_and_tables(tmp_path: Path) -> None:
    done = run(
        "fairness", "--controls", "cubic,vegas", "--rate", "4 Mbit/s", "--rtt", "20 ms", "--duration", "1500 ms",
        "--seeds", "2", "--workers", "1", "--no-store", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1] == ["cubic", "vegas"]
    assert "2 seeds make wide intervals; --seeds 6 adds runs" in done.stdout
    assert [line[0] for line in lines[2:4]] == ["cubic", "vegas"]
    assert len(pd.read_csv(tmp_path / "out" / "pairs.csv")) == 4
    assert len(pd.read_csv(tmp_path / "out" / "runs.csv")) == 3 * 2
    page = (tmp_path / "out" / "report.html").read_text()
    links = re.findall(r'href="(data:application/toml;base64,[^"]*)"[^>]*>pair.toml', page)
    read = [Scenario.from_toml(b64decode(link.partition("base64,")[2]).decode()) for link in links]
    path = "4 Mbit/s, 20 ms, 4 BDP"
    couples = [("cubic", "cubic"), ("cubic", "vegas"), ("vegas", "cubic"), ("vegas", "vegas")]
    assert [one.name for one in read] == [f"{control} beside {other}, {path}" for control, other in couples]
    assert all('trunk_rate = "4 Mbit/s"' in one.to_toml() for one in read)
    for words in ("Share of the row", "longpipe fairness --controls cubic,vegas", "alone.csv"):
        assert words in page


@pytest.mark.parametrize(
    ("field", "option"),
    [
        ("duration=1 s", "--duration"),
        ("network.trunk_rate=9 Mbit/s", "--rate"),
        ("tcp.congestion.beta=0.5", "--controls"),
    ],
)
def test_fields_with_an_option_of_their_own_are_rejected(field: str, option: str, tmp_path: Path) -> None:
    done = run("fairness", "--controls", "cubic,vegas", "--set", field, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"error: --set: {field}; needs the option {option}\n"


def test_a_change_that_the_controls_replace_is_reported(tmp_path: Path) -> None:
    changed = "network.group.0.tcp.congestion"
    done = run(
        "fairness", "--controls", "cubic,vegas", "--rate", "1 Mbit/s", "--rtt", "20 ms", "--duration", "200 ms",
        "--seeds", "1", "--workers", "1", "--no-store", "--set", f"{changed}=bbr", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"warning: --set {changed}: no effect, because the factor 'one' sets it at every level\n" in done.stderr


def test_groups_of_several_flows_are_refused() -> None:
    with pytest.raises(
        ScenarioError, match=r"^network\.group\.0\.count: 3; needs 1: shares are those of single flows$"
    ):
        base("5 s", {"network.group.0.count": 3})
