"""Warnings before runs that cannot show what the user seems to test, and after runs whose results are all equal."""

import re
from pathlib import Path

import pytest

from commands import run
from longpipe import Design, Factor, Result, Scenario, ScenarioError, Study, run_until, simulate
from longpipe.advise.templates import gateway
from longpipe.cautions.cautions import cautions, seedless
from longpipe.cautions.overload import overloads, payload_bps
from longpipe.cli.toolkit.warnings import warn

ROOT = Path(__file__).parents[1]
SILENT = """
duration = "5 s"
framing = "ip"
switch.buffer = "1 BDP"
tcp.receiver_window = "auto"
tcp.mss = "1448 B"
network = { kind = "dumbbell", sources = 4, access_rate = "1 Gbit/s", trunk_rate = "20 Mbit/s", trunk_delay = "50 ms" }
"""


def silent(**changes: object) -> Scenario:
    return Scenario.from_toml(SILENT).with_(**changes)


def buffers(scenario: Scenario, replications: int = 3) -> Design:
    factor = Factor.over("switch.buffer", ["1 BDP", "2 BDP"], "buffer")
    return Design.full_factorial(scenario, [factor], replications=replications)


def test_unused_seed_causes_one_warning_before_the_runs() -> None:
    (line,) = buffers(silent()).warnings
    assert line.startswith("seed: it determines only the order of simultaneous packets")
    assert line in repr(buffers(silent()))
    (line,) = buffers(silent(**{"network.sources": 1})).warnings
    assert line.startswith("seed: nothing in the scenario depends on it, so replications are identical")
    assert buffers(silent(), replications=1).warnings == ()


CODEL = {"kind": "codel", "ecn": True}
NO_QUEUE = ", but no packet is marked, because no queue marks; needs a queue that marks, as switch.policy = {kind = 'codel', ecn = true}"
NO_FLOW = "marks nothing, because no flow is ECN-capable; needs tcp.ecn, as in 'classic'"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"switch.policy": CODEL}, [f"switch1->switch2: codel with ecn = true {NO_FLOW}"]),
        ({"switch.policy": {"kind": "red", "ecn": True}}, [f"switch1->switch2: red with ecn = true {NO_FLOW}"]),
        ({"switch.policy": {"kind": "step-marking", "threshold": 20}}, [f"switch1->switch2: step-marking {NO_FLOW}"]),
        ({"switch.policy": CODEL, "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}, "tcp.ecn": "classic"},
         [f"switch1->switch2: codel with ecn = true {NO_FLOW}"]),
        ({"tcp.ecn": "classic"}, [f"tcp.ecn: classic{NO_QUEUE}"]),
        ({"tcp.ecn": "classic", "switch.policy": "codel"}, [f"tcp.ecn: classic{NO_QUEUE}"]),
        ({"tcp.ecn": "classic", "switch.policy": CODEL}, []),
        ({"tcp.ecn": "classic", "switch.policy": "cake"}, []),
        ({"tcp.ecn": {"kind": "accurate", "ect": 1}, "switch.policy": "dualpi2"}, []),
        ({"tcp.ecn": "classic", "network.conditioners": [
            {"kind": "policer", "rate": "10 Mbit/s", "burst": "50 KB", "exceed": "mark"}]}, []),
        # These policies mark by default, so marking was not requested.
        ({"switch.policy": "cake"}, []),
        ({"switch.policy": "dualpi2"}, []),
    ],
)  # fmt: skip
def test_ecn_needs_a_marking_queue_and_an_ecn_flow(changes: dict[str, object], wanted: list[str]) -> None:
    """Without an ECN-capable flow or without a marking queue, no packet is marked."""
    scenario = silent(**{"duration": "5 s", "network.sources": 1, **changes})
    assert cautions(scenario) == wanted
    marks = simulate(scenario).ports["packets_marked"].sum() > 0
    assert marks == ("tcp.ecn" in changes and not wanted)


@pytest.mark.parametrize(
    "changes",
    [
        {"start": {"kind": "random", "over": "1 s"}},
        {"traffic": "web"},
        {"traffic": {"kind": "poisson", "rate": "10 Mbit/s"}},
        {"traffic": "voice"},
        {"network.send_jitter": "1 ms"},
        {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}},
        {"network.return_loss": {"kind": "bit-errors", "rate": 1e-4}},
        {"switch.policy": "red"},
        {"tcp.congestion": "bbr", "tcp.recovery": "rack"},
        {"tcp.congestion": "bbr3", "tcp.recovery": "rack"},
        {
            "tcp.timer": {"kind": "coarse", "phase": "per-flow"},
            "network.trunk_loss": {"kind": "packets", "indices": [9]},
        },
    ],
)
def test_fields_declared_as_random_make_runs_differ(changes: dict[str, object]) -> None:
    scenario = silent(**{"duration": "20 s", "network.sources": 1, **changes})
    assert seedless(scenario) == ""
    assert len({simulate(scenario, seed).state_hash for seed in (1, 2, 3)}) > 1


def test_flow_hashing_depends_on_the_seed() -> None:
    shared = {"policy": {"kind": "drr", "queues": 2}, "buffer": "1 BDP"}
    scenario = silent(duration="20 s", switch=shared)
    assert seedless(scenario) == ""
    assert len({simulate(scenario, seed).state_hash for seed in (1, 2, 3)}) > 1


def test_runs_declared_as_copies_are_identical() -> None:
    scenario = silent(**{"network.sources": 1, "switch.policy": "codel", "duration": "20 s"})
    assert "replications are identical" in seedless(scenario)
    assert len({simulate(scenario, seed).state_hash for seed in (1, 2, 3)}) == 1


def test_datagrams_at_fixed_times_are_not_drawn() -> None:
    fixed = {"kind": "on-off", "rate": "10 Mbit/s", "times": "fixed"}
    for traffic in (fixed, {"kind": "cbr", "rate": "10 Mbit/s"}):
        assert "replications are identical" in seedless(silent(**{"network.sources": 1, "traffic": traffic}))


def test_identical_replications_never_reach_a_margin() -> None:
    study = Study(buffers(silent(**{"network.sources": 1})))
    with pytest.raises(
        ScenarioError, match="efficiency never gets more certain, the replications of each point are identical"
    ):
        run_until(study, "efficiency", "±0.01", most=20)
    assert study.design.replications == 20


def test_a_series_that_ends_before_its_run_causes_a_warning() -> None:
    rate = [[f"{15 * slot} s", f"{200 + slot % 2} Mbit/s"] for slot in range(8)]
    path = {"rate": rate, "delay": [["0 s", "18 ms"]]}
    series = Scenario.example("fiber").with_(
        **{
            "network.path": path,
            "network.trunk_rate": "200 Mbit/s",
            "network.trunk_delay": "18 ms",
            "duration": "110 s",
        }
    )
    assert not any("series ends" in line for line in cautions(series))
    longer = series.with_(duration="300 s")
    # The warning about both directions is one line.
    held = "switch1->switch2, switch2->switch1: the path's series ends at 105 s; held from then on"
    assert [line for line in cautions(longer) if "series ends" in line] == [held]
    assert any(line.endswith(held) and line.startswith("2 of 2 points") for line in buffers(longer).warnings)
    # A Starlink path is drawn up to the end of the run.
    assert cautions(Scenario.example("starlink").with_(duration="300 s")) == []
    assert cautions(Scenario.example("cellular").with_(duration="300 s")) == []


def test_rate_that_recovers_after_rain_causes_no_warning(tmp_path: Path) -> None:
    rain = Scenario.example("rain-fade")
    assert cautions(rain) == []
    (tmp_path / "fade.csv").write_text("time,esn0\n0,12\n9.123456,12\n40,1\n55.5,9\n", encoding="utf-8")
    path = {"symbol_rate": "15 Mbaud", "file": str(tmp_path / "fade.csv")}
    (ends,) = cautions(rain.with_(**{"network.path": path}))
    # Times that longpipe computes have no more digits than a reader needs.
    assert re.fullmatch(r"switch1->switch2: the path's series ends at \d\d\.\d{1,4} s; held from then on", ends)


def test_a_design_counts_each_kind_of_warning() -> None:
    """Checks that a warning of some points does not hide others, and that windows that differ in numbers count as one."""
    ecn = Factor.over("tcp.ecn", ["off", "classic"], "ecn")
    queue = Factor("queue", {"tail": {"switch.policy": "tail-drop"}, "codel": {"switch.policy": CODEL}})
    said = Design.full_factorial(silent(**{"network.sources": 1}), [ecn, queue]).warnings
    assert said == (
        f"1 of 4 points, as ecn=off, queue=codel: switch1->switch2: codel with ecn = true {NO_FLOW}",
        f"1 of 4 points, as ecn=classic, queue=tail: tcp.ecn: classic{NO_QUEUE}",
    )
    windows = Factor.over("tcp.receiver_window", ["20 KB", "30 KB"], "window")
    small = silent(**{"network.sources": 1, "tcp.ecn": "classic"})
    first, second = Design.full_factorial(small, [windows]).warnings
    assert first.startswith(
        "2 of 2 points, as window=20 KB: switch1->switch2: the receiver's window of flow1 can fill 8."
    )
    assert second == f"2 of 2 points, as window=20 KB: tcp.ecn: classic{NO_QUEUE}"


def test_single_change_of_a_path_causes_no_warning() -> None:
    changed = silent(**{"network.path": {"rate": [["0 s", "20 Mbit/s"], ["1 s", "10 Mbit/s"]]}})
    assert cautions(changed) == []


def test_a_file_that_ends_before_its_run_causes_a_warning(tmp_path: Path) -> None:
    rows = "\n".join(f"{second},{20 + second % 3}ms" for second in range(61))
    (tmp_path / "path.csv").write_text(f"time,delay\n{rows}\n", encoding="utf-8")
    scenario = silent(**{"network.path": {"file": str(tmp_path / "path.csv")}, "duration": "300 s"})
    assert cautions(scenario) == [
        # An ignored setting is more important than the end of a series.
        "network.trunk_delay: 50 ms is not used; network.path has delays of 20 ms to 22 ms",
        "switch1->switch2, switch2->switch1: the path's series ends at 60 s; held from then on",
    ]


def test_most_important_warnings_are_printed_and_json_has_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checks that ignored rates come first, and that a warning about both directions of a link is one line."""
    path = {"rate": [["0 s", "10 Mbit/s"], ["1 s", "20 Mbit/s"], ["2 s", "5 Mbit/s"], ["2.5 s", "12 Mbit/s"]]}
    fields = {"trunk_rate": "90 Mbit/s", "return_rate": "1 Mbit/s", "return_delay": "9 ms", "path": path}
    scenario = silent(**{f"network.{name}": value for name, value in fields.items()})
    lines = cautions(scenario)
    begins = ["network.trunk_rate: ", "network.return_rate: ", "switch1->switch2, switch2->switch1: the path's series"]
    assert [line.startswith(begin) for line, begin in zip(lines, begins, strict=True)] == [True] * 3
    assert simulate(scenario).summary()["warnings"] == lines
    warn(scenario)
    assert capsys.readouterr().err == "".join(f"warning: {line}\n" for line in lines)
    monkeypatch.setattr("longpipe.cli.toolkit.warnings.MOST", 2)
    warn(scenario)
    where = "warning: 1 more; `longpipe run --json -` prints all of them in `warnings`\n"
    assert capsys.readouterr().err.endswith(f"\nwarning: {lines[1]}\n{where}")


def test_result_has_the_warnings_of_the_command_line() -> None:
    result: Result = simulate(silent(**{"tcp.receiver_window": "16 KiB"}))
    (line,) = result.warnings
    assert line.startswith("switch1->switch2: the receivers' windows of 4 flows can fill")
    assert f"warning: {line}" in repr(result)


def test_return_path_left_from_another_path_causes_a_warning() -> None:
    pytest.importorskip("sgp4")
    path = {"shell": "starlink-550", "from": "London", "to": "New York"}
    kept = {"delay": [["0 s", "18 ms"], ["1 s", "19 ms"]]}
    changed = Scenario.example("starlink").with_(
        **{"network.path": path, "network.return_path": kept, "duration": "5 s"}
    )
    assert any(
        line.startswith("network.return_path: moving; without it, the return path uses the satellites")
        for line in cautions(changed)
    )
    assert not any("return_path" in line for line in cautions(changed.with_(**{"network.return_path": None})))


@pytest.mark.parametrize(
    "traffic",
    [
        "greedy",
        {"kind": "transfer", "size": "1 MB"},
        {"kind": "web"},
        {"kind": "stream", "rate": "1 Mbit/s"},
        {"kind": "flow-arrivals", "rate": 1, "sizes": {"kind": "fixed", "size": "100 KB"}},
        {"kind": "adaptive-video"},
    ],
    ids=lambda traffic: traffic if isinstance(traffic, str) else traffic["kind"],
)
def test_connections_that_a_proxy_splits_cause_no_warning(traffic: object) -> None:
    proxied = silent(**{"network.pep": {"buffer": "1 MB"}, "traffic": traffic})
    assert not any("unsplit" in line for line in cautions(proxied))
    assert ["onward" in flow for flow in proxied.resolve()["flows"]] == [False] * 4 + [True] * 4


def test_only_real_stacks_that_pass_the_proxy_cause_a_warning() -> None:
    names = ("a", "b", "c", "d")
    nodes: list[dict[str, object]] = [{"name": name, "kind": "host"} for name in names]
    nodes += [{"name": "r", "kind": "switch", "pep": {"buffer": "1 MB"}}, {"name": "s", "kind": "switch"}]
    ends = [("a", "r"), ("r", "b"), ("c", "s"), ("s", "d")]
    links = [{"between": list(pair), "rate": "20 Mbit/s", "delay": "10 ms"} for pair in ends]
    flows = [{"name": name, "from": name, "to": to} for name, to in (("a", "b"), ("c", "d"))]
    network = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    graph = silent(network=network, traffic={"kind": "stack", "stack": "quinn"})
    told = "network.nodes[4].pep: 1 flow of stack traffic passes unsplit; proxies do not split real stacks"
    assert [line for line in cautions(graph) if "unsplit" in line] == [told]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"tcp.recovery": "reno"},
            "tcp.ack.sack_delay: no ACK waits without SACK; needs tcp.recovery sack, rfc6675, rack",
        ),
        (
            {"tcp.timer.timestamps": False},
            "tcp.ack.sack_delay: no ACK waits while the RTT is unknown; needs tcp.timer.timestamps = true",
        ),
        ({}, ""),
    ],
)
def test_immediate_acks_beyond_a_hole_cause_a_warning(changes: dict[str, object], said: str) -> None:
    lossy = {"tcp.recovery": "sack", "tcp.timer": {"kind": "fine", "timestamps": True}, "network.trunk_delay": "20 ms"}
    plain = silent(**lossy).with_(**changes)

    def after(delay: str) -> Scenario:
        return plain.with_(**{"tcp.ack": {"kind": "linux", "sack_delay": delay}})

    assert [line for line in cautions(after("5 ms")) if "sack_delay" in line] == ([said] if said else [])
    assert (simulate(after("5 ms"), seed=1).state_hash == simulate(after("0 s"), seed=1).state_hash) == bool(said)


def test_a_shaper_above_the_rate_of_its_link_causes_a_warning() -> None:
    cake = silent(**{"switch.policy": {"kind": "cake", "rate": "18 Mbit/s"}, "network.return_rate": "2 Mbit/s"})
    assert cautions(cake) == [
        "switch2->switch1: CAKE's rate of 18 Mbit/s is above the link's 2 Mbit/s and shapes nothing; needs a separate "
        "policy (return_policy)"
    ]
    assert not cautions(cake.with_(**{"network.return_policy": {"kind": "cake", "rate": "1800 kbit/s"}}))
    # No separate policy helps if the rate is above that of every link it applies to.
    (line,) = cautions(cake.with_(**{"network.return_policy": {"kind": "cake", "rate": "3 Mbit/s"}}))
    assert line.endswith("CAKE's rate of 3 Mbit/s is above the link's 2 Mbit/s and shapes nothing; needs a lower rate")


def test_the_rate_of_a_shaper_counts_overhead_and_framing() -> None:
    """With an MSS of 1448, a packet of 1500 bytes and 40 of overhead takes 33 cells: 9 Mbit/s are 10.494 Mbit/s."""
    policy = {"kind": "cake", "rate": "10400 kbit/s", "overhead": 40, "framing": "atm"}
    changes = {"network.trunk_rate": "9 Mbit/s", "network.return_rate": "20 Mbit/s", "tcp.profile": "linux-6"}
    cake = silent(**{"switch.policy": policy, **changes})
    assert not [line for line in cautions(cake) if "shapes nothing" in line]
    above = silent(**{"switch.policy": {**policy, "rate": "10500 kbit/s"}, **changes})
    (line,) = [line for line in cautions(above) if "shapes nothing" in line]
    assert line == (
        "switch1->switch2: CAKE's rate of 10.5 Mbit/s is above the link's 9 Mbit/s (10494 kbit/s as CAKE counts full "
        "packets) and shapes nothing; needs a separate policy (return_policy)"
    )


@pytest.mark.parametrize("kind", ["policer", "tbf"])
def test_bucket_smaller_than_packets_causes_a_warning(kind: str) -> None:
    bucket = {"kind": kind, "rate": "1 Mbit/s", "burst": "1487 B"}
    (line,) = cautions(silent(**{"network.conditioners": [bucket]}))
    assert line == (
        f"switch1->switch2: {kind} with a burst of 1487 B drops all packets of 1488 B; needs a burst of at least one "
        f"packet"
    )
    assert not cautions(silent(**{"network.conditioners": [{**bucket, "burst": "1488 B"}]}))


def test_a_minimum_rto_below_the_granularity_causes_a_warning() -> None:
    linux = silent(**{"tcp.profile": "linux-6"}).with_(**{"tcp.timer.min_rto": "1 ms"})
    (line,) = cautions(linux)
    assert line.startswith("tcp.timer.min_rto: 1 ms has no effect, because an RTO is at least SRTT + tcp.timer.granul")
    assert cautions(linux.with_(**{"tcp.timer.granularity": "1 ms"})) == []
    assert cautions(silent(**{"tcp.profile": "linux-6"})) == []


LOCKED = """
duration = "20 s"
framing = "ip"
network = { kind = "dumbbell", sources = 3, access_rate = "100 Mbit/s", trunk_rate = "100 Mbit/s", trunk_delay = "20 ms" }
switch.buffer = "0.3 BDP"
tcp.profile = "linux-6"
start = { kind = "staggered", first = "0 s", interval = "2 s" }
"""


def test_lockout_by_equal_rates_causes_a_warning() -> None:
    locked = Scenario.from_toml(LOCKED)
    result = simulate(locked)
    (line,) = result.locked_out
    assert line.startswith("switch1->switch2: flow1 locks out 2 of 3 flows, an artifact of equal rates: source1->")
    assert line.endswith("needs network.access_rate above network.trunk_rate, or network.host_buffer")
    assert line in result.warnings
    assert result.fairness < 0.35
    # Each remedy works, and so does a fair queue.
    for field, value in (
        ("network.access_rate", "200 Mbit/s"),
        ("network.host_buffer", "100 packets"),
        ("switch.policy", "fq-codel"),
    ):
        mended = simulate(locked.with_(**{field: value}))
        assert (mended.locked_out, mended.fairness > 0.7) == ((), True), field
    # The second flow has had too few round trips.
    assert simulate(locked.with_(**{"network.sources": 2, "duration": "3 s"})).locked_out == ()


def test_the_table_of_a_design_marks_points_with_a_lockout(tmp_path: Path) -> None:
    (tmp_path / "locked.toml").write_text(LOCKED, encoding="utf-8")
    rates = ("--factor", "network.access_rate=100 Mbit/s,200 Mbit/s", "--run", "a", "--store", tmp_path / "a.db")
    done = run("design", tmp_path / "locked.toml", *rates, "--workers", "1")
    assert done.returncode == 0, done.stderr
    marked = [line for line in done.stdout.splitlines() if "lockout" in line]
    assert marked[0].startswith("100 Mbit/s")
    assert marked[1].startswith("lockout: in some runs, a flow starves others")
    assert len(marked) == 2


def test_the_warning_of_a_lockout_names_the_link_of_a_graph() -> None:
    nodes = [{"name": name, "kind": "host"} for name in ("a", "b", "z")]
    nodes += [{"name": name, "kind": "switch"} for name in ("r", "s")]
    delays = {("a", "r"): "5 us", ("b", "r"): "5 us", ("r", "s"): "20 ms", ("s", "z"): "5 us"}
    links = [{"between": ends, "rate": "100 Mbit/s", "delay": delay} for ends, delay in delays.items()]
    starts = {"a": "0 s", "b": "5 s"}
    flows = [{"name": at, "from": at, "to": "z", "start": {"kind": "fixed", "at": starts[at]}} for at in starts]
    graph = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    locked = Scenario.from_toml(LOCKED.replace('start = { kind = "staggered", first = "0 s", interval = "2 s" }', ""))
    (line,) = simulate(locked.with_(network=graph)).locked_out
    assert line.endswith("needs a faster link a->r, or its host_buffer")


def test_offered_load_above_the_link_rate_causes_a_warning() -> None:
    crowded = Scenario.from_toml(gateway("40 Mbit/s", "540 ms", 200, 5).scenario)
    (line,) = overloads(crowded.resolved)
    assert line in cautions(crowded)
    assert line.startswith(
        "switch1->switch2: 200 flows offer 48.9 Mbit/s on average, headers included, besides 5 endless flows, "
        "over 40 Mbit/s; completion times grow with the duration, whatever the queue"
    )
    assert not list(overloads(crowded.with_(**{"network.trunk_rate": "50 Mbit/s"}).resolved))
    for sizes in ("pareto", "web-search", {"kind": "fixed", "size": "100 KB"}):
        for load, expected in ((1.3, 1), (0.9, 0)):
            flows = silent(traffic={"kind": "flow-arrivals", "load": load, "sizes": sizes}, **{"network.sources": 1})
            assert len(list(overloads(flows.resolved))) == expected


@pytest.mark.parametrize("cut", ["clamping", "rejection"])
@pytest.mark.parametrize("cycle_from", ["first-request", "last-request"])
def test_the_offered_load_of_web_servers_is_that_of_the_core(cut: str, cycle_from: str) -> None:
    web: dict[str, object] = {
        "kind": "web",
        "cycle": "20 ms",
        "cycle_from": cycle_from,
        "cut": cut,
        "spacing_from": "1 ms",
    }
    web |= {"spacing_to": "2 ms", "class_shares": [1.0]}
    scenario = silent(duration="20 s", traffic=web, **{"network.sources": 1, "network.trunk_rate": "1 Gbit/s"})
    result = simulate(scenario)
    offered_bps = 8 * result.flows["delivered_bytes"].sum() / 20
    assert payload_bps(scenario.resolved["flows"][0]["traffic"]) == pytest.approx(offered_bps, rel=0.05)
