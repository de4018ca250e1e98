"""Output of measurement tools: `longpipe read` returns the values that the tool itself reports."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from longpipe import ScenarioError
from longpipe.measured import Recording, Series, Subject, read
from longpipe.measured.recording import SeriesKind, series
from longpipe.pictures.measured import measured

DATA: Final = Path(__file__).parent / "data/measured"


def of(subject: Subject, quantity: SeriesKind) -> Series:
    found = subject.of(quantity)
    assert found is not None
    return found


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def loaded(name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def test_iperf3_intervals_have_the_tools_values() -> None:
    found = read(DATA / "iperf3.json.gz")
    (one,) = found.subjects
    assert (found.version, found.begin, one.name) == (
        "3.12",
        "2026-11-26T06:40:40.000000Z",
        "10.0.0.1:57286 - 10.0.0.4:5201",
    )
    streams = [interval["streams"][0] for interval in loaded("iperf3.json.gz")["intervals"]]
    # iperf3 rounds the lengths of intervals.
    assert of(one, "rate").numbers == pytest.approx([stream["bits_per_second"] for stream in streams], rel=1e-6)
    assert of(one, "rate").time_s.tolist() == [stream["end"] for stream in streams]
    assert of(one, "smoothed rtt").numbers * 1e6 == pytest.approx([stream["rtt"] for stream in streams])
    assert of(one, "cwnd").numbers.tolist() == [stream["snd_cwnd"] for stream in streams]
    assert of(one, "retransmissions").numbers.sum() == one.counters["retransmitted"][0] == 25
    assert one.facts == {"protocol": "TCP", "role": "sender", "control": "bbr"}


def test_the_picture_counts_lost_and_retransmitted_packets() -> None:
    """Single losses of a burst are one bar with their number, not one mark at 1."""
    losses = series("losses", [(2.001 + 1e-5 * k, 1.0) for k in range(2060)] + [(10.0, 1.0)], "one per packet")
    again = series("retransmissions", [(4.0, 3.0)], "in the interval")
    flow = Subject("a", "flow", (losses, again))
    (panel,) = measured(Recording("a.pcap", "pcap", "tcpdump", None, None, 10.0, (flow,))).axes
    lost, sent = (np.asarray(line.get_xydata()) for line in panel.get_lines())
    assert lost == pytest.approx(np.array([[2.05, 2060], [9.95, 1]]))
    assert sent == pytest.approx(np.array([[3.95, 3]]))
    assert panel.get_ylabel() == "lost or retransmitted\n[packets in 100 ms]"


def test_iperf3s_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "iperf3.txt"
    file.write_text("Connecting to host 10.0.0.4, port 5201\n[ ID] Interval           Transfer     Bitrate\n")
    with pytest.raises(ScenarioError, match="text of iperf3, which lacks most values: use `iperf3 -J`"):
        read(file)


def test_iperf3_modes_are_distinguished() -> None:
    assert len(read(DATA / "iperf3-parallel.json.gz").subjects) == 2
    reverse = read(DATA / "iperf3-reverse.json.gz")
    assert reverse.subjects[0].facts["role"] == "receiver"
    assert any("only a sender on Linux reports them" in text for text in reverse.unknown)
    (udp,) = read(DATA / "iperf3-udp.json.gz").subjects
    assert (udp.counters["lost"], udp.counters["packets"]) == ((168, "packets"), (518, "packets"))
    assert [one.facts["role"] for one in read(DATA / "iperf3-bidir.json.gz").subjects] == ["sender", "receiver"]


def test_the_json_stream_of_iperf3_is_read_as_its_json(tmp_path: Path) -> None:
    # This file follows the format of iperf3 3.17; the version that created the other files is older.
    value = loaded("iperf3.json.gz")
    events = [("start", value["start"]), *(("interval", one) for one in value["intervals"]), ("end", value["end"])]
    lines = "".join(json.dumps({"event": event, "data": data}) + "\n" for event, data in events)
    whole, stream = read(DATA / "iperf3.json.gz"), read(written(tmp_path / "a.json", lines))
    assert (whole.format, stream.format) == ("iperf3 JSON", "iperf3 JSON stream")
    assert whole.as_json()["subjects"] == stream.as_json()["subjects"]
    cut = read(written(tmp_path / "a.json", "".join(lines.splitlines(keepends=True)[:3])))
    assert cut.notes == ("the test is incomplete: it was interrupted",)


def test_a_failed_iperf3_test_is_rejected_with_its_reason(tmp_path: Path) -> None:
    text = json.dumps({"start": {"connected": []}, "intervals": [], "end": {}, "error": "the server is busy"})
    with pytest.raises(
        ScenarioError, match=r"no interval of a stream, iperf3 failed: the server is busy; needs a test that sent"
    ):
        read(written(tmp_path / "a.json", text))


def test_ss_gives_rates_of_acknowledged_bytes_and_the_kernels_state() -> None:
    found = read(DATA / "ss.txt.gz")
    bulk, control = found.subjects
    assert (bulk.name, control.name) == ("10.0.0.1:57286 > 10.0.0.4:5201", "10.0.0.1:57284 > 10.0.0.4:5201")
    # The values of bytes_acked in the second and the third snapshot, and their times by `date`.
    taken = (1795675240_674223255 - 1795675240_402799112) / 1e9
    assert of(bulk, "rate").numbers[0] == pytest.approx(8 * (42_030 - 38) / taken)
    assert of(control, "rate").numbers[0] == 0
    assert of(bulk, "smoothed rtt").numbers[:3].tolist() == pytest.approx([0.040504, 0.105154, 0.106822])
    assert of(bulk, "cwnd").numbers[:3].tolist() == [11, 18, 26]
    assert of(bulk, "delivery rate").numbers[1] == 1_822_944
    # The capture of the same test, iperf3 and ss count the same retransmissions.
    assert bulk.counters["retransmitted"] == (25, "packets")
    assert bulk.facts == {"control": "bbr"}


def test_ss_without_times_gives_state_and_a_note(tmp_path: Path) -> None:
    text = "State Recv-Q Send-Q Local Peer\nESTAB 0 10 1.2.3.4:5 6.7.8.9:10\n\t cubic wscale:7,7 rto:204 rtt:3.25/1.5 mss:1448 cwnd:10 send 35.6Mbps bytes_acked:9\n"
    found = read(written(tmp_path / "ss.txt", text))
    (one,) = found.subjects
    assert one.series == ()
    assert (one.counters["rtt"], one.counters["cwnd"], one.facts["control"]) == (
        (0.00325, "s"),
        (10, "packets"),
        "cubic",
    )
    assert found.unknown[0] == "times: the log has none; print `date +%s.%N` before each `ss -tin`"
    with pytest.raises(ScenarioError, match=r"ss\.txt:3: rtt: 'x/1\.5'; needs a number"):
        read(written(tmp_path / "ss.txt", text.replace("3.25", "x")))


def test_rates_of_ss_without_n_have_prefixes(tmp_path: Path) -> None:
    line = "ESTAB 0 0 1.2.3.4:5 6.7.8.9:10\n\t bbr rto:204 rtt:1/1 cwnd:4 pacing_rate 1.5Gbps/2Gbps delivery_rate 35.6Mbps\n"
    (one,) = read(written(tmp_path / "ss.txt", f"1700000000.5\n{line}1700000001.5\n{line}")).subjects
    assert (of(one, "pacing rate").numbers[0], of(one, "delivery rate").numbers[0]) == (1.5e9, 35.6e6)


def test_ping_counts_lost_requests_as_its_summary_does() -> None:
    (path,) = read(DATA / "ping.txt").subjects
    # "40 packets transmitted, 31 received", "rtt min/avg/max/mdev = 40.690/81.801/105.045/21.128 ms"; times have 3 digits.
    assert (path.counters["sent"][0], path.counters["received"][0], len(of(path, "losses").numbers)) == (40, 31, 9)
    rtt = of(path, "rtt")
    assert (rtt.numbers.min(), rtt.numbers.max()) == pytest.approx((0.0407, 0.105))
    assert rtt.numbers.mean() == pytest.approx(0.081801, rel=1e-3)


def test_ping_sequence_numbers_wrap_and_times_are_those_of_requests(tmp_path: Path) -> None:
    lines = [
        f"[{1700000000 + k}.500000] 64 bytes from 10.0.0.4: icmp_seq={(65534 + k) % 65536} ttl=64 time=100 ms"
        for k in (0, 1, 3)
    ]
    (path,) = read(written(tmp_path / "ping.txt", "\n".join(lines))).subjects
    assert of(path, "rtt").time_s.tolist() == [0.0, 1.0, 3.0]
    # Without ping's first line, the requests before the first reply are unknown.
    assert of(path, "losses").time_s.tolist() == [2.0]


def test_irtt_has_delays_and_losses_by_direction() -> None:
    found = read(DATA / "irtt.json.gz")
    (path,) = found.subjects
    stats = loaded("irtt.json.gz")["stats"]
    quantities: tuple[tuple[SeriesKind, str], ...]
    quantities = (("rtt", "rtt"), ("delay up", "send_delay"), ("delay down", "receive_delay"))
    for quantity, name in quantities:
        numbers = of(path, quantity).numbers
        assert (len(numbers), numbers.min(), numbers.max()) == (29, stats[name]["min"] / 1e9, stats[name]["max"] / 1e9)
        assert numbers.mean() == pytest.approx(stats[name]["mean"] / 1e9, abs=1e-9)
    assert (path.counters["sent"][0], path.counters["lost"][0]) == (
        stats["packets_sent"],
        40 - stats["packets_received"],
    )
    assert (found.version, found.begin) == ("0.9.0", "2026-11-26T06:40:55.670342Z")


def test_tc_gives_rates_drops_and_backlogs_between_snapshots() -> None:
    (queue,) = read(DATA / "tc.txt").subjects
    assert (queue.name, queue.kind) == ("tbf 8004:", "queue")
    assert of(queue, "rate").numbers[0] == pytest.approx(
        8 * (2047677 - 1829027) / (1795676406.607523224 - 1795676406.138952512), rel=1e-6
    )
    assert of(queue, "losses").numbers.tolist() == [192, 58]
    assert of(queue, "backlog").numbers.tolist() == [0, 30280, 4542, 0]
    _, shaper = read(DATA / "tc.json").subjects
    assert (shaper.name, shaper.counters["drops"], shaper.counters["bytes"]) == (
        "va tbf 8004:",
        (9, "packets"),
        (1828532, "bytes"),
    )


def test_counters_of_disciplines_and_sizes_with_prefixes_are_read(tmp_path: Path) -> None:
    text = (
        "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n"
        " Sent 1000 bytes 10 pkt (dropped 3, overlimits 0 requeues 1)\n backlog 12Kb 8p requeues 1\n"
        "  maxpacket 1514 drop_overlimit 0 new_flow_count 7 ecn_mark 5\n  new_flows_len 0 old_flows_len 1\n"
    )
    (queue,) = read(written(tmp_path / "tc.txt", text)).subjects
    assert {name: queue.counters[name][0] for name in ("backlog", "ecn_mark", "drops")} == {
        "backlog": 12288,
        "ecn_mark": 5,
        "drops": 3,
    }


def test_decreasing_times_are_rejected(tmp_path: Path) -> None:
    text = (DATA / "tc.txt").read_text().replace("1795676407.056058311", "1795676400.056058311")
    with pytest.raises(ScenarioError, match=r"tc\.txt:9: 6\.55 s before the previous time; needs increasing times"):
        read(written(tmp_path / "tc.txt", text))


def test_a_json_text_sequence_without_a_value_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_bytes(b"\x1e\n")
    with pytest.raises(ScenarioError, match="a JSON text sequence without a value; needs "):
        read(file)
