"""Counters of each queue of a port: they add up to those of the port, and agree with the traces of its packets."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.result import Result

TRUNK = "switch1->switch2"
COUNTERS = ("packets_in", "packets_lost_overflow", "packets_lost_aqm", "packets_marked", "bytes_in", "bytes_lost")
# Groups, each with a class, that use every queue of the policies below.
GROUPS = """
[[network.group]]
name = "prague"
class = 0
tcp = { congestion = "prague", ecn = { kind = "accurate", ect = 1 } }
[[network.group]]
name = "cubic"
class = 1
tcp = { congestion = "cubic", ecn = "classic" }
[[network.group]]
name = "reno"
class = 2
tcp = { congestion = "linux-reno" }
[[network.group]]
name = "call"
class = 3
traffic = { kind = "cbr", rate = "400 kbit/s", payload = "172 B" }
"""
POLICIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "dualpi2": ({"kind": "dualpi2", "ecn": True}, ["low-latency", "classic"]),
    "nqb": ({"kind": "nqb"}, ["nqb", "default"]),
    "cake": ({"kind": "cake", "tins": "precedence"}, [f"tin{number}" for number in range(8)]),
    "cake-with-rate": (
        {"kind": "cake", "tins": "diffserv4", "rate": "9 Mbit/s"},
        ["best-effort", "bulk", "video", "voice"],
    ),
    "strict": ({"kind": "strict-priority", "classes": 4}, [f"class{number}" for number in range(4)]),
    "weighted": ({"kind": "weighted-priority", "weights": [1, 1, 1, 1]}, [f"class{number}" for number in range(4)]),
}
# DSCPs of the groups at CAKE and NQB.
DSCPS = {"precedence": (0, 8, 32, 46), "diffserv4": (0, 8, 4, 46), "nqb": (0, 0, 0, 45)}


def scenario(policy: str, **changes: object) -> Scenario:
    table, _ = POLICIES[policy]
    groups = GROUPS
    for number, dscp in enumerate(DSCPS.get(table.get("tins", table["kind"]), ())):
        groups = groups.replace(f"class = {number}\n", f"class = {dscp}\n")
    text = f"""
framing = "ip"
duration = "6 s"
tcp.profile = "linux-6"
[network]
kind = "dumbbell"
trunk_rate = "10 Mbit/s"
trunk_delay = "10 ms"
{groups}
"""
    return Scenario.from_toml(text).with_(**{"switch.policy": table, "switch.buffer": "60 packets", **changes})


def of_port(result: Result, port: str = TRUNK) -> tuple[Any, Any]:
    """Returns the rows of the port's queues, and the row of the port."""
    queues = result.queues[result.queues["port"] == port].set_index("queue")
    return queues, result.ports.set_index("port").loc[port]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_queues_of_a_port_add_up_to_the_port(policy: str) -> None:
    result = simulate(scenario(policy))
    queues, port = of_port(result)
    assert list(queues.index) == POLICIES[policy][1]
    for name in COUNTERS:
        assert queues[name].sum() == port[name], name
    # The packet in transmission is held by the port, but has left its queue.
    in_service = port["packets_held"] - queues["packets_held"].sum()
    assert in_service in (0, 1)
    assert queues["packets_out"].sum() == port["packets_out"] + in_service
    assert queues["bytes_out"].sum() + queues["bytes_held"].sum() == port["bytes_out"] + port["bytes_held"]
    lost = queues["packets_lost_overflow"] + queues["packets_lost_aqm"]
    assert (queues["packets_in"] == queues["packets_out"] + queues["packets_held"] + lost).all()
    # The port's mean also counts the packet in transmission.
    assert queues["mean_queue_packets"].sum() + port["utilization"] == pytest.approx(
        port["mean_queue_packets"], abs=0.02 if policy != "cake-with-rate" else 0.2
    )
    used = queues[queues["packets_in"] > 0]
    assert len(used) == (2 if policy in ("dualpi2", "nqb") else 4)
    # Little's law, but for the packets that were dropped or still wait.
    alone = used[(used["packets_held"] == 0) & (lost[used.index] == 0)]
    little = alone["mean_queue_packets"] * 6 / alone["packets_out"]
    assert alone["mean_delay_s"].tolist() == pytest.approx(little.tolist())
    reference = simulate(scenario(policy, engine="reference"))
    assert reference.state_hash == result.state_hash
    assert reference.queues.equals(result.queues)


def test_delays_marks_and_drops_of_a_queue_are_those_of_its_packets() -> None:
    """All new data of Prague are in the low-latency queue of the trunk; retransmissions, which lack ECT(1), are not."""
    result = simulate(scenario("dualpi2", **{"traces.delay": True, "traces.drops": True}))
    queues, _ = of_port(result)
    delay = result.traces["delay"]
    own = delay[(delay["port"] == TRUNK) & ~delay["acks"].astype(bool)]
    low = own["flow"] == "prague"
    resent = dict(zip(result.flows["flow"], result.flows["retransmitted_segments"], strict=True))["prague"]
    for name, rows, more in (("low-latency", own[low], -resent), ("classic", own[~low], resent)):
        # The trace contains the packets that have left the port.
        assert abs(queues.loc[name, "packets_out"] - (len(rows) + more)) <= 2
    waited = queues["mean_delay_s"] * queues["packets_out"]
    assert waited.sum() == pytest.approx(own["delay_s"].sum(), rel=0.001)
    # The retransmissions of Prague wait longer than its new data.
    assert waited["low-latency"] < own[low]["delay_s"].sum() < 2 * waited["low-latency"]
    drops = result.traces["drops"]
    drops = drops[drops["port"] == TRUNK]
    counted = drops.groupby([drops["flow"] == "prague", drops["cause"].astype(str)]).size()
    assert counted[True, "marked"] == queues.loc["low-latency", "packets_marked"] > 0
    assert counted[False, "marked"] == queues.loc["classic", "packets_marked"] > 0
    # The low-latency queue is not overloaded, so that its packets are marked instead of dropped.
    assert (drops["cause"] == "aqm").sum() == queues.loc["classic", "packets_lost_aqm"] > 0


def test_a_warm_up_excludes_the_start_of_each_queue() -> None:
    whole, late = (simulate(scenario("dualpi2", warm_up=begin)) for begin in ("0 s", "2 s"))
    early = simulate(scenario("dualpi2", duration="2 s"))
    for name in (*COUNTERS, "packets_out"):
        assert (whole.queues[name] - early.queues[name]).tolist() == late.queues[name].tolist(), name
    of_whole, of_early, of_late = (of_port(result)[0] for result in (whole, early, late))
    waited = of_whole["mean_delay_s"] * of_whole["packets_out"] - of_early["mean_delay_s"] * of_early["packets_out"]
    assert of_late["mean_delay_s"].tolist() == pytest.approx((waited / of_late["packets_out"]).tolist())
    means = (6 * of_whole["mean_queue_packets"] - 2 * of_early["mean_queue_packets"]) / 4
    assert of_late["mean_queue_packets"].tolist() == pytest.approx(means.tolist())


def test_an_outage_counts_the_packets_that_it_drops_from_each_queue() -> None:
    outages = {"intervals": [["2 s", "2.5 s"]], "arriving": "drop", "waiting": "drop"}
    result = simulate(scenario("cake", **{"network.path": {"outages": outages}}))
    queues, port = of_port(result)
    assert 0 < queues["packets_lost_outage"].sum() < port["packets_lost_outage"]
    assert (queues["packets_lost_outage"] > 0).sum() > 1


def test_queues_are_in_every_output_and_are_measures(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(scenario("dualpi2").to_toml())
    done = run("run", file, "--no-store", "--json", tmp_path / "a.json", "--csv", tmp_path / "a")
    result = simulate(scenario("dualpi2"))
    rows = json.loads((tmp_path / "a.json").read_text())["queues"]
    assert pd.DataFrame(rows).astype(result.queues.dtypes).equals(result.queues)
    assert pd.read_csv(tmp_path / "a" / "queues.csv").round(9).equals(result.queues.round(9))
    queues, _ = of_port(result)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"low-latency of {TRUNK}")]
    assert int(line.split()[3]) == queues.loc["low-latency", "packets_in"]
    assert f"{1e3 * queues.loc['low-latency', 'mean_delay_s']:.3f}" in line
    low = f"queue:{TRUNK}:low-latency"
    assert result.measure(f"{low}.delay") == queues.loc["low-latency", "mean_delay_s"]
    assert result.measure(f"{low}.marked") == pytest.approx(
        queues.loc["low-latency", "packets_marked"] / queues.loc["low-latency", "packets_in"]
    )
    late = scenario("dualpi2", warm_up="1 s")
    assert simulate(late).measure(f"{low}.throughput") == pytest.approx(result.measure(f"{low}.throughput"), rel=0.3)
    assert result.measure(f"queue:{TRUNK}:*.throughput") == pytest.approx(8 * queues["bytes_out"].sum() / 6)
    with pytest.raises(ScenarioError, match=r"no queue 'switch1->switch2:low'; .*low-latency"):
        result.measure(f"queue:{TRUNK}:low.delay")
    plain = scenario("dualpi2", **{"switch.policy": "codel", "duration": "1 s"})
    with pytest.raises(ScenarioError, match="no port has several queues; needs a policy such as 'dualpi2'"):
        simulate(plain).measure(f"{low}.delay")
    assert "queues" not in simulate(plain).summary()
