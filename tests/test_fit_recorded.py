"""Tests `longpipe fit` with files without packets, all from one path with 2 Mbit/s, 40 ms and a 12-packet buffer."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from commands import run
from longpipe import Scenario, qlog, simulate
from longpipe.errors import ScenarioError
from longpipe.fit import fit, observe
from longpipe.fit.check import checked
from longpipe.fit.features import features
from longpipe.fit.path_file import write
from longpipe.fit.recorded import fit_recorded
from longpipe.fit.reported import report
from longpipe.fit.whatif import whatif
from longpipe.measured import read
from longpipe.measured.recording import Recording

DATA = Path(__file__).parent / "data" / "measured"
RATE_BPS, RTT_S = 2e6, 0.04
SIMULATED = """
framing = "ip"
duration = "10 s"
network = { kind = "dumbbell", sources = 1, access_rate = "1 Gbit/s", trunk_delay = "35 ms" }
switch = { buffer = "90 packets" }
tcp = { profile = "linux-6", congestion = "cubic" }
traces = { cwnd = true, rtt = true, sequence = true, events = true }
"""


def test_ss_gives_rate_base_rtt_and_control(tmp_path: Path) -> None:
    found = fit_recorded(read(DATA / "ss.txt.gz"))
    rate, base = found.estimates["rate"], found.estimates["base RTT"]
    assert rate["value"] == pytest.approx(RATE_BPS, rel=0.05)
    assert rate["low"] <= RATE_BPS <= rate["high"]
    assert base["value"] == pytest.approx(RTT_S, abs=1e-3)
    assert found.controls == {"bbr": 1.0}
    # The queue of 12 packets was full.
    assert 10 <= found.estimates["buffer"]["value"] <= 12
    path = tmp_path / "p.toml"
    write(found, path)
    goodput = whatif(path, {"tcp.congestion": "cubic"}, 3).measures[0]
    assert goodput.changed[0] == pytest.approx(RATE_BPS, rel=0.1)


def test_qlog_gives_the_rate_but_not_the_control() -> None:
    found = fit_recorded(read(DATA / "aioquic.qlog.gz"))
    rate = found.estimates["rate"]
    assert rate["low"] <= RATE_BPS <= rate["high"]
    assert found.controls == {}
    assert any("control, which the file does not name" in text for text in found.undetermined)


@pytest.mark.parametrize(
    ("rate", "changes"),
    [
        (16.0, {}),
        (5.0, {}),
        (7.3, {"tcp.congestion": "bbr"}),
        (9.0, {"tcp.mss": "1000 B", "tcp.timer.timestamps": False, "tcp.recovery.undo": False}),
    ],
)
def test_the_interval_of_a_simulated_qlog_contains_the_rate(
    rate: float, changes: dict[str, object], tmp_path: Path
) -> None:
    """The file contains lengths of data, and intervals of its rate contain few packets."""
    scenario = Scenario.from_toml(SIMULATED).with_(**{"network.trunk_rate": f"{rate} Mbit/s"}, **changes)
    (file,) = qlog.write(simulate(scenario), tmp_path)
    found = fit_recorded(read(file)).estimates["rate"]
    assert found["low"] <= rate * 1e6 <= found["high"]
    assert 0.0005 < found["high"] / found["low"] - 1 < 0.02


def test_headers_of_an_impossible_length_are_rejected(tmp_path: Path) -> None:
    (file,) = qlog.write(simulate(Scenario.from_toml(SIMULATED), seed=1), tmp_path)
    file.write_text(file.read_text().replace('"header_bytes":52', '"header_bytes":5200'))
    with pytest.raises(ScenarioError, match=r"^[^\n]*header_bytes: 5200; needs 40 to 100$"):
        read(file)


def test_application_rate_is_not_the_path_rate() -> None:
    """In iperf3's first intervals, the application fills the socket's buffer, which would give a rate of 3.7 Mbit/s."""
    found = fit_recorded(read(DATA / "iperf3.json.gz"))
    rate, base = found.estimates["rate"], found.estimates["base RTT"]
    assert rate["high"] is None
    assert rate["value"] <= RATE_BPS
    assert base["low"] is None
    assert base["value"] >= RTT_S


def test_a_rate_of_sent_packets_causes_a_note() -> None:
    acked = read(DATA / "aioquic.qlog.gz")
    (flow,) = acked.subjects
    series = tuple(replace(one, quantity="sent rate") if one.quantity == "rate" else one for one in flow.series)
    sent = replace(acked, subjects=(replace(flow, series=series),))
    (note,) = set(fit_recorded(sent).notes) - set(fit_recorded(acked).notes)
    assert note.startswith("the rates are those of sent packets, including lost ones")


def test_iperf3_writes_a_third_of_its_send_buffer() -> None:
    """Its intervals of 1 s contain 0, 10 or 20 blocks, which are 0, 10.5 or 21 Mbit/s; the path has 10."""
    found = fit_recorded(read(DATA / "iperf3-geo.json.gz"))
    rate = found.estimates["rate"]
    assert rate["low"] <= 10e6 <= rate["high"]
    assert rate["value"] == pytest.approx(10e6, rel=0.02)
    assert rate["high"] / rate["low"] < 1.1
    assert any("IPv6 headers" in note for note in found.notes)


def written(
    bps: float, rtt_s: float, block: int, interval_s: float, buffer: float
) -> Iterator[tuple[float, float, int]]:
    """Yields end [s], bytes and RTT [us] of the intervals of 20 s over a path with a full queue.

    Linux wakes a writer when a third of its buffer, which contains `buffer` bytes, is free. Writes that the buffer cuts
    are counted when they are complete.
    """
    payload, step_s = bps * 1448 / 1500 / 8, interval_s / 400
    queued = begun = written = before = 0.0
    for turn in range(1, round(20 / step_s) + 1):
        queued -= min(queued, payload * step_s)
        if queued <= buffer * 2 / 3:
            begun += buffer - queued
            queued = buffer
            written += begun // block * block
            begun %= block
        if turn % 400 == 0:
            yield turn * step_s, written - before, round(1e6 * rtt_s * (1 if turn == 400 else 1.9))
            before = written


def iperf3(file: Path, bps: float, rtt_s: float, block: int, interval_s: float, buffer: float) -> Recording:
    cwnd = round(bps * 1448 / 1500 / 8 * 2 * rtt_s)
    streams = [
        {
            "socket": 5, "start": end - interval_s, "end": end, "bytes": size, "bits_per_second": 8 * size / interval_s,
            "sender": True, "rtt": rtt_us, "snd_cwnd": cwnd,
        }
        for end, size, rtt_us in written(bps, rtt_s, block, interval_s, buffer)
    ]  # fmt: skip
    start = {"test_start": {"protocol": "TCP", "blksize": block}, "tcp_mss_default": 1448}
    file.write_text(json.dumps({"start": start, "intervals": [{"streams": [one]} for one in streams], "end": {}}))
    return read(file)


def iperf2(file: Path, bps: float, rtt_s: float, block: int, interval_s: float, buffer: float) -> Recording:
    """Writes the text of `iperf -e -i`, whose rates have three digits."""

    def digits(value: float) -> str:
        return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"

    cwnd = round(bps * 1448 / 1500 / 8 * 2 * rtt_s / 1024)
    lines = [
        "Client connecting to 192.0.2.2, TCP port 5001 with pid 83401 (1 flows)",
        f"Write buffer size: {block} Byte",
        "TCP congestion control set to bbr",
        "[  1] local 192.0.2.1 port 40000 connected with 192.0.2.2 port 5001 (icwnd/mss/irtt=14/1448/14642)",
    ]
    for end, size, rtt_us in written(bps, rtt_s, block, interval_s, buffer):
        rate = digits(8 * size / interval_s / 1e6)
        lines.append(
            f"[  1] {end - interval_s:.4f}-{end:.4f} sec  {digits(size / 2**20)} MBytes  {rate} Mbits/sec  "
            f"{size // block:.0f}/0         0     {cwnd}K/{rtt_us}(1142) us  68.37"
        )
    file.write_text("\n".join(lines) + "\n")
    return read(file)


@pytest.mark.parametrize(
    ("mbps", "rtt_s", "block", "interval_s", "buffer"),
    [
        (10, 0.56, 131072, 1.0, 4e6),
        (3, 0.3, 131072, 1.0, 4e5),
        (47, 0.1, 131072, 0.5, 2.5e6),
        (93, 0.03, 1 << 20, 1.0, 2e6),
        (290, 0.2, 131072, 0.25, 4e6),
        (6.1, 0.05, 8192, 0.1, 3e5),
    ],
)
@pytest.mark.parametrize("tool", [iperf3, iperf2])
def test_the_interval_of_iperfs_rate_contains_the_rate(
    tool: Callable[..., Recording],
    mbps: float,
    rtt_s: float,
    block: int,
    interval_s: float,
    buffer: float,
    tmp_path: Path,
) -> None:
    found = fit_recorded(tool(tmp_path / "file", mbps * 1e6, rtt_s, block, interval_s, buffer)).estimates["rate"]
    assert found["low"] <= mbps * 1e6 <= found["high"]
    # The bytes of the whole time are exact within one step, which is a third of the buffer or a block. Rates of iperf 2
    # have three digits.
    exact = max(buffer / 3, block) / (mbps * 1e6 / 8 * 20) + (0.01 if tool is iperf2 else 0)
    assert found["high"] / found["low"] - 1 < 7 * exact


def test_iperf_2_names_control_and_mss(tmp_path: Path) -> None:
    found = fit_recorded(iperf2(tmp_path / "file", 10e6, 0.1, 131072, 1.0, 1e6))
    assert (found.controls, found.mss) == ({"bbr": 1.0}, 1448)


DISH: Final = {"popPingDropRate": [0.0, 0.5, 1.0, 0.1], "popPingLatencyMs": [30.0, 25.0, 25.0, 60.0]}


def test_the_highest_used_rate_of_a_dish_is_a_lower_bound(tmp_path: Path) -> None:
    rates = {"downlinkThroughputBps": [1e6, 9e7, 0.0, 5e6], "uplinkThroughputBps": [1e5, 2e5, 0.0, 8e6]}
    file = tmp_path / "history.json"
    file.write_text(json.dumps({"dishGetHistory": {"current": "4", **DISH, **rates}}))
    for flow, highest in enumerate((9e7, 8e6)):
        found = checked(fit_recorded(read(file), flow))
        rate, base, loss = (found.estimates[name] for name in ("rate", "base RTT", "loss"))
        assert (rate["value"], rate["low"], rate["high"]) == (highest, highest, None)
        assert (base["value"], base["low"]) == (0.025, None)
        # The second without replies is an outage.
        assert loss["value"] == pytest.approx(0.2)
        assert found.goodput is None
        assert float(found.scenario.resolved["links"][2]["rate_bps"]) == highest
    with pytest.raises(ScenarioError, match=r"--flow: 2; .* has 2 flows"):
        fit_recorded(read(file), 2)


def test_only_the_dishs_table_of_wetlinks_is_fitted(tmp_path: Path) -> None:
    file = tmp_path / "wetlinks.csv"
    file.write_text(
        "site_name,timestamp,state,uplink,downlink,pop_ping_latency,ping_drop\n"
        "a,2023-09-28 12:33:03,CONNECTED,1.5,100,41.5,0\na,2023-09-28 12:33:18,CONNECTED,12.5,,45,4\n"
    )
    found = fit_recorded(read(file), 1)
    assert (found.flow, found.estimates["rate"]["value"]) == ("a uplink", 12.5e6)
    assert (found.estimates["base RTT"]["value"], found.estimates["loss"]["value"]) == (0.0415, 0.02)
    file.write_text(
        "site_name,timestamp_start,timestamp_end,server,ip_protocol,transport_protocol,download,upload\n"
        "a,2023-09-28 12:33:03,2023-09-28 12:33:04,192.0.2.7,ipv4,tcp,1e8,1e7\n"
    )
    with pytest.raises(ScenarioError, match=r"download: no RTTs over time; needs starlink\.csv"):
        fit_recorded(read(file))


def ndt7(file: Path, snapshots: int, acked: int = 1) -> Recording:
    """Writes a test over 8 Mbit/s with a queue of 30 ms, in the format of tests/test_measured_archives.py.

    ACKs acknowledge multiples of `acked` bytes.
    """
    payload = 8e6 * 1448 / 1500 / 8
    lines = [
        {
            "Test": "download",
            "TCPInfo": {
                "ElapsedTime": 250_000 * k, "BytesAcked": round(payload * 0.25 * k) // acked * acked, "RTT": 50_000, "MinRTT": 20_000,
                "BytesRetrans": 0,
            },
        }
        for k in range(1, snapshots + 1)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return read(file)


def test_ndt7_gives_rate_and_base_rtt(tmp_path: Path) -> None:
    found = fit_recorded(ndt7(tmp_path / "ndt7.jsonl", 39))
    assert found.estimates["rate"]["value"] == pytest.approx(8e6, rel=1e-3)
    assert found.estimates["base RTT"]["value"] == pytest.approx(0.02)
    # 30 ms at 8 Mbit/s.
    assert found.estimates["buffer"]["value"] == pytest.approx(20, abs=1)


def test_interval_from_stretch_acks_contains_the_rate(tmp_path: Path) -> None:
    """Most intervals have four ACKs of 64 kB, which are 8.6 Mbit/s; the others have three."""
    rate = fit_recorded(ndt7(tmp_path / "ndt7.jsonl", 39, 65160)).estimates["rate"]
    assert rate["low"] <= 8e6 <= rate["high"]
    assert rate["high"] / rate["low"] < 1.1


def test_file_with_a_single_rate_has_an_observed_goodput(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    write(fit_recorded(ndt7(tmp_path / "ndt7.jsonl", 2)), path)
    goodput = whatif(path, {"tcp.congestion": "cubic"}, 3).measures[0]
    assert goodput.observed == pytest.approx(8e6 * 1448 / 1500, rel=1e-3)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (
            "ping.txt",
            "contains no transfer that filled a path; needs a capture, or ss -tin, iperf3 JSON, iperf 2, flent",
        ),
        ("iperf3-reverse.json.gz", "no RTTs over time; needs the sender's file on Linux: run iperf3 without -R"),
        ("iperf3-udp.json.gz", "UDP; needs a TCP or QUIC transfer"),
        ("ping.flent.gz", "no transfer; needs a test with a TCP transfer"),
    ],
)
def test_incomplete_file_is_rejected_in_one_line(file: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as caught:
        fit_recorded(read(DATA / file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("counter", "damaged", "said"),
    [
        (r"mss:\d+", "mss:0", "MSS of 0 bytes; needs 1 to 65000"),
        (r"mss:\d+", "mss:65483", "MSS of 65483 bytes; needs 1 to 65000 (loopback interfaces have more)"),
        (r"retrans:0/\d+", "retrans:0/99999999999", "e+11 retransm"),
    ],
)
def test_impossible_counters_are_rejected(counter: str, damaged: str, said: str, tmp_path: Path) -> None:
    text = gzip.decompress((DATA / "ss.txt.gz").read_bytes()).decode()
    file = tmp_path / "ss.txt"
    file.write_text(re.sub(counter, damaged, text))
    with pytest.raises(ScenarioError) as caught:
        fit_recorded(read(file))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_command_prints_unknown_properties_of_a_log(tmp_path: Path) -> None:
    done = run("fit", str(DATA / "ss.txt.gz"), "-o", str(tmp_path / "p.toml"))
    assert done.returncode == 0, done.stderr
    assert "bbr 100%" in done.stdout
    assert "named in the file" in done.stdout
    assert "cannot tell whether losses were random or at a full queue" in done.stdout
    done = run("fit", str(DATA / "ss.txt.gz"), "-o", str(tmp_path / "p.toml"), "--controls", "bbr,cubic")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--controls: bbr,cubic; needs a capture" in done.stderr


def test_fit_of_a_real_kernels_capture_finds_the_path() -> None:
    """The capture is from tcpdump at the sender of `longpipe live` over IPv6, with the machine's kernel and longpipe's
    path.
    """
    seen = observe(DATA / "sender.pcap.gz")
    found = features(seen)
    assert found.rate_bps is not None
    assert found.rate_bps.value == pytest.approx(RATE_BPS, rel=0.01)
    # The base RTT is that of a full packet and contains its transmission. The machine's own delays are 0.3 ms.
    assert found.base_rtt_s.value == pytest.approx(RTT_S + 8 * seen.packet_bytes / RATE_BPS, abs=1e-3)
    assert found.buffer is not None
    assert abs(found.buffer.value + 1 - 12) <= 2
    fitted = fit(seen, ("bbr", "cubic", "linux-reno"))
    assert next(iter(fitted.control_shares())) == "bbr"
    assert sum("IPv6 headers" in note for note in report(fitted).notes) == 1
