"""Connections that are established by SYN, SYN-ACK and ACK over the path (`tcp.handshake`)."""

from pathlib import Path
from typing import Final

import pytest

from longpipe import Scenario, ScenarioError, simulate
from pcap import analysis, needs_tshark, tshark

FILE: Final = Scenario(
    defaults="1996", name="file", framing="ip", switch={"buffer": "100 packets"}, duration="5 s"
).with_(
    **{
        "network.sources": 1,
        "network.trunk_rate": "10 Mbit/s",
        "network.trunk_delay": "50 ms",
        "network.access_delay": "0 s",
        "network.exit_delay": "0 s",
        "traffic": {"kind": "transfer", "size": "100 KB"},
        "tcp": {"profile": "linux-6", "handshake": True},
        "traces": {"rtt": True, "sequence": True},
    }
)
FLAGS: Final = (
    "tcp.flags.syn",
    "tcp.flags.ack",
    "frame.time_relative",
    "ip.len",
    "frame.comment",
)


@needs_tshark
def test_tshark_sees_the_handshake_cross_the_path(tmp_path: Path) -> None:
    path = tmp_path / "source.pcapng"
    result = simulate(FILE, captures={"host:source1": path})
    packets = tshark(path, *FLAGS)
    first = packets.iloc[:4]
    shown = [
        tuple(row in ("1", "True") for row in rows) for rows in first[["tcp.flags.syn", "tcp.flags.ack"]].to_numpy()
    ]
    assert shown == [(True, False), (True, True), (False, True), (False, True)]
    # Linux's SYN has 60 bytes with SACK and timestamps.
    assert first["ip.len"].tolist() == ["60", "60", "52", "1500"]
    assert packets["frame.comment"].isna().all(), "nothing is added"
    opened_s = float(first["frame.time_relative"].iloc[1])
    assert opened_s == pytest.approx(0.1, rel=0.01)
    rtt = result.traces["rtt"]
    assert rtt["rtt_s"].dropna().iloc[0] == pytest.approx(opened_s)
    assert not any(analysis(path).values())


def test_a_file_takes_a_round_trip_more() -> None:
    at = {name: simulate(FILE.with_(**{"tcp.handshake": name})).flows["completion_s"].iloc[0] for name in (False, True)}
    assert at[True] - at[False] == pytest.approx(0.1, rel=0.02)


def test_lost_syns_cost_seconds_and_two_reduce_the_window() -> None:
    def begun(*lost: int) -> tuple[float, int]:
        loss = {"kind": "packets", "indices": list(lost)}
        sent = simulate(FILE.with_(**{"network.trunk_loss": loss})).traces["sequence"].query("event == 0")
        return float(sent["time_s"].iloc[0]), int((sent["time_s"] < sent["time_s"].iloc[0] + 0.05).sum())

    (one_s, ten), (two_s, single) = begun(0), begun(0, 1)
    assert (one_s, two_s) == pytest.approx((1.1, 3.1), abs=0.01)
    assert (ten, single) == (10, 1)


@pytest.mark.parametrize("engine", ["trains", "reference"])
def test_web_clients_and_split_connections_have_handshakes(engine: str) -> None:
    web = FILE.with_(**{"traffic": "web", "tcp.initial_window": "2 segments", "engine": engine})
    assert simulate(web).flows["delivered_bytes"].sum() > 0
    split = FILE.with_(**{"network.pep": {"buffer": "1 MB"}, "engine": engine})
    assert simulate(split).flows["completion_s"].notna().all()


def test_handshake_rejects_a_known_rtt() -> None:
    with pytest.raises(
        ScenarioError, match=r"^tcp.initial_rtt: 1 s; needs 0 s with a handshake, which measures the RTT$"
    ):
        FILE.with_(**{"tcp.handshake": True, "tcp.initial_rtt": "1 s"}).resolve()
