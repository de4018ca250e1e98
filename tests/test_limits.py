"""Limits of each flow, and warnings about windows that are too small."""

import re
import tomllib

import pytest

from longpipe import Graph, Result, Scenario, ScenarioError, Switch, pictures, simulate
from longpipe.cautions.windows import window_warnings
from longpipe.scenario.paths import paths
from longpipe.scenario.short_file import inline_toml
from longpipe.verdicts.limits import FlowLimit, idle_lines, limit_lines, notes
from longpipe.verdicts.limits import limits as limits_of

GEO = """
framing = "ip"
duration = "60 s"
[network]
kind = "dumbbell"
trunk_rate = "50 Mbit/s"
trunk_delay = "300 ms"
[switch]
buffer = "1 BDP"
"""


def geo(**changes: object) -> Scenario:
    return Scenario.from_toml(GEO).with_(**changes)


def limits(result: Result) -> list[FlowLimit]:
    return limits_of(result.scenario, result.columns)


def at_port(result: Result, port: str, column: str) -> float:
    return float(result.part("ports")[column][list(result.part("ports")["port"]).index(port)])


def limited_by(scenario: Scenario) -> set[str]:
    return {one.limited_by for one in limits(simulate(scenario))}


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, "window"),
        ({"tcp.receiver_window": "500 KB"}, "window"),
        ({"tcp.receiver_window": "auto", "switch.buffer": "0.05 BDP"}, "buffer"),
        # A larger buffer only distributes the link in another way among flows that have most of their shares.
        ({"tcp.receiver_window": "auto"}, "link"),
        (
            {"tcp.receiver_window": "auto", "network.trunk_loss": {"kind": "bernoulli", "probability": 1e-3}},
            "random loss",
        ),
        ({"tcp.receiver_window": "auto", "tcp.congestion": "vegas"}, "congestion"),
        ({"tcp.receiver_window": "auto", "duration": "4 s"}, "slow start"),
        ({"network.trunk_rate": "1 Mbit/s", "switch.buffer": "unlimited", "duration": "300 s"}, "link"),
        ({"traffic": "web", "network.sources": 1, "tcp.receiver_window": "auto"}, "application"),
    ],
)
def test_each_limit_is_recognized(changes: dict[str, object], limit: str) -> None:
    assert limited_by(geo(**changes)) == {limit}


def behind_a_proxy(buffer: str, **changes: object) -> Scenario:
    proxy = {"network.pep": {"at": "switch1", "buffer": buffer}, "network.sources": 1, "tcp.receiver_window": "auto"}
    return geo(**{**proxy, **changes})


@pytest.mark.parametrize("delays", [{}, {"network.access_delay": "100 ms", "network.trunk_delay": "100 ms"}])
def test_a_flow_is_limited_by_the_buffer_of_its_proxy(delays: dict[str, object]) -> None:
    """The buffer holds the data in flight on both sides of the proxy."""
    scenario = behind_a_proxy("1 MB", duration="30 s", warm_up="10 s", **delays)
    result = simulate(scenario)
    (one,) = limits(result)
    assert (one.limited_by, one.proxy) == ("proxy buffer", "switch1")
    assert one.proxy_used > 0.85
    (line,) = limit_lines([one])
    assert line.startswith("proxy buffer: 1 of 1 flows, the buffer of a split-TCP proxy was full: switch1, ")
    (warning,) = window_warnings(scenario)
    found = re.fullmatch(
        r"switch1->switch2: the buffer of the proxy at switch1 for flow1 can fill ([\d.]+)% of it, whatever its buffer; "
        r"needs a pep\.buffer of ([\d.]+ MB) or more at switch1",
        warning,
    )
    assert found is not None
    assert result.total_bps / 50e6 * 1500 / 1460 == pytest.approx(float(found[1]) / 100 * 0.93, rel=0.08)
    larger = scenario.with_(**{"network.pep.buffer": found[2]})
    assert window_warnings(larger) == []
    assert limited_by(larger) != {"proxy buffer"}


def test_larger_proxy_buffer_is_not_the_limit() -> None:
    assert limited_by(behind_a_proxy("20 MB", **{"tcp.receiver_window": "1 MB"})) == {"window"}
    lossy = {"network.trunk_loss": {"kind": "bernoulli", "probability": 1e-3}}
    assert limited_by(behind_a_proxy("20 MB", **lossy)) == {"random loss"}


def test_bbr_needs_a_proxy_buffer_above_3_bdp() -> None:
    """BBR in Startup has 2.89 BDP in flight, here 11 MB. A smaller buffer is full, and BBR does not leave Startup."""
    bbr = {"tcp.profile": "linux-6", "tcp.congestion": "bbr"}
    assert limited_by(behind_a_proxy("6 MB", **bbr)) == {"proxy buffer"}
    assert limited_by(behind_a_proxy("20 MB", **bbr)) != {"proxy buffer"}


@pytest.mark.parametrize("buffer", ["0.25 BDP", "1 BDP", "4 BDP"])
def test_one_large_overflow_counts_less_than_many_losses(buffer: str) -> None:
    # Slow start overflows the buffer once; afterwards the link loses one packet per second.
    result = simulate(
        geo(
            **{
                "duration": "30 s",
                "network.sources": 1,
                "network.access_rate": "1 Gbit/s",
                "network.trunk_delay": "50 ms",
                "network.trunk_loss": {"kind": "at-times", "instants": [f"{second} s" for second in range(6, 28)]},
                "switch.buffer": buffer,
                "tcp.profile": "linux-6",
                "tcp.congestion": "linux-reno",
            }
        )
    )
    overflow, injected = (
        at_port(result, "switch1->switch2", f"packets_lost_{cause}") for cause in ("overflow", "injected")
    )
    assert overflow > 5 * injected
    assert injected == 22
    reductions = result.reductions.set_index("cause")["reductions"].to_dict()
    assert reductions["injected_loss"] == pytest.approx(22, abs=1)
    assert reductions["overflow"] < 4
    (one,) = limits(result)
    assert one.limited_by == "random loss"


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"network.sources": 1, "traffic": {"kind": "cbr", "rate": "100 Mbit/s"}}, "link"),
        ({"network.sources": 1, "traffic": {"kind": "cbr", "rate": "10 Mbit/s"}}, "application"),
        (
            {
                "network.sources": 1,
                "traffic": {"kind": "cbr", "rate": "10 Mbit/s"},
                "network.trunk_loss": {"kind": "bernoulli", "probability": 0.2},
            },
            "random loss",
        ),
        # The losses of the link limit the flow, although the link is busy.
        (
            {
                "network.sources": 1,
                "traffic": {"kind": "cbr", "rate": "49 Mbit/s"},
                "network.trunk_loss": {"kind": "bernoulli", "probability": 0.2},
            },
            "random loss",
        ),
        (
            {
                "network.sources": 1,
                "traffic": {"kind": "cbr", "rate": "20 Mbit/s"},
                "network.conditioners": [{"kind": "policer", "rate": "5 Mbit/s", "burst": "20 KB"}],
            },
            "policer",
        ),
        # No datagram arrives after 1 s, so no gap shows the losses.
        (
            {
                "network.sources": 1,
                "network.trunk_delay": "10 ms",
                "traffic": {"kind": "cbr", "rate": "8 Mbit/s"},
                "network.path": {
                    "kind": "moving",
                    "outages": {"intervals": [["1 s", "20 s"]], "waiting": "drop", "arriving": "drop"},
                },
                "network.return_path": {"kind": "moving"},
            },
            "outage",
        ),
        # Each frame of two cells that arrives at the full buffer loses one cell, so again there is no gap.
        (
            {
                "framing": "aal5",
                "network.sources": 1,
                "network.trunk_rate": "10 Mbit/s",
                "switch.buffer": "1000 cells",
                "traffic": {"kind": "cbr", "rate": "20 Mbit/s", "payload": "41 B"},
            },
            "link",
        ),
        # Data in the network at the end are not lost.
        ({"duration": "250 ms", "network.sources": 1, "traffic": {"kind": "cbr", "rate": "10 Mbit/s"}}, "application"),
    ],
)
def test_datagrams_that_are_lost_are_limited_by_their_path(changes: dict[str, object], limit: str) -> None:
    assert limited_by(geo(**{"duration": "10 s", **changes})) == {limit}


@pytest.mark.parametrize(
    "policy",
    [{"kind": "codel", "target": "1 ms"}, {"kind": "fq-codel", "target": "1 ms"}, {"kind": "red", "min": 5, "max": 15}],
)
def test_drops_by_a_discipline_are_not_buffer_overflows(policy: object) -> None:
    path = {"network.trunk_delay": "300 ms", "network.sources": 1, "duration": "40 s"}
    linux = {"tcp.profile": "linux-6", "tcp.congestion": "linux-reno"}
    result = simulate(geo(**path, **linux, **{"switch.policy": policy}))
    assert {one.limited_by for one in result.flow_limits} == {"AQM"}
    assert limit_lines(result.flow_limits)[0].endswith(
        "the queue discipline dropped packets before its buffer was full"
    )


def test_buffer_dependent_policy_drops_count_as_overflows() -> None:
    changes = {"network.trunk_delay": "100 ms", "tcp.receiver_window": "auto", "switch.policy": "selective-drop"}
    changes["switch.buffer"] = "0.1 BDP"
    result = simulate(geo(**changes))
    assert at_port(result, "switch1->switch2", "packets_lost_aqm") > 0
    assert {one.limited_by for one in result.flow_limits} == {"buffer"}


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"network.conditioners": [{"kind": "tbf", "rate": "3 Mbit/s", "burst": "20 KB"}]}, "shaper"),
        ({"switch.policy": {"kind": "cake", "rate": "3 Mbit/s"}}, "shaper"),
        # The shaper is slower than the access link, which is slower than the shaper's link.
        (
            {
                "network.access_rate": "6 Mbit/s",
                "network.conditioners": [{"kind": "tbf", "rate": "3 Mbit/s", "burst": "20 KB"}],
            },
            "shaper",
        ),
        # The link is slower than its shaper.
        ({"network.conditioners": [{"kind": "tbf", "rate": "30 Mbit/s", "burst": "20 KB"}]}, "link"),
        # A link behind a slightly slower shaper is used almost all the time, but never fully.
        ({"network.conditioners": [{"kind": "tbf", "rate": "9.7 Mbit/s", "burst": "20 KB"}]}, "shaper"),
        ({"switch.policy": {"kind": "cake", "rate": "9.7 Mbit/s"}}, "shaper"),
        # A full packet takes 33 cells of 53 bytes, so the link carries at most 86 % of the shaper's rate.
        ({"switch.policy": {"kind": "cake", "rate": "3 Mbit/s", "overhead": 40, "framing": "atm"}}, "shaper"),
        ({"network.conditioners": [{"kind": "policer", "rate": "3 Mbit/s", "burst": "20 KB"}]}, "policer"),
    ],
    ids=["tbf", "cake", "slow access", "slow link", "tbf near the link", "cake near the link", "framing", "policer"],
)
def test_a_busy_shaper_is_distinguished_from_its_link(changes: dict[str, object], limit: str) -> None:
    link = {"network.trunk_rate": "10 Mbit/s", "network.trunk_delay": "25 ms", "network.sources": 1}
    tcp = {"tcp.profile": "linux-6", "tcp.receiver_window": "auto"}
    (found,) = limits(simulate(geo(**link, **tcp, **changes)))
    assert found.limited_by == limit
    assert (found.link_busy > 0.9) == (limit != "policer")
    assert found.link == "switch1->switch2"


def test_an_outage_that_drops_packets_is_named() -> None:
    outages = {"every": "5 s", "phase": "2 s", "gap": "1 s", "arriving": "drop", "waiting": "drop", "in_flight": "drop"}
    scenario = geo(
        **{
            "network.sources": 1,
            "network.trunk_delay": "50 ms",
            "network.path": {"kind": "moving", "outages": outages},
            "network.return_path": {"kind": "moving"},
            "switch.buffer": "unlimited",
            "tcp.profile": "linux-6",
            "duration": "30 s",
        }
    )
    assert limited_by(scenario) == {"outage"}


def of_cells(**changes: object) -> Result:
    """Runs flows whose initial window is one segment, over a switch that loses the first segments of some of them.

    These flows wait for their first timeout, after 3 s, until the end of the run.
    """
    network = {"kind": "dumbbell", "sources": 15}
    start = {"kind": "random", "over": "10 ms"}
    switch = {"buffer": "1000 cells", "policy": "tail-drop"}
    scenario = Scenario(
        defaults="1996", duration="2 s", network=network, switch=switch, start=start, tcp={"recovery": "reno"}
    )
    return simulate(scenario.with_(**changes))


def test_timeout_waits_are_attributed_to_the_losss_cause() -> None:
    result = of_cells()
    flows = result.part("flows")
    silent = [
        sent == 1 and not timeouts for sent, timeouts in zip(flows["sent_segments"], flows["timeouts"], strict=True)
    ]
    assert sum(silent) == 6
    found = [one.limited_by for one in limits(result)]
    assert {limit for limit, is_silent in zip(found, silent, strict=True) if is_silent} == {"buffer"}


def test_busy_link_does_not_limit_a_flow_without_arrivals() -> None:
    result = of_cells(**{"network.sources": 5, "switch.policy": "epd"})
    found = {one.limited_by: one for one in limits(result)}
    assert set(found) == {"link", "buffer"}
    (alone,) = (one for one in limits(result) if one.limited_by == "buffer")
    assert result.part("flows")["delivered_bytes"][int(alone.flow.removeprefix("flow")) - 1] == 0
    assert alone.link_busy > 0.9


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        # The SYN, and the first segment of a connection without a handshake, arrive at the trunk before 10 ms.
        ({"tcp.profile": "linux-6"}, "random loss"),
        ({"tcp.recovery": "sack", "tcp.initial_window": "1 segment"}, "random loss"),
        # The only segment has not arrived yet.
        ({"tcp.recovery": "sack", "tcp.initial_window": "1 segment", "network.trunk_delay": "1 s"}, "slow start"),
    ],
    ids=["handshake", "first segment", "no loss"],
)
def test_a_lost_first_packet_over_ip_is_named(changes: dict[str, object], limit: str) -> None:
    steps = {"kind": "over-time", "steps": [["0 s", 1.0], ["10 ms", 0.0]]}
    loss = {} if limit == "slow start" else {"network.trunk_loss": steps}
    short = {"duration": "900 ms", "network.sources": 1, "network.trunk_delay": "20 ms"}
    assert limited_by(geo(**{**short, **loss, **changes})) == {limit}


def test_flow_that_mostly_waits_for_a_timeout_is_loss_limited() -> None:
    # The first segment arrives; the two segments that its ACK releases are lost.
    loss = {"kind": "over-time", "steps": [["0 s", 0.0], ["8 ms", 1.0]]}
    tcp = {"tcp.recovery": "sack", "tcp.initial_window": "1 segment", "tcp.ack": "immediate"}
    path = {"network.sources": 1, "network.trunk_delay": "5 ms", "network.trunk_loss": loss}
    result = simulate(geo(duration="200 ms", **tcp, **path))
    flows = result.part("flows")
    assert [flows[name][0] for name in ("sent_segments", "timeouts", "fast_retransmits")] == [3, 0, 0]
    assert {one.limited_by for one in limits(result)} == {"random loss"}


def test_single_loss_at_the_end_does_not_change_the_limit() -> None:
    loss = {"kind": "at-times", "instants": ["19.9 s"]}
    vegas = {"tcp.receiver_window": "auto", "tcp.congestion": "vegas", "duration": "20 s", "network.sources": 1}
    assert limited_by(geo(**vegas, **{"network.trunk_delay": "200 ms", "network.trunk_loss": loss})) == {"congestion"}


def narrow_way_back(**changes: object) -> Scenario:
    """Returns a 100 Mbit/s path whose reverse direction runs at 1 Mbit/s, so that ACKs wait in a long queue."""
    return geo(
        **{
            "duration": "20 s",
            "network.sources": 1,
            "network.access_rate": "1 Gbit/s",
            "network.trunk_rate": "100 Mbit/s",
            "network.trunk_delay": "20 ms",
            "network.return_rate": "1 Mbit/s",
            "network.return_buffer": "1000 packets",
            "tcp.profile": "linux-6",
            **changes,
        }
    )


def test_acks_that_fill_the_return_link_limit_the_flow() -> None:
    result = simulate(narrow_way_back())
    (one,) = limits(result)
    # Each ACK of 52 bytes acknowledges two segments.
    by_hand_bps = 1e6 / (8 * 52) * 2 * 8 * 1448
    assert result.throughputs_bps[0] == pytest.approx(by_hand_bps, rel=0.03)
    assert (one.limited_by, one.return_link, one.busy_link) == ("return link", "switch2->switch1", "switch2->switch1")
    (line,) = limit_lines([one])
    assert line.endswith(f"the ACKs was busy: switch2->switch1, {one.return_link_busy:.1%} used")
    assert notes([one]) == []


def test_used_window_includes_data_whose_acks_are_queued() -> None:
    # A handshake would take an RTT of the time over which throughput is averaged.
    changes = {"tcp.ack": "immediate", "network.return_rate": "2 Mbit/s", "tcp.initial_rtt": "40 ms"}
    result = simulate(narrow_way_back(**changes))
    (one,) = limits(result)
    window = paths(result.scenario.resolve())[0]
    # The RTT is computed by hand, because there are no other queues.
    queue = at_port(result, "switch2->switch1", "mean_queue_packets")
    round_trip_s = 0.04 + queue * 8 * 52 / 2e6
    by_hand = result.throughputs_bps[0] / 8 * round_trip_s / (window.window_bytes / window.packet_bytes * 1448)
    assert one.window_used == pytest.approx(by_hand, rel=0.01)
    assert one.limited_by == "return link"


def test_acks_that_are_lost_in_a_short_buffer_cause_a_warning() -> None:
    result = simulate(narrow_way_back(**{"tcp.ack": "immediate", "network.return_buffer": "6 packets"}))
    (one,) = limits(result)
    lost, came = (at_port(result, "switch2->switch1", name) for name in ("packets_lost_overflow", "packets_in"))
    assert one.acks_lost == pytest.approx(lost / came)
    (line,) = notes([one])
    assert line == f"ACKs of 1 of 1 flows: {one.acks_lost:.1%} lost on the return path, by switch2->switch1"


def test_link_with_data_in_both_directions_is_busy() -> None:
    hosts = [("a1", "s"), ("a2", "s"), ("t", "b1"), ("t", "b2")]
    links = [(*ends, "100 Mbit/s", "1 ms") for ends in hosts] + [("s", "t", "10 Mbit/s", "20 ms")]
    graph = Graph.of(links, {"there": ("a1", "b1"), "back": ("b2", "a2")})
    lossy = {"kind": "bernoulli", "probability": 0.02}
    graph_of_ip = Scenario(defaults="1996", framing="ip", duration="60 s", network=graph, switch=Switch(buffer="1 BDP"))
    scenario = graph_of_ip.with_(**{"network.links.4.loss": lossy, "tcp.profile": "linux-6"})
    there, back = limits(simulate(scenario))
    assert there.return_link_busy >= 0.9
    assert (there.limited_by, back.limited_by) == ("random loss", "link")


def test_completed_file_leaves_its_flow_idle() -> None:
    done = limits(simulate(geo(traffic={"kind": "transfer", "size": "100 KB"})))
    assert all(0.9 < one.idle < 1 for one in done)


def test_stored_run_has_the_same_limits() -> None:
    from longpipe.store import Store

    scenario, store = geo(traffic={"kind": "transfer", "size": "1 MB"}), Store()
    result = simulate(scenario)
    store.keep(result)
    assert limits(store.require(scenario, 1)) == limits(result)
    assert list(result.limits["limited_by"]) == [row["limited_by"] for row in result.summary()["limits"]]


def test_windows_too_small_for_path_or_buffer_are_reported() -> None:
    assert window_warnings(geo()) == [
        "switch1->switch2: the receivers' windows of 5 flows can fill 9.4% of it, whatever its buffer; "
        "needs tcp.receiver_window of 1.4 MB or more, or 'auto'"
    ]
    assert window_warnings(geo(**{"tcp.receiver_window": "1 MB"})) == [
        "switch1->switch2: the receivers' windows of 5 flows can fill 43.7% of its buffer, so a larger one has no effect; needs tcp.receiver_window "
        "of 1.4 MB or more, or 'auto'"
    ]
    assert window_warnings(geo(**{"tcp.receiver_window": "1.4 MB"})) == []
    assert window_warnings(Scenario(defaults="1996")) == []


def test_bdp_above_all_windows_needs_more_flows() -> None:
    changes = {
        "network.sources": 1, "network.access_rate": "400 Gbit/s", "network.trunk_rate": "100 Gbit/s",
        "tcp.profile": "linux-6",
    }  # fmt: skip
    (line,) = window_warnings(geo(**changes))
    # 100 Gbit/s for 0.6 s is 7.5 GB; a window of 1 GiB is 1.1 GB on the wire with headers.
    assert line.endswith(
        "whatever its buffer; no window is larger than 1 GiB (RFC 7323); needs 7 flows with such windows"
    )
    assert "can fill 14." in line
    enough = window_warnings(geo(**{**changes, "network.sources": 7}))
    assert all("of its buffer" in line for line in enough)


def test_path_with_a_bdp_below_one_byte_is_filled() -> None:
    slow = geo(**{"network.trunk_rate": "1 kbit/s", "tcp.mss": "1 B", "switch.buffer": "unlimited"})
    assert window_warnings(slow) == []


def test_an_endless_flow_among_web_clients_causes_a_warning() -> None:
    groups = [{"name": "web", "count": 20, "traffic": "web"}, {"name": "download"}]
    (line,) = window_warnings(geo(network={"kind": "dumbbell", "group": groups, "trunk_delay": "300 ms"}))
    assert line.startswith("switch1->switch2: the receiver's window of download can fill 0.6% of it")


def test_window_that_the_warning_names_suffices() -> None:
    scenario = geo(**{"tcp.recovery": "sack", "tcp.timer": "fine", "duration": "200 s"})
    assert limited_by(scenario.with_(**{"tcp.receiver_window": "1.4 MB"})) != {"window"}


@pytest.mark.parametrize("framing", ["aal5", "ip"])
@pytest.mark.parametrize("buffer", ["0.1 BDP", "2 BDP", "unlimited"])
def test_an_auto_window_holds_twice_pipe_and_buffer(framing: str, buffer: str) -> None:
    scenario = geo(**{"framing": framing, "tcp.receiver_window": "auto", "switch.buffer": buffer})
    pipe = 50e6 * paths(scenario.resolve())[0].delay_ps / 1e12 / 8
    share = 1.0 if buffer == "unlimited" else float(buffer.split()[0])
    (window,) = {flow["tcp"]["receiver_window_bytes"] for flow in scenario.resolve()["flows"]}
    assert window == pytest.approx(2 * pipe * (1 + share), rel=1e-3)
    assert window_warnings(scenario) == []


def test_auto_window_is_bounded_and_specific_to_each_path() -> None:
    assert {
        f["tcp"]["receiver_window_bytes"]
        for f in Scenario(defaults="1996").with_(**{"tcp.receiver_window": "auto"}).resolve()["flows"]
    } == {2 * (583 + 53_000)}
    huge = geo(
        **{"tcp.receiver_window": "auto", "network.trunk_rate": "100 Gbit/s", "network.access_rate": "100 Gbit/s"}
    )
    assert {flow["tcp"]["receiver_window_bytes"] for flow in huge.resolve()["flows"]} == {2**30}
    assert huge.to_toml().count('receiver_window = "auto"') == 1


LATE = {
    "network": {
        "kind": "dumbbell",
        "trunk_rate": "10 Mbit/s",
        "trunk_delay": "20 ms",
        "group": [
            {"name": "calls", "count": 2, "traffic": {"kind": "cbr", "rate": "3 Mbit/s"}},
            {
                "name": "download",
                "traffic": {"kind": "transfer", "size": "2 MB"},
                "tcp": {"congestion": "bbr3"},
                "start": {"kind": "fixed", "at": "5 s"},
            },
        ],
    },
    "tcp.profile": "linux-6",
    "tcp.receiver_window": "auto",
}


@pytest.mark.parametrize("duration", ["11 s", "20 s", "40 s"])
def test_busy_share_covers_only_the_active_time(duration: str) -> None:
    scenario = geo(**{**LATE, "duration": duration})
    result = simulate(scenario)
    *calls, download = limits(result)
    end_s = float(result.flows["completion_s"].to_list()[-1])
    assert 5 < end_s < 10.5
    # The port's busy time in the flow's own time is the difference of two shorter runs.
    before, until = (
        at_port(simulate(scenario.with_(duration=f"{at} s")), "switch1->switch2", "utilization") * at
        for at in (5.001, round(end_s, 3))
    )
    assert download.link_busy == pytest.approx((until - before) / (end_s - 5.001), abs=0.02)
    assert download.link_busy <= 1
    utilization = at_port(result, "switch1->switch2", "utilization")
    assert {one.link_busy for one in calls} == {utilization}


def test_each_flow_has_one_heading_in_the_summary() -> None:
    found = limits(simulate(geo(**{**LATE, "duration": "20 s"})))
    counts = [int(line.split(": ")[1].split(" of ")[0]) for line in limit_lines(found)]
    assert sum(counts) == len(found) == 3
    (line,) = idle_lines(found)
    assert line == f"1 of 3 flows, which were then idle for {found[-1].idle:.0%} of the time"


def test_retransmitting_flow_is_not_limited_by_slow_start() -> None:
    changes = {"tcp.profile": "linux-6", "tcp.congestion": "bbr3", "network.sources": 1, "switch.buffer": "0.1 BDP"}
    result = simulate(geo(**{**changes, "duration": "15 s"}))
    assert result.flows["fast_retransmits"][0] > 0
    assert result.reductions.empty
    (one,) = limits(result)
    # BBR counts no reductions, so that the losses show the cause.
    assert one.limited_by == "buffer"


def test_reordering_is_not_a_timeout() -> None:
    jitter = {"kind": "reordering", "probability": 0.02}
    changes = {
        "duration": "30 s",
        "network.sources": 1,
        "network.trunk_delay": "50 ms",
        "network.conditioners": [{"kind": "jitter", "delay": "10 ms", "jitter": "1 us"}, jitter],
        "switch.buffer": "unlimited",
        "tcp.congestion": "linux-reno",
        "tcp.recovery": "sack",
        "tcp.receiver_window": "auto",
    }
    result = simulate(geo(**changes))
    assert (result.flows["timeouts"][0], result.flows["fast_retransmits"][0] > 0) == (0, True)
    assert result.reductions["cause"].to_list() == ["none"]
    (one,) = limits(result)
    assert one.limited_by == "reordering"


def test_probe_after_late_acks_is_not_reordering() -> None:
    """ACKs wait a second behind uploads: a probe of the tail reduces a window, but no packet overtakes another."""

    def group(name: str, traffic: object, count: int = 1, direction: str = "forth") -> dict[str, object]:
        return {"name": name, "count": count, "traffic": traffic, "direction": direction}

    def cbr(rate: str, size: str) -> dict[str, str]:
        return {"kind": "cbr", "rate": rate, "payload": size}

    call = {"kind": "video", "rate": "1.5 Mbit/s"}
    groups = [
        group("upload", "greedy", 2, "back"), group("callup", call, 1, "back"), group("calldown", call),
        group("voiceup", "voice", 1, "back"), group("gameup", cbr("64 kbit/s", "100 B"), 1, "back"),
        group("gamedown", cbr("128 kbit/s", "200 B")), group("web", "web", 3), group("tv", {"kind": "adaptive-video"}),
    ]  # fmt: skip
    changes = {
        "duration": "30 s", "warm_up": "5 s", "start": {"kind": "random", "over": "1 s"},
        "network": {
            "kind": "dumbbell", "access_rate": "1 Gbit/s", "access_delay": "1 ms", "trunk_rate": "50 Mbit/s",
            "trunk_delay": "8 ms", "return_rate": "10 Mbit/s", "exit_delay": "1 ms", "group": groups,
        },
        "switch.buffer": "1.25 MB", "tcp.profile": "linux-6",
    }  # fmt: skip
    result = simulate(geo(**changes))
    assert result.reductions.set_index("connection")["cause"]["web1"] == "none"
    assert result.flows.set_index("flow")["timeouts"]["web1"] == 0
    found = {one.flow: one for one in limits(result)}
    assert found["web1"].limited_by == "return link"
    assert found["web1"].return_link_busy > 0.99


@pytest.mark.parametrize(
    "traffic",
    ["greedy", {"kind": "stream", "rate": "1 Mbit/s"}, {"kind": "adaptive-video"}, {"kind": "cbr", "rate": "1 Mbit/s"}],
)
def test_flows_that_start_after_the_end_have_no_other_limit(traffic: object) -> None:
    late = Scenario.example("fiber").with_(
        duration="1 s", traffic=traffic, start={"kind": "random", "over": "600 minutes"}, **{"traces.cwnd": True}
    )
    result = simulate(late.with_(**{"traces.sequence": True, "traces.events": True, "traces.control": True}))
    assert set(result.limits["limited_by"]) == {"not started"}
    assert limit_lines(result.flow_limits) == ["not started: 4 of 4 flows, their start is after the end of the run"]
    if traffic == "greedy":
        with pytest.raises(ScenarioError, match=r"^flow: no congestion window of any flow in the time shown; "):
            pictures.window(result)
    half = simulate(late.with_(start={"kind": "random", "over": "2 s"}))
    begins = half.flows["start_s"]
    assert 0 < (begins >= 1).sum() < 4
    assert list(half.limits["limited_by"] == "not started") == list(begins >= 1)


def test_of_equally_slow_links_the_busiest_is_the_limit() -> None:
    """Two paths over satellites, of which one changes at 46 s, share the last satellite's link before or after."""
    hosts = {"manila": ("h1", "h3"), "taipei": ("h2", "h4")}
    nodes = [{"name": name, "kind": "switch"} for name in (*hosts, "dalian")]
    nodes += [{"name": host, "kind": "host"} for ends in hosts.values() for host in ends]
    fast = {"rate": "1 Gbit/s", "delay": "0 s"}
    links: list[dict[str, object]] = []
    for city, (source, sink) in hosts.items():
        links += [{"between": [source, city], **fast}, {"between": ["dalian", sink], **fast}]
        path = {"shell": "kuiper-630", "from": city.title(), "to": "Dalian", "as": "graph"}
        links.append({"between": [city, "dalian"], "rate": "10 Mbit/s", "delay": "0 s", "path": path})
    flows = [{"name": city, "from": source, "to": sink} for city, (source, sink) in hosts.items()]
    network = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    tcp = {"profile": "linux-6", "congestion": "bbr"}
    result = simulate(
        Scenario(
            defaults="1996", framing="ip", duration="60 s", network=network, tcp=tcp, switch={"buffer": "101 packets"}
        )
    )
    found = {one.flow: (one.limited_by, one.link) for one in limits(result)}
    assert {limit for limit, _ in found.values()} == {"link"}
    assert found["taipei"][1] == "sat-616->sat-616-down"


def test_tables_of_remedies_are_printed_as_toml() -> None:
    value = {"kind": "moving", "file": 'a"b\\c', "with space": [1, 0.5, True, {}]}
    assert tomllib.loads(f"value = {inline_toml(value)}")["value"] == value
    assert inline_toml({}) == "{}"
