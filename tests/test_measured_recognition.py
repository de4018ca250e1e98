"""Output of tools whose form depends on the system: ping, fping, iperf 2, ss, the Starlink dish, and times before lines."""

import gzip
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longpipe import ScenarioError
from longpipe.measured import Recording, Series, Subject, read
from longpipe.measured.recording import SeriesKind

DATA: Final = Path(__file__).parent / "data/measured"
SOME: Final = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(folder: Path, text: str | bytes) -> Recording:
    file = folder / "file"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(file)


def of(subject: Subject, quantity: SeriesKind) -> Series:
    found = subject.of(quantity)
    assert found is not None
    return found


def ms(subject: Subject) -> list[float]:
    return [round(1e3 * value, 6) for value in of(subject, "rtt").numbers]


def counts(subject: Subject, *names: str) -> tuple[float, ...]:
    return tuple(subject.counters[name][0] for name in names)


BUSYBOX: Final = (
    "PING 192.0.2.7 (192.0.2.7): 56 data bytes\n64 bytes from 192.0.2.7: seq=0 ttl=119 time=21.643 ms\n"
    "64 bytes from 192.0.2.7: seq=2 ttl=119 time=20.940 ms\n\n--- 192.0.2.7 ping statistics ---\n"
    "4 packets transmitted, 2 packets received, 50% packet loss\nround-trip min/avg/max = 20.940/21.291/21.643 ms\n"
)
MACOS: Final = (
    "PING example.net (192.0.2.7): 56 data bytes\n64 bytes from 192.0.2.7: icmp_seq=0 ttl=57 time=21.643 ms\n"
    "Request timeout for icmp_seq 1\n64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=20.940 ms\nRequest timeout for icmp_seq 3\n\n"
    "--- example.net ping statistics ---\n4 packets transmitted, 2 packets received, 50.0% packet loss\n"
    "round-trip min/avg/max/stddev = 20.940/21.291/21.643/0.351 ms\n"
)
MACOS_6: Final = (
    "PING6(56=40+8+8 bytes) 2001:db8::2 --> 2001:db8::1\n16 bytes from 2001:db8::1, icmp_seq=0 hlim=57 time=21.643 ms\n"
    "16 bytes from 2001:db8::1, icmp_seq=2 hlim=57 time=20.940 ms\n\n--- 2001:db8::1 ping6 statistics ---\n"
    "4 packets transmitted, 2 packets received, 50.0% packet loss\n"
)
IPUTILS: Final = (
    "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=53 time=21.643 ms\n"
    "64 bytes from host.example (192.0.2.7): icmp_seq=3 ttl=53 time=20.940 ms\n\n--- 192.0.2.7 ping statistics ---\n"
    "4 packets transmitted, 2 received, 50% packet loss, time 600ms\nrtt min/avg/max/mdev = 20.940/21.291/21.643/0.351 ms\n"
)
GERMAN: Final = (
    "PING 192.0.2.7 (192.0.2.7) 56(84) Bytes an Daten.\n64 Bytes von 192.0.2.7: icmp_seq=1 ttl=53 Zeit=21,643 ms\n"
    "64 Bytes von 192.0.2.7: icmp_seq=3 ttl=53 Zeit=20,940 ms\n"
)
OLD: Final = BUSYBOX.replace("seq=", "icmp_req=")


@pytest.mark.parametrize(
    "text", [BUSYBOX, MACOS, MACOS_6, IPUTILS, OLD], ids=["busybox", "macos", "ping6", "iputils", "old"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_ping_of_unix_without_times_has_its_rtts_and_losses(tmp_path: Path, text: str, encoding: str) -> None:
    found = opened(tmp_path, text.encode(encoding))
    (path,) = found.subjects
    assert ms(path) == [21.643, 20.94]
    assert counts(path, "sent", "received") == (4, 2)
    interval = 0.2 if text == IPUTILS else 1.0
    assert of(path, "rtt").time_s.tolist() == pytest.approx([0, 2 * interval])
    assert of(path, "losses").time_s.tolist() == pytest.approx([interval, 3 * interval])
    assert found.unknown[0].startswith("times: the file has none")
    assert found.begin is None


def test_decimal_commas_and_languages_of_ping_are_read(tmp_path: Path) -> None:
    (path,) = opened(tmp_path, GERMAN).subjects
    assert (ms(path), counts(path, "sent")) == ([21.643, 20.94], (3,))
    french = "64 octets de 192.0.2.7 : icmp_seq=1 ttl=53 temps=20.5 ms\n"
    assert ms(opened(tmp_path, french).subjects[0]) == [20.5]


def test_sequence_numbers_of_ping_wrap_without_times(tmp_path: Path) -> None:
    text = "".join(
        f"64 bytes from 192.0.2.7: icmp_seq={n % 65536} ttl=5 time=1.5 ms\n" for n in (65534, 65535, 65536, 65538)
    )
    (path,) = opened(tmp_path, text).subjects
    assert counts(path, "sent", "received", "duplicates") == (5, 4, 0)


def test_several_runs_of_ping_without_times_are_joined(tmp_path: Path) -> None:
    found = opened(tmp_path, BUSYBOX + BUSYBOX.replace("21.643", "31.5"))
    (path,) = found.subjects
    assert ms(path) == [21.643, 20.94, 31.5, 20.94]
    assert counts(path, "sent", "received") == (8, 4)


WINDOWS: Final = (
    "\r\nPinging example.net [192.0.2.7] with 32 bytes of data:\r\nReply from 192.0.2.7: bytes=32 time=20ms TTL=53\r\n"
    "Reply from 192.0.2.7: bytes=32 time<1ms TTL=53\r\nRequest timed out.\r\nReply from 192.0.2.1: Destination host unreachable.\r\n"
    "\r\nPing statistics for 192.0.2.7:\r\n    Packets: Sent = 4, Received = 2, Lost = 2 (50% loss),\r\n"
    "Approximate round trip times in milli-seconds:\r\n    Minimum = 0ms, Maximum = 20ms, Average = 10ms\r\n"
)
WINDOWS_GERMAN: Final = (
    "\r\nPing wird ausgeführt für example.net [192.0.2.7] mit 32 Bytes Daten:\r\nAntwort von 192.0.2.7: Bytes=32 Zeit=20ms TTL=53\r\n"
    "Antwort von 192.0.2.7: Bytes=32 Zeit<1ms TTL=53\r\nZeitüberschreitung der Anforderung.\r\nAllgemeiner Fehler.\r\n"
    "\r\nPing-Statistik für 192.0.2.7:\r\n    Pakete: Gesendet = 4, Empfangen = 2, Verloren = 2 (50% Verlust),\r\n"
)
WINDOWS_FRENCH: Final = (
    "\r\nEnvoi d'une requête 'ping' sur example.net [192.0.2.7] avec 32 octets de données :\r\n"
    "Réponse de 192.0.2.7 : octets=32 temps=20 ms TTL=53\r\nRéponse de 192.0.2.7 : octets=32 temps<1 ms TTL=53\r\n"
    "Délai d'attente de la demande dépassé.\r\nDélai d'attente de la demande dépassé.\r\n\r\n"
)


@pytest.mark.parametrize("text", [WINDOWS, WINDOWS_GERMAN, WINDOWS_FRENCH], ids=["english", "german", "french"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp850", "cp1252"])
def test_ping_of_windows_is_read_in_every_language(tmp_path: Path, text: str, encoding: str) -> None:
    found = opened(tmp_path, text.encode(encoding))
    (path,) = found.subjects
    assert (found.tool, path.name, ms(path)) == ("ping of Windows", "example.net (192.0.2.7)", [20.0, 1.0])
    assert counts(path, "sent", "received") == (4, 2)
    assert of(path, "losses").time_s.tolist() == [2.0, 3.0]
    assert any(
        "an RTT is only known to be below the stated value (<1ms), which is used" in note for note in found.notes
    )


def test_ping_of_windows_over_ipv6_is_read(tmp_path: Path) -> None:
    text = "Pinging 2001:db8::1 with 32 bytes of data:\nReply from 2001:db8::1: time=20ms\nReply from 2001:db8::1: time=22ms\n"
    (path,) = opened(tmp_path, text).subjects
    assert (path.name, ms(path)) == ("2001:db8::1", [20.0, 22.0])


def test_fping_has_a_path_for_each_target(tmp_path: Path) -> None:
    lines = [
        "[1795860000.50000] 192.0.2.7 : [0], 64 bytes, 20.5 ms (20.5 avg, 0% loss)",
        "[1795860000.60000] example.org : [0], 64 bytes, 5.25 ms (5.25 avg, 0% loss)",
        "[1795860002.50000] 192.0.2.7 : [1], timed out (20.5 avg, 50% loss)",
        "[1795860002.50000] 192.0.2.7 : [2], 64 bytes, 32.5 ms (26.5 avg, 33% loss)",
    ]
    found = opened(tmp_path, "\n".join(lines))
    first, second = found.subjects
    assert (first.name, ms(first), counts(first, "sent")) == ("192.0.2.7", [20.5, 32.5], (3,))
    assert (second.name, ms(second)) == ("example.org", [5.25])
    assert found.begin == "2026-11-28T10:00:00.479500Z"
    assert of(first, "losses").time_s.tolist() == pytest.approx([0.994], abs=1e-3)
    without = opened(tmp_path, "\n".join(line.partition("] ")[2] for line in lines))
    assert [ms(one) for one in without.subjects] == [[20.5, 32.5], [5.25]]
    rows = opened(tmp_path, "192.0.2.7   : 20.5 - 32.5\nexample.org : 5.25 - -\n")
    assert [ms(one) for one in rows.subjects] == [[20.5, 32.5], [5.25]]
    assert [counts(one, "sent", "received") for one in rows.subjects] == [(3, 2), (3, 1)]


IPERF2: Final = """------------------------------------------------------------
Client connecting to 192.0.2.2, TCP port 5001 with pid 83401 (1 flows)
TCP window size: 85.3 KByte (default)
------------------------------------------------------------
[  1] local 192.0.2.1 port 40000 connected with 192.0.2.2 port 5001 (icwnd/mss/irtt=14/1448/14642)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec  11/0         3       29K/21088(1142) us  68.37
[  1] 1.0000-2.0000 sec   896 KBytes  7.34 Mbits/sec  7/0         5       16K/18996(658) us  48.30
[  1] 2.0000-2.5000 sec   128 KBytes  2.10 Mbits/sec  1/0         0       16K/19000(600) us  8.30
[  1] 0.0000-2.5010 sec  2.25 MBytes  7.55 Mbits/sec  19/0         8       16K/19000(600) us  8.30
"""
IPERF2_OLD: Final = """------------------------------------------------------------
Client connecting to 192.0.2.2, TCP port 5001
TCP window size: 85.3 KByte (default)
------------------------------------------------------------
[  3] local 192.0.2.1 port 40000 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0- 1.0 sec  1.25 MBytes  10.5 Mbits/sec
[  3]  1.0- 2.0 sec   896 KBytes  7.34 Mbits/sec
[  3]  2.0- 2.5 sec   128 KBytes  2.10 Mbits/sec
[  3]  0.0- 2.5 sec  2.25 MBytes  7.55 Mbits/sec
"""
IPERF2_CSV: Final = "".join(
    f"20261128100000,192.0.2.1,40000,192.0.2.2,5001,3,{begin}-{end},{size},{rate}\n"
    for begin, end, size, rate in (
        (0.0, 1.0, 1312500, 10500000),
        (1.0, 2.0, 917500, 7340000),
        (2.0, 2.5, 131250, 2100000),
        (0.0, 2.5, 2361250, 7556000),
    )
)


@pytest.mark.parametrize("text", [IPERF2, IPERF2_OLD, IPERF2_CSV], ids=["enhanced", "plain", "csv"])
def test_iperf_2_has_rates_weighted_by_time(tmp_path: Path, text: str) -> None:
    found = opened(tmp_path, text)
    (flow,) = found.subjects
    assert (flow.name, found.format) == ("192.0.2.1:40000 - 192.0.2.2:5001", "iperf 2")
    assert of(flow, "rate").numbers.tolist() == pytest.approx([10.5e6, 7.34e6, 2.1e6])
    assert of(flow, "rate").mean == pytest.approx((10.5e6 + 7.34e6 + 2.1e6 / 2) / 2.5)
    assert counts(flow, "payload") == pytest.approx(((10.5e6 + 7.34e6 + 1.05e6) / 8,))
    if text == IPERF2:
        assert [round(1e3 * rtt, 3) for rtt in of(flow, "smoothed rtt").numbers] == [21.088, 18.996, 19.0]
        assert counts(flow, "retransmitted") == (8,)
        assert of(flow, "cwnd").numbers.tolist() == [29 * 1024, 16 * 1024, 16 * 1024]


def test_iperf_2_over_udp_has_its_losses(tmp_path: Path) -> None:
    text = (
        "Server listening on UDP port 5001\n[  3] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 40000\n"
        "[  3]  0.0- 1.0 sec   128 KBytes  1.05 Mbits/sec   0.008 ms    2/   89 (2.2%)\n"
        "[  3]  1.0- 2.0 sec   127 KBytes  1.04 Mbits/sec   0.011 ms    1/   89 (1.1%)\n"
        "[  4] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 40002\n[  4]  0.0- 1.0 sec  0.98 Bytes  512 KBytes/sec\n"
    )
    first, second = opened(tmp_path, text).subjects
    assert (counts(first, "lost", "packets"), first.facts["protocol"]) == ((3, 178), "UDP")
    assert of(second, "rate").numbers.tolist() == [512 * 1024 * 8]


def test_several_runs_of_iperf_2_are_separate_flows(tmp_path: Path) -> None:
    found = opened(tmp_path, IPERF2_OLD + IPERF2_OLD.replace("40000", "40002"))
    assert [one.name.partition(" ")[0] for one in found.subjects] == ["192.0.2.1:40000", "192.0.2.1:40002"]


STAMPS: Final[dict[str, Callable[[int], str]]] = {
    "unix": lambda ns: f"{ns // 10**9}.{ns % 10**9 // 1000:06d}",
    "iso": lambda ns: f"2026-11-28T10:{ns // 60_000_000_000 % 60:02d}:{ns // 10**9 % 60:02d}.{ns % 10**9:09d}Z",
    "ts": lambda ns: f"Nov 28 10:{ns // 60_000_000_000 % 60:02d}:{ns // 10**9 % 60:02d}.{ns % 10**9 // 1000:06d}",
    "day": lambda ns: f"10:{ns // 60_000_000_000 % 60:02d}:{ns // 10**9 % 60:02d}.{ns % 10**9 // 1000:06d}",
}
BEGIN: Final = 1_795_860_000 * 10**9


@pytest.mark.parametrize("form", STAMPS)
def test_times_before_lines_are_those_of_pings_replies(tmp_path: Path, form: str) -> None:
    lines = [line for line in MACOS.splitlines() if line.strip()]
    text = "".join(f"{STAMPS[form](BEGIN + k * 500_000_000)} {line}\n" for k, line in enumerate(lines))
    found = opened(tmp_path, text)
    (path,) = found.subjects
    assert ms(path) == [21.643, 20.94]
    # The replies are in the lines 1 and 3, and a request precedes its reply by the RTT.
    assert of(path, "rtt").time_s.tolist() == pytest.approx([0, 1.000703], abs=1e-5)
    assert (found.begin is not None) == (form in ("unix", "iso"))
    assert not any("times: the file has none" in text for text in found.unknown)


@pytest.mark.parametrize("form", STAMPS)
@pytest.mark.parametrize("name", ["ss", "tc"])
def test_times_before_lines_are_those_of_snapshots(tmp_path: Path, form: str, name: str) -> None:
    def snapshot(k: int) -> list[str]:
        if name == "tc":
            return [
                "qdisc tbf 8004: root refcnt 2 rate 2Mbit burst 5000b lat 50ms",
                f" Sent {1_000_000 * k} bytes {700 * k} pkt (dropped {3 * k}, overlimits 0 requeues 0)", " backlog 0b 0p requeues 0",
            ]  # fmt: skip
        head = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process"
        details = f"\t cubic wscale:7,7 rto:240 rtt:40.1/0.5 mss:1448 cwnd:100 bytes_acked:{1_000_000 * k} retrans:0/2"
        return [head, "ESTAB 0 100000 192.0.2.1:40000     192.0.2.2:5201", details]

    plain, stamped = [], []
    for k in range(1, 5):
        at = BEGIN + k * 700_000_000
        plain += [STAMPS["unix"](at), *snapshot(k)]
        stamped += [f"{STAMPS[form](at + 100_000 * n)} {line}" for n, line in enumerate(snapshot(k))]
    right, found = opened(tmp_path, "\n".join(plain)), opened(tmp_path, "\n".join(stamped))
    (one,), (other,) = right.subjects, found.subjects
    assert one.counters == other.counters
    assert of(other, "rate").numbers == pytest.approx(of(one, "rate").numbers, rel=1e-6)
    assert of(other, "rate").time_s == pytest.approx(of(one, "rate").time_s, abs=1e-6)


def test_ss_of_established_sockets_has_no_states(tmp_path: Path) -> None:
    states = "State Recv-Q Send-Q Local Peer\nESTAB 0 10 1.2.3.4:5 6.7.8.9:10\n\t cubic rto:204 rtt:3.25/1.5 mss:1448 cwnd:10 bytes_acked:9\n"
    without = states.replace("State ", "").replace("ESTAB ", "")
    assert opened(tmp_path, without).as_json()["subjects"] == opened(tmp_path, states).as_json()["subjects"]


def history(samples: int, current: int, **names: str) -> dict[str, Any]:
    """Returns a ring buffer in which sample n has the RTT n ms."""
    size = 10
    ring = [0.0] * size
    for n in range(max(0, current - samples), current):
        ring[n % size] = float(n)
    lists = {
        "popPingDropRate": [1.0 if rtt == current - 2 else 0.0 for rtt in ring], "popPingLatencyMs": ring,
        "downlinkThroughputBps": [1e6 * rtt for rtt in ring], "uplinkThroughputBps": [8.0] * size,
    }  # fmt: skip
    return {"current": str(current)} | {names.get(key, key): value for key, value in lists.items()}


def test_the_history_of_a_dish_is_a_ring_buffer(tmp_path: Path) -> None:
    found = opened(tmp_path, json.dumps({"id": "1", "dishGetHistory": history(10, 27)}, indent=1))
    path, down, up = found.subjects
    # The samples 17 to 26, without sample 25, in which all pings were lost.
    assert ms(path) == [17, 18, 19, 20, 21, 22, 23, 24, 26]
    assert (found.duration_s, counts(path, "samples", "seconds without replies")) == (10, (10, 1))
    assert path.counters["lost pings"] == (10, "%")
    assert of(down, "rate").numbers.tolist() == [1e6 * n for n in range(17, 27)]
    assert of(up, "rate").mean == 8
    short = opened(tmp_path, json.dumps({"dishGetHistory": history(5, 5)}))
    assert ms(short.subjects[0]) == [1, 2, 4]
    snake = {"popPingDropRate": "pop_ping_drop_rate", "popPingLatencyMs": "pop_ping_latency_ms"}
    assert ms(opened(tmp_path, json.dumps({"dish_get_history": history(10, 27, **snake)})).subjects[0]) == ms(path)
    with pytest.raises(ScenarioError, match="current: 'x'; needs the number of samples"):
        opened(tmp_path, json.dumps({"dishGetHistory": history(5, 5) | {"current": "x"}}))


def test_bulk_history_of_the_dish_is_read(tmp_path: Path) -> None:
    text = (
        "datetimestamp_utc,pop_ping_drop_rate,pop_ping_latency_ms,downlink_throughput_bps,uplink_throughput_bps\n"
        "2026-11-28T10:00:00.5,0.0,25.5,1000000,8\n2026-11-28T10:00:01.5,1.0,,0,0\n2026-11-28T10:00:02.5,0.25,35.5,3000000,8\n"
    )
    found = opened(tmp_path, text)
    assert ms(found.subjects[0]) == [25.5, 35.5]
    assert found.begin == "2026-11-28T10:00:00.500000Z"
    assert of(found.subjects[1], "rate").numbers.tolist() == [1e6, 0, 3e6]


def status(uptime: object, rtt_ms: float, **more: float) -> str:
    """Returns what grpcurl prints for an answer to get_status."""
    numbers = {"popPingLatencyMs": rtt_ms, "downlinkThroughputBps": 1e5 * rtt_ms, **more}
    return json.dumps({"apiVersion": "25", "dishGetStatus": {"deviceState": {"uptimeS": uptime}, **numbers}}, indent=2)


def test_answers_of_a_dish_to_get_status_are_samples(tmp_path: Path) -> None:
    """Two answers in the same second are one sample, an absent share of lost pings is 0, and the dish restarts once."""
    answers = [status("1000", 20), status("1000", 20), status("1005", 30, popPingDropRate=0.5), status("3", 40)]
    found = opened(tmp_path, "\n".join(answers))
    path, down, _ = found.subjects
    assert (found.format, ms(path), found.duration_s) == ("Starlink dish status", [20, 30, 40], 7)
    assert of(path, "rtt").time_s.tolist() == [0, 5, 6]
    assert of(down, "rate").numbers.tolist() == [2e6, 3e6, 4e6]
    assert any("2 runs" in note for note in found.notes)
    assert opened(tmp_path, answers[2]).subjects[0].counters["lost pings"] == (50, "%")
    with pytest.raises(ScenarioError, match=r"deviceState\.uptimeS: 'x'; needs the time since the dish started"):
        opened(tmp_path, status("x", 20))


@pytest.mark.parametrize("point", [".", ","])
def test_decimal_commas_of_ping_are_read(tmp_path: Path, point: str) -> None:
    """In some languages, ping writes RTTs with commas; the times of `ping -D` have points in all of them."""
    lines = [
        "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.",
        f"[1795860000{point}500000] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=53 time=20,5 ms",
        f"[1795860002{point}500000] 64 bytes from 192.0.2.7: icmp_seq=3 ttl=53 time=1,25 ms",
    ]
    found = opened(tmp_path, "\n".join(lines) + "\n")
    assert (found.format, ms(found.subjects[0])) == ("ping -D", [20.5, 1.25])
    assert counts(found.subjects[0], "sent", "received") == (3, 2)
    assert found.begin == "2026-11-28T10:00:00.479500Z"


def test_events_of_ndt7_client_are_read(tmp_path: Path) -> None:
    def measurement(ms: int, size: int) -> dict[str, Any]:
        app = {"ElapsedTime": 1000 * ms, "NumBytes": size}
        return {"Key": "measurement", "Value": {"AppInfo": app, "Origin": "client", "Test": "download"}}

    server = {
        "Key": "measurement",
        "Value": {
            "TCPInfo": {"ElapsedTime": 250_000, "RTT": 20_000, "MinRTT": 18_000},
            "Origin": "server",
            "Test": "download",
        },
    }
    events: list[dict[str, Any]] = [
        {"Key": "starting", "Value": {"Test": "download"}}, {"Key": "connected", "Value": {"Server": "a", "Test": "download"}},
        measurement(250, 100_000), server, measurement(500, 600_000), {"Key": "complete", "Value": {"Test": "download"}},
        {"ServerFQDN": "a", "Download": {"Throughput": {"Value": 16.0, "Unit": "Mbit/s"}}},
    ]  # fmt: skip
    found = opened(tmp_path, "".join(json.dumps(one) + "\n" for one in events))
    client, server_side = found.subjects
    assert (client.name, server_side.name, found.tool) == ("download (client)", "download (server)", "ndt7-client")
    assert of(client, "rate").numbers.tolist() == [8 * 500_000 / 0.25]
    assert of(server_side, "smoothed rtt").numbers.tolist() == pytest.approx([0.02])


def test_json_behind_text_is_read(tmp_path: Path) -> None:
    result = gzip.decompress((DATA / "iperf3.json.gz").read_bytes()).decode()
    for before in ("Connecting to host 10.0.0.4, port 5201\n", "warning: a [5] {x}\n\n"):
        found = opened(tmp_path, before + result + "\niperf Done.\n")
        assert (
            of(found.subjects[0], "rate").numbers.tolist()
            == of(read(DATA / "iperf3.json.gz").subjects[0], "rate").numbers.tolist()
        )
        assert any("characters of text around the JSON are ignored" in note for note in found.notes)
    stamped = "".join(f"{STAMPS['ts'](BEGIN)} {line}\n" for line in result.splitlines())
    assert opened(tmp_path, stamped).format == "iperf3 JSON"


def test_merged_logs_of_pantheon_have_the_capacity_of_links(tmp_path: Path) -> None:
    events = [(float(k), "# 1504") for k in range(1, 100)] + [(k + 0.25, "+ 1500 1") for k in range(1, 100)]
    events += [(k + 20.5, f"- 1500 {-3.5 + k} 1") for k in range(1, 100)]
    text = "# init timestamp: 1700000000000\n" + "".join(f"{at:.3f} {event}\n" for at, event in sorted(events))
    flow, link = opened(tmp_path, text).subjects
    assert (flow.name, link.name, counts(link, "opportunities")) == ("flow 1", "link", (99,))
    assert of(link, "rate").mean == pytest.approx(8 * 1504 * 1000, rel=0.02)
    assert (
        opened(tmp_path, text)
        .notes[0]
        .startswith("delays of the tunnel are negative: the clocks of both ends differ by at least 2.5 ms")
    )


def test_times_of_snapshots_may_have_decimal_commas(tmp_path: Path) -> None:
    text = gzip.decompress((DATA / "ss.txt.gz").read_bytes()).decode()
    commas = re.sub(r"(?m)^(\d{10})\.(\d+)$", r"\1,\2", text)
    assert commas != text
    assert opened(tmp_path, commas).as_json()["subjects"] == read(DATA / "ss.txt.gz").as_json()["subjects"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"PK\x03\x04" + bytes(40), "a ZIP archive: extract the file"),
        (b"name" + bytes(253) + b"ustar\x0000", "a tar archive: extract the file"),
        (b"snoop\0\0\0\0\0\0\2\0\0\0\4", "a capture of Solaris snoop"), (b"GMBU\0\2", "a capture of Microsoft Network Monitor"),
        (b"\x7fELF\2\1", "a program"), (struct.pack("<20I", *range(20)), "binary data"), ("text".encode("utf-32"), "text in UTF-32"),
        (b"10:00:00.123456 IP 192.0.2.1.5 > 192.0.2.2.6: Flags [S]\n", "text of tcpdump"),
        (b"traceroute to example.net (192.0.2.7), 30 hops max\n", "traceroute"),
        (b"Start: 2026-11-28\nHOST: a   Loss%   Snt   Last\n", "a report of mtr"),
        (b'{"report": {"mtr": {"src": "a"}}}', "mtr --json"), (b"MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0\n", "netperf"),
        (b'{"type":"result","ping":{"latency":1},"download":{"bandwidth":1},"result":{}}', "Ookla's speed test"),
        (b'[{"_index": "packets", "_source": {"layers": {}}}]', "JSON of tshark"), (b"<!DOCTYPE html>\n<html>", "a page in HTML"),
        (b'{"color": 1, "shape": 2}', "JSON of an unknown tool, with the keys color, shape"),
        (b"time,rate\n0,1\n", "a table with the columns time, rate"), (b"name = \"a\"\n[tcp]\n", "TOML"),
    ],
)  # fmt: skip
def test_recognized_but_unread_format_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        opened(tmp_path, content)
    line = str(caught.value)
    assert f"looks like {named}" in line
    assert "\n" not in line


@SOME
@given(
    st.binary(min_size=1, max_size=200)
    | st.text(min_size=1, max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_content_is_read_or_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    try:
        opened(tmp_path, content)
    except ScenarioError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are right
