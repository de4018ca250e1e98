"""Datagram flows in competition with TCP: output, errors, and the properties of each kind of traffic."""

import ipaddress
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import run
from longpipe import Scenario, ScenarioError
from longpipe.inputs.table import Table, read_table
from longpipe.measures.named import NamedMeasure
from longpipe.run import simulate
from longpipe.scenario import Cbr, Dumbbell, Graph, Group, Switch, Voice
from longpipe.scenario.network import Flow
from longpipe.store.packing import pack, unpack

TRUNK: dict[str, Any] = {
    "trunk_rate": "10 Mbit/s",
    "access_rate": "1 Gbit/s",
    "access_delay": "10 ms",
    "trunk_delay": "10 ms",
    "exit_delay": "10 ms",
}


def scenario(*groups: dict[str, Any], **more: Any) -> Scenario:  # noqa: ANN401 - fields of a scenario
    network = {"kind": "dumbbell", "group": groups, **TRUNK}
    fields = {"framing": "ip", "duration": "5 s", "network": network, "switch": {"buffer": "50 packets"}, **more}
    return Scenario(defaults="1996", **fields)


def test_voice_has_a_separate_row_and_no_part_in_fairness() -> None:
    mixed = scenario(
        {"name": "bulk", "count": 2, "tcp": {"receiver_window": "1 MB", "window_scale": "as needed"}},
        {"name": "call", "traffic": {"kind": "voice", "on": "100 s", "times": "fixed"}},
        {
            "name": "heard",
            "direction": "back",
            "traffic": {"kind": "voice", "codec": "g729", "on": "100 s", "times": "fixed"},
        },
    )
    result = simulate(mixed, 1)
    call, heard = (row for _, row in result.datagrams.iterrows())
    # A packet is sent every 20 ms from 0 s on; the last packets are still in flight.
    assert call["sent"] == heard["sent"] == 251
    assert call["received"] + call["lost"] <= 251
    assert call["received_bytes"] == 172 * call["received"]
    # The return direction carries only ACKs and 60-byte packets, so that there is no queue.
    assert heard["mean_delay_s"] == pytest.approx(0.03 + 60 * 8 / 1e7 + 2 * 60 * 8 / 1e9, abs=5e-4)
    assert call["mean_delay_s"] > heard["mean_delay_s"]
    assert call["jitter_s"] > 0
    bulk_bps = result.throughputs_bps[:2]
    assert result.fairness == pytest.approx(bulk_bps.sum() ** 2 / (2 * (bulk_bps**2).sum()))
    assert list(result.limits["limited_by"][2:]) == ["application", "application"]
    assert NamedMeasure.parse("datagrams:call.p95")(result) == call["p95_delay_s"]
    assert list(result.flows["sent_segments"][2:]) == [251, 251]
    assert "datagrams" in json.loads(result.to_json())


def test_a_flow_sent_back_over_a_dumbbell_takes_its_trunk_back() -> None:
    result = simulate(scenario({"name": "up", "direction": "back", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}), 1)
    used = dict(zip(result.ports["port"], result.ports["utilization"], strict=True))
    assert used["switch2->switch1"] == pytest.approx(0.1, rel=0.02)
    assert used["switch1->switch2"] == 0
    # The direction in which data are sent has 605 packets of 1000 bytes in 5 s; a packet of 1028 bytes takes 0.8224 ms.
    assert result.efficiency == pytest.approx(605 * 1028 * 8 / (5 * 10e6))


def test_a_graph_has_datagrams_both_ways_between_two_hosts() -> None:
    cbr = Cbr(rate="800 kbit/s", payload="972 B")
    graph = Graph.of(
        [("a", "s", "10 Mbit/s", "5 ms"), ("s", "b", "10 Mbit/s", "5 ms")],
        [Flow(name="there", from_="a", to="b", traffic=cbr), Flow(name="back", from_="b", to="a", traffic=cbr)],
    )
    frame = simulate(
        Scenario(defaults="1996", framing="ip", network=graph, duration="1 s", switch=Switch(buffer="9 packets")), 1
    ).datagrams
    # Two links, each with 5 ms of delay and 0.8 ms of transmission time, give 11.6 ms in total.
    assert frame["mean_delay_s"].tolist() == pytest.approx([0.0116, 0.0116])
    assert frame["sent"].tolist() == [101, 101]
    assert frame["received"].tolist() == [99, 99]


def test_stored_run_keeps_datagrams() -> None:
    result = simulate(scenario({"name": "v", "traffic": "video"}), 1)
    packed = pack(result)
    again = unpack(result.scenario, 1, packed.summary)
    assert again.datagrams.equals(result.datagrams.astype(again.datagrams.dtypes.to_dict()))
    older = type(result)(
        result.scenario, 1, "", 0, {name: part for name, part in result.columns.items() if name != "datagrams"}
    )
    assert older.datagrams.empty


def test_arrivals_are_those_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "sent.csv"
    file.write_text("time,bytes\n0,100\n0.5,200\n500 ms,1 KB\n")
    asked = scenario({"name": "f", "traffic": {"kind": "arrivals", "file": str(file)}})
    row = simulate(asked, 1).datagrams.iloc[0]
    assert (row["sent"], row["received"], row["sent_bytes"]) == (3, 3, 1300)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("time,bytes\n1,100\n0.5,100\n", ":3: time 500 ms after 1 s; needs nondecreasing times"),
        ("time,bytes\nsoon,100\n", ":2: time 'soon'; needs a number of seconds, or one with a unit, as in '5 ms'"),
        ("time,bytes\n1,0\n", ":2: bytes 0; needs a payload of 1 to 65000"),
        ("time,bytes\n1\n", ":2: 1 cells; needs 2: time, bytes"),
        ("when,bytes\n1,1\n", ":1: column 'when'; accepts time, bytes"),
        ("time,bytes\n", ": 0 rows; needs 1 to 10000000"),
    ],
)
def test_invalid_arrivals_file_is_rejected_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "sent.csv"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        scenario({"name": "f", "traffic": {"kind": "arrivals", "file": str(file)}})
    assert str(error.value) == f"{file}{line}"


@pytest.mark.parametrize(
    ("traffic", "line"),
    [
        ({"kind": "cbr"}, "network.group[0].traffic.rate: "),
        ({"kind": "cbr", "rate": "1 bit/s"}, "network.group[0].traffic.rate: "),
        ({"kind": "cbr", "rate": "1 Mbit/s", "payload": "70000 B"}, "network.group[0].traffic.payload: "),
        (
            {"kind": "on-off", "rate": "1 Mbit/s", "times": {"kind": "pareto", "shape": 1}},
            "network.group[0].traffic.times",
        ),
        ({"kind": "voice", "codec": "opus"}, "network.group[0].traffic.codec: "),
        ({"kind": "video", "size_spread": 2}, "network.group[0].traffic.size_spread: "),
    ],
)
def test_invalid_datagrams_are_rejected_in_one_line(traffic: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario({"name": "f", "traffic": traffic})
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_voice_travels_as_cells_with_bulk_in_either_engine(tmp_path: Path) -> None:
    network = Dumbbell(group=(Group(name="call", traffic=Voice()), Group(name="bulk", count=2)))
    asked = Scenario(defaults="1996", network=network, duration="3 s")
    file = tmp_path / "cells.pcapng"
    fast, plain = (
        simulate(asked.with_(engine=engine), 1, captures={"link:switch1->switch2": str(file)} if watch else {})
        for engine, watch in (("trains", False), ("reference", True))
    )
    assert fast.state_hash == plain.state_hash
    row = fast.datagrams.iloc[0]
    # A G.711 packet has 200 bytes; with LLC/SNAP and the AAL5 trailer, it takes 5 cells.
    assert row["sent"] - 2 <= row["received"] + row["lost"] <= row["sent"]
    assert row["received"] > 20
    assert plain.captures[0].packets > row["received"]


def test_duplicates_are_counted_separately_without_payload(tmp_path: Path) -> None:
    """Checks that a datagram that arrives twice counts once in every measure, and that none of those in flight is lost."""
    flow = {"name": "cbr", "traffic": {"kind": "cbr", "rate": "5 Mbit/s", "payload": "1000 B"}}
    doubled = scenario(flow, traces={"arrivals": True}).with_(
        **{"network.conditioners": [{"kind": "duplication", "probability": 0.3}]}
    )
    result = simulate(doubled, 1)
    row = result.datagrams.iloc[0]
    assert row["duplicates"] > 800
    assert row["received"] < row["sent"]
    assert row["lost"] == 0
    assert row["received_bytes"] == 1000 * row["received"] == result.flows["delivered_bytes"][0]
    assert result.traces["arrivals"]["bytes"].sum() == row["received_bytes"]
    assert result.throughputs_bps[0] < 5e6
    file = tmp_path / "doubled.toml"
    file.write_text(doubled.to_toml())
    done = run("run", file)
    assert "arrived  duplicates  lost" in done.stdout
    plain = run("run", file, "--set", "network.conditioners=[]")
    assert "duplicates" not in plain.stdout
    assert plain.returncode == 0


def test_losses_beside_duplicates_and_reordering_are_those_of_the_port() -> None:
    """Checks that duplicates do not hide losses, and that datagrams in flight that others have overtaken are not lost."""
    flow = {"name": "call", "traffic": {"kind": "poisson", "rate": "2 Mbit/s", "payload": "500 B"}}
    jitter = {"kind": "jitter", "delay": "200 ms", "jitter": "20 ms"}
    path = {
        "network.conditioners": [jitter, {"kind": "reordering", "probability": 0.05}],
        "network.trunk_loss": {"kind": "bernoulli", "probability": 0.01},
    }
    reordered = scenario(flow).with_(**path)
    doubled = reordered.with_(
        **{"network.conditioners": [*path["network.conditioners"], {"kind": "duplication", "probability": 0.05}]}
    )
    for disturbed in (reordered, doubled):
        result = simulate(disturbed, 4)
        assert result.state_hash == simulate(disturbed.with_(engine="reference"), 4).state_hash
        row = result.datagrams.iloc[0]
        port = result.ports.set_index("port").loc["switch1->switch2"]
        # A copy is lost without its datagram if another copy arrives.
        assert 0 <= port["packets_lost_injected"] - row["lost"] <= 0.15 * port["packets_lost_injected"]
        in_flight = row["sent"] - row["received"] - row["lost"]
        assert in_flight == pytest.approx(0.2 * row["sent"] / 5, abs=40)
    assert row["duplicates"] > 80


@pytest.mark.skipif(shutil.which("tshark") is None, reason="reads captures with tshark")
def test_captures_contain_udp_with_valid_checksums(tmp_path: Path) -> None:
    file = tmp_path / "sent.pcapng"
    result = simulate(scenario({"name": "f", "traffic": "video"}), 1, captures={"link:switch1->switch2": str(file)})
    names = [
        "ip.checksum.status",
        "udp.checksum",
        "udp.length",
        "ip.len",
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
    ]
    fields = [part for name in names for part in ("-e", name)]
    command = ["tshark", "-r", str(file), "-o", "ip.check_checksum:TRUE", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == result.captures[0].packets > 500
    for line in lines:
        ip_status, checksum, length, total, *ends = line.split("\t")
        assert (ip_status, int(total)) == ("1", int(length) + 20)
        # The checksum covers the pseudo-header and the header; the payload is all zeros (RFC 768).
        addresses = b"".join(ipaddress.ip_address(address).packed for address in ends[:2])
        words = [*struct.unpack("!4H", addresses), 17, int(length), *map(int, ends[2:]), int(length), int(checksum, 16)]
        assert sum(words) % 0xFFFF == 0


def test_arrivals_file_of_many_flows_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("time,bytes\n0,100\n")
    own = {"traffic": {"kind": "arrivals", "file": str(tmp_path / "a.csv")}}
    group = [{"name": "a", "count": 50, **own}, {"name": "b", "count": 50, **own}]
    reads: list[str] = []

    def counting(file: str, needs: str) -> Table:
        reads.append(file)
        return read_table(file, needs)

    monkeypatch.setattr("longpipe.scenario.rows.read_table", counting)
    network = {"kind": "dumbbell", "group": group}
    scenario = Scenario(
        defaults="1996", framing="ip", duration="10 ms", network=network, switch={"buffer": "100 packets"}
    )
    assert len(scenario.resolved["flows"]) == 100
    assert len(reads) == 1


CBR = {"name": "cbr", "traffic": {"kind": "cbr", "rate": "12 Mbit/s", "payload": "1472 B"}}
SMALL_CBR = {"name": "small", "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "payload": "172 B"}}
BULK = {"name": "bulk", "tcp": {"mss": "512 B"}}
# 100 ms at 10 Mbit/s are 125 kB, and the minimum RTT is 60 ms.
BUFFERS: list[tuple[tuple[dict[str, Any], ...], str, str, int]] = [
    ((CBR,), "100 ms", "ip", 125_000 // 1500),
    ((CBR, SMALL_CBR), "100 ms", "ip", 125_000 // 1500),
    ((CBR,), "1 BDP", "ip", 75_000 // 1500),
    ((CBR, BULK), "100 ms", "ip", 125_000 // 552),
    ((BULK,), "100 ms", "ip", 125_000 // 552),
    # A datagram of 1500 bytes takes 32 cells.
    ((CBR,), "10 packets", "aal5", 320),
]


@pytest.mark.parametrize(("groups", "buffer", "framing", "limit"), BUFFERS)
def test_buffers_count_datagrams_of_full_size_if_no_flow_uses_tcp(
    groups: tuple[dict[str, Any], ...], buffer: str, framing: str, limit: int
) -> None:
    links = scenario(*groups, switch={"buffer": buffer}, framing=framing).resolved["links"]
    assert {link["buffer"]["limit"] for link in links if link["rate_bps"] == 10_000_000} == {limit}


def test_a_buffer_of_100_ms_delays_datagrams_by_100_ms() -> None:
    result = simulate(scenario(CBR, switch={"buffer": "100 ms"}))
    # 83 packets and the propagation delay of 30 ms.
    assert 0.095 < result.measure("cbr.p99") - 0.030 < 0.101


def test_a_buffer_below_one_datagram_is_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"needs at least one full packet \(1500 B with a payload of 1472 B\)"):
        scenario(CBR, switch={"buffer": "1000 B"})
