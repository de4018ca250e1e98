"""Files of flent, QUIC stacks and data sets, as `longpipe read` understands them.

The files of flent and aioquic were written by these tools; the others follow the documentation of their formats.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from commands import run
from longpipe import ScenarioError
from longpipe.measured import Recording, Series, Subject, read
from longpipe.measured.recording import SeriesKind

DATA: Final = Path(__file__).parent / "data/measured"


def of(subject: Subject, quantity: SeriesKind) -> Series:
    found = subject.of(quantity)
    assert found is not None
    return found


def counts(subject: Subject, *names: str) -> tuple[float, ...]:
    return tuple(subject.counters[name][0] for name in names)


def opened(folder: Path, text: str) -> Recording:
    file = folder / "file"
    file.write_text(text)
    return read(file)


def loaded(name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def test_flent_has_its_pings_with_the_units_of_the_file() -> None:
    found = read(DATA / "ping.flent.gz")
    assert (found.version, found.begin) == ("2.3.0", "2026-11-26T06:41:10.307040Z")
    icmp, udp = found.subjects
    meta = loaded("ping.flent.gz")["metadata"]["SERIES_META"]["Ping (ms) UDP"]
    rtt = of(udp, "rtt").numbers * 1e3
    assert (rtt.min(), rtt.max()) == pytest.approx((meta["RTT_MIN"], meta["RTT_MAX"]))
    assert rtt.mean() == pytest.approx(meta["RTT_MEAN"], abs=1e-5)
    assert of(udp, "delay up").numbers.mean() * 1e3 == pytest.approx(meta["OWD_UP_MEAN"], abs=1e-5)
    assert counts(udp, "packets sent", "packets received") == (10, 10)
    assert (len(of(icmp, "rtt").numbers), of(icmp, "rtt").numbers.max()) == (10, pytest.approx(0.0408))


def test_flent_without_raw_values_uses_the_common_times(tmp_path: Path) -> None:
    value: dict[str, Any] = {
        "version": 4,
        "metadata": {"T0": "2026-11-26T06:41:10.5Z", "NAME": "tcp_upload"},
        "x_values": [0.0, 0.2, 0.4],
        "results": {"TCP upload": [None, 8.5, 9.25], "TCP upload avg": [1, 1, 1], "HTTP latency": [1, 2, 3]},
    }
    found = opened(tmp_path, json.dumps(value))
    (one,) = found.subjects
    assert (one.name, of(one, "rate").time_s.tolist(), of(one, "rate").numbers.tolist()) == (
        "TCP upload",
        [0.2, 0.4],
        [8.5e6, 9.25e6],
    )
    assert found.begin == "2026-11-26T06:41:10.500000Z"
    value["results"] = {"TCP upload": [1]}
    with pytest.raises(
        ScenarioError, match=r"results\.TCP upload: not a list of 3 values; needs one for each of x_values"
    ):
        opened(tmp_path, json.dumps(value))


def test_a_qlog_has_the_events_of_its_file() -> None:
    found = read(DATA / "aioquic.qlog.gz")
    (flow,) = found.subjects
    events = loaded("aioquic.qlog.gz")["traces"][0]["events"]
    names = Counter(event["name"] for event in events)
    metrics = [event["data"] for event in events if event["name"] == "recovery:metrics_updated"]
    assert (found.tool, found.version) == ("aioquic", "0.3")
    assert of(flow, "losses").numbers.sum() == names["recovery:packet_lost"] == 29
    assert of(flow, "cwnd").numbers.tolist() == [data["cwnd"] for data in metrics]
    rtts = [data["latest_rtt"] for data in metrics if "latest_rtt" in data]
    assert of(flow, "rtt").numbers * 1e3 == pytest.approx(rtts)
    # Of 173 packets, 29 were declared lost; the last one, which ends the connection, is not acknowledged.
    assert counts(flow, "packets", "acknowledged", "lost") == (173, 143, 29)


def sequence(*events: dict[str, Any], **common: str) -> str:
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "trace": {
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
            "vantage_point": {"type": "client"},
            "common_fields": common,
        },
    }
    return "".join(f"\x1e{json.dumps(one)}\n" for one in (head, *events))


def test_a_qlog_sequence_with_present_names_is_read(tmp_path: Path) -> None:
    def sent(n: int, at: float) -> dict[str, Any]:
        header = {"packet_type": "1RTT", "packet_number": n}
        return {"time": at, "name": "quic:packet_sent", "data": {"header": header, "raw": {"length": 1200}}}

    frames = [{"frame_type": "ack", "acked_ranges": [[0, 1], [3]]}]
    ack = {"time": 50, "name": "quic:packet_received", "data": {"header": {"packet_type": "1RTT"}, "frames": frames}}
    metric = {"congestion_window": 14000, "latest_rtt": 50.5, "pacing_rate": 1e6}
    text = sequence(
        *(sent(n, n) for n in range(4)), ack, {"time": 50, "name": "quic:recovery_metrics_updated", "data": metric}
    )
    found = opened(tmp_path, text)
    (flow,) = found.subjects
    assert (flow.name, found.begin, found.duration_s) == ("client 1", None, 0.05)
    assert counts(flow, "packets", "acknowledged") == (4, 3)
    assert of(flow, "rate").numbers.sum() * 0.05 / 200 == pytest.approx(3 * 1200 * 8)
    assert (of(flow, "cwnd").numbers[0], of(flow, "rtt").numbers[0], of(flow, "pacing rate").numbers[0]) == (
        14000,
        0.0505,
        1e6,
    )
    relative = sequence(*({**sent(n, 10.0)} for n in range(3)), time_format="relative_to_previous_event")
    assert opened(tmp_path, relative).duration_s == pytest.approx(0.02)


def test_qlog_without_ack_frames_uses_sent_packets(tmp_path: Path) -> None:
    """quinn does not write the frames of packets, so that lost packets cannot be told from delivered ones."""
    packets = [
        {"time": 10 * k, "name": "quic:packet_sent", "data": {
            "header": {"packet_type": "1RTT", "packet_number": k}, "raw": {"length": 1250},
        }}
        for k in range(101)
    ]  # fmt: skip
    acked = {"time": 1000, "name": "quic:packet_received", "data": {
        "header": {"packet_type": "1RTT"}, "frames": [{"frame_type": "ack", "acked_ranges": [[0, 49]]}],
    }}  # fmt: skip
    for events, quantity in ((packets, "sent rate"), ([*packets, acked], "rate")):
        header = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"vantage_point": {"type": "client"}}}
        (flow,) = opened(tmp_path, "".join(f"\x1e{json.dumps(one)}\n" for one in (header, *events))).subjects
        assert [one.quantity for one in flow.series] == [quantity]
        # The path of the file may fill more than one line before the table.
        lines = run("read", str(tmp_path / "file")).stdout.splitlines()
        assert any(line.strip().startswith(f"{quantity}  ") for line in lines)


def test_a_qlog_without_events_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no packets or metrics among its events; needs the qlog of a QUIC end"):
        opened(tmp_path, sequence())
    old = {"qlog_version": "draft-01", "traces": [{"event_fields": ["time"], "events": [[1]]}]}
    with pytest.raises(ScenarioError, match=r"traces\[0\]\.event_fields: \['time'\]; needs a time, event and data"):
        opened(tmp_path, json.dumps(old))


def message(ms: int, **info: float) -> dict[str, Any]:
    return {"TCPInfo": {"ElapsedTime": 1000 * ms, **info}, "BBRInfo": {"ElapsedTime": 1000 * ms, "BW": 2_500_000}}


def test_an_archived_ndt7_test_has_rates_and_rtts(tmp_path: Path) -> None:
    measured = [
        message(250, BytesAcked=100_000, RTT=20_000, MinRTT=18_000, BytesRetrans=0),
        message(500, BytesAcked=600_000, RTT=25_000, MinRTT=18_000, BytesRetrans=2896),
    ]
    value = {"Version": "v0.20", "Download": {"StartTime": "2026-01-02T03:04:05Z", "ServerMeasurements": measured}}
    found = opened(tmp_path, json.dumps(value))
    (one,) = found.subjects
    assert (one.name, found.version, found.begin) == ("download", "v0.20", "2026-01-02T03:04:05.000000Z")
    assert of(one, "rate").numbers.tolist() == [8 * 500_000 / 0.25]
    assert of(one, "smoothed rtt").numbers.tolist() == pytest.approx([0.02, 0.025])
    assert of(one, "delivery rate").numbers.tolist() == [20e6, 20e6]
    assert (of(one, "retransmissions").unit, of(one, "retransmissions").numbers.tolist()) == ("bytes", [2896])
    assert one.counters["MinRTT"] == (0.018, "s")
    lines = "".join(json.dumps({**one, "Test": "download"}) + "\n" for one in measured)
    assert of(opened(tmp_path, lines).subjects[0], "rate").numbers.tolist() == [16e6]


def test_atlas_results_have_rtts_and_losses_of_each_pair(tmp_path: Path) -> None:
    def result(at: int, probe: int, *packets: dict[str, Any]) -> dict[str, Any]:
        known = {"fw": 5080, "type": "ping", "dst_name": "example.org", "sent": 3, "from": "192.0.2.1"}
        return {**known, "prb_id": probe, "timestamp": at, "result": list(packets)}

    results = [
        result(1_700_000_240, 1, {"rtt": 12.5}, {"x": "*"}, {"rtt": 13, "dup": 1}),
        result(1_700_000_000, 1, {"rtt": 11.25}, {"error": "sendto failed"}),
        result(1_700_000_100, 2, {"rtt": 99.0}),
    ]
    for text in (json.dumps(results), "".join(json.dumps(one) + "\n" for one in results)):
        found = opened(tmp_path, text)
        first, second = found.subjects
        assert (first.name, found.version, found.duration_s) == ("probe 1 > example.org", "firmware 5080", 240)
        assert of(first, "rtt").time_s.tolist() == [0, 240]
        assert of(first, "rtt").numbers.tolist() == [0.01125, 0.0125]
        assert counts(first, "sent", "received", "duplicates", "errors") == (4, 2, 1, 1)
        assert of(first, "losses").time_s.tolist() == [240]
        assert of(second, "rtt").numbers.tolist() == [0.099]
    with pytest.raises(ScenarioError, match=r"\[0\]\.type: 'traceroute'; needs results of ping"):
        opened(tmp_path, json.dumps([{**results[0], "type": "traceroute"}]))


@pytest.mark.parametrize("scale", [1, 10**9], ids=["s", "ns"])
def test_lens_codes_losses_by_direction(tmp_path: Path, scale: int) -> None:
    rows = [
        (0, "50.5", "30", "20.5"),
        (1, "0", "-1", "0"),
        (2, "0", "0", "-1"),
        (3, "-1", "0", "0"),
        (4, "60", "35", "25"),
    ]
    text = "timestamp,rtt,uplink,downlink\n" + "".join(
        f"{(1_705_744_800 + k) * scale},{','.join(r)}\n" for k, *r in rows
    )
    found = opened(tmp_path, text)
    (path,) = found.subjects
    assert (found.begin, found.duration_s) == ("2024-01-20T10:00:00.000000Z", 4)
    assert of(path, "rtt").numbers.tolist() == [0.0505, 0.06]
    assert of(path, "delay up").numbers.tolist() == [0.03, 0.035]
    assert of(path, "losses").time_s.tolist() == [1, 2, 3]
    assert counts(path, "sent", "lost", "lost upstream", "lost downstream") == (5, 3, 1, 1)
    with pytest.raises(ScenarioError, match=r"file:2: rtt 'x'; needs milliseconds, or -1 if lost"):
        opened(tmp_path, text.replace("50.5", "x"))
    assert of(opened(tmp_path, f"timestamp,rtt\n{1_705_744_800 * scale},40\n").subjects[0], "rtt").numbers.tolist() == [
        0.04
    ]


def test_an_offset_of_clocks_is_noted_and_leaves_rtts(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        "timestamp,rtt,uplink,downlink\n1705744800616897349,54.9,-12.2,67.1\n1705744800626897349,55.9,-1,56.9\n1705744800636897349,-1,-1,60\n",
    )
    (path,) = found.subjects
    assert of(path, "rtt").numbers.tolist() == [0.0549, 0.0559]
    assert of(path, "delay up").numbers.tolist() == [-0.0122, -0.001]
    assert counts(path, "lost", "lost upstream", "lost downstream") == (1, 1, 0)
    note = "delays upstream are negative: the clocks of both ends differ by at least 12.2 ms, so that one-way delays have this error; RTTs do not"
    assert found.notes == (note,)
    # An irtt of the LENS data set has 10 487 ms upstream and -10 471 ms downstream.
    value = loaded("irtt.json.gz")
    for trip in value["round_trips"]:
        if trip["lost"] == "false":
            trip["delay"]["send"] += 10_471_000_000
            trip["delay"]["receive"] -= 10_471_000_000
    offset, synchronized = opened(tmp_path, json.dumps(value)), read(DATA / "irtt.json.gz")
    assert of(offset.subjects[0], "rtt").numbers.tolist() == of(synchronized.subjects[0], "rtt").numbers.tolist()
    assert synchronized.notes == ()
    assert offset.notes[0].startswith("delays downstream are negative: the clocks of both ends differ by at least 10")


def test_a_log_of_mm_link_counts_from_its_base(tmp_path: Path) -> None:
    text = (
        "# mahimahi mm-link (up.trace) [uplink]\n# command line: mm-link up.trace down.trace\n# queue: droptail [packets=1]\n"
        "# init timestamp: 1700000000000\n# base timestamp: 100\n"
        "100 + 1504\n110 + 1504\n110 d 1 1504\n120 # 1504\n120 - 1504 20\n130 # 1504\n"
    )
    found = opened(tmp_path, text)
    (link,) = found.subjects
    assert (found.duration_s, found.begin) == (0.03, "2023-11-14T22:13:20.000000Z")
    assert counts(link, "arrived", "departed", "dropped", "opportunities") == (2, 1, 1, 2)
    assert link.counters["capacity"][0] == pytest.approx(2 * 1504 * 8 / 0.03)
    assert (of(link, "delay").time_s.tolist(), of(link, "delay").numbers.tolist()) == ([0.02], [0.02])
    assert link.facts["queue"] == "droptail [packets=1]"
    with pytest.raises(ScenarioError, match=r"file:8: '110 x 1'; needs an event of mm-link"):
        opened(tmp_path, text.replace("110 d 1 1504", "110 x 1"))


def test_control_characters_around_trace_numbers_are_ignored(tmp_path: Path) -> None:
    (link,) = opened(tmp_path, "1\n2\x1d\n4\n").subjects
    assert counts(link, "opportunities") == (3,)


@pytest.mark.parametrize("last_ms", [1000, 2000, 1234, 150])
def test_a_regular_trace_of_mahimahi_has_a_constant_rate(last_ms: int, tmp_path: Path) -> None:
    """Intervals have whole numbers of milliseconds, and an opportunity at an end is in the interval before it."""
    (link,) = opened(tmp_path, "".join(f"{k}\n" for k in range(1, last_ms + 1))).subjects
    rate = of(link, "rate")
    assert rate.numbers == pytest.approx(12.032e6)
    assert rate.time_s[-1] == last_ms / 1e3
    assert 100 < len(rate.numbers) <= 200


def test_a_trace_of_mahimahi_has_its_capacity(tmp_path: Path) -> None:
    # One line per ms is 12 Mbit/s of 1500-byte packets, which have 1504 bytes with TUN's header.
    (link,) = opened(tmp_path, "".join(f"{k}\n" for k in range(1, 1001))).subjects
    assert counts(link, "opportunities", "capacity") == (1000, 12.032e6)
    # A word that names both the format and the tool, or both a counter and its unit, occurs once.
    first, *_, last, _ = run("read", str(tmp_path / "file")).stdout.splitlines()
    assert first.endswith(": mahimahi trace; 1 s")
    assert last == "link: opportunities 1000, capacity 12.032 Mbit/s"


def test_pantheons_logs_have_delays_by_flow(tmp_path: Path) -> None:
    tunnel = opened(tmp_path, "# tunnelserver ingress: 1700000000000.125\n0.500 - 1 - 1500\n1000.500 - 2 - 500\n")
    assert (tunnel.format, counts(tunnel.subjects[0], "packets", "bytes")) == ("Pantheon tunnel log", (2, 2000))
    merged = opened(
        tmp_path, "# init timestamp: 0\n0.100 + 1500 1\n0.200 + 1500 2\n30.100 - 1500 30.000 1\n40.0 + 100 1\n"
    )
    first, second = merged.subjects
    assert (first.name, counts(first, "entered", "departed", "lost")) == ("flow 1", (2, 1, 1))
    assert of(first, "delay").numbers.tolist() == [0.03]
    assert counts(second, "entered", "departed") == (1, 0)
    with pytest.raises(ScenarioError, match="no packet; needs a log of a tunnel that carried packets"):
        opened(tmp_path, "# tunnelserver ingress: 1700000000000.125\n")


def test_pensieves_traces_are_in_mbit_s(tmp_path: Path) -> None:
    (path,) = opened(tmp_path, "0.5\t1.25\n1.5\t3\n2.5 0\n").subjects
    assert of(path, "rate").time_s.tolist() == [0, 1, 2]
    assert of(path, "rate").numbers.tolist() == [1.25e6, 3e6, 0]
    with pytest.raises(ScenarioError, match=r"file:3: 1 s after 2 s; needs increasing times"):
        opened(tmp_path, "1 1\n2 1\n1 1\n")


def quinn(rtt_ms: float, unit: float, *, packets: bool, seconds: float = 2.0, first: float = 1.2) -> str:
    """Returns a qlog of quinn: metrics after each ACK, with RTTs in `unit` ms; `first` is the first RTT in RTTs."""
    header = {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "trace": {
            "vantage_point": {"type": "client"},
            "common_fields": {"reference_time": 0.0, "time_format": "relative"},
        },
    }
    records: list[tuple[float, dict[str, Any]]] = []
    for k in range(200):
        at = first * rtt_ms + k * seconds * 1e3 / 200
        metric = {
            "latest_rtt": rtt_ms * (1 + 0.1 * (k % 3)) / unit,
            "smoothed_rtt": rtt_ms * 1.1 / unit,
            "min_rtt": rtt_ms / unit,
            "bytes_in_flight": 20_000 + k,
            "congestion_window": 30_000,
        }
        records.append((at, {"time": at, "name": "recovery:metrics_updated", "data": metric}))
    count = round(seconds * 20_000 / (rtt_ms / 1e3) / 1200)
    for n in range(count if packets else 0):
        at = n / count * seconds * 1e3
        data = {"header": {"packet_type": "1RTT", "packet_number": n}, "raw": {"length": 1200}}
        records.append((at, {"time": at, "name": "transport:packet_sent", "data": data}))
    records.sort(key=lambda one: one[0])
    return "".join(f"\x1e{json.dumps(one)}\n" for one in (header, *(record for _, record in records)))


@pytest.mark.parametrize("packets", [True, False])
@pytest.mark.parametrize("rtt_ms", [1.5, 40.0, 250.0])
def test_rtts_in_seconds_are_recognized(tmp_path: Path, packets: bool, rtt_ms: float) -> None:
    right, wrong = (opened(tmp_path, quinn(rtt_ms, unit, packets=packets)) for unit in (1.0, 1e3))
    (one,), (other,) = right.subjects, wrong.subjects
    assert right.notes == ()
    assert wrong.notes == ("RTTs are read as seconds, because milliseconds contradict the times of the events",)
    assert of(other, "rtt").numbers == pytest.approx(of(one, "rtt").numbers)
    assert counts(other, "min_rtt") == pytest.approx((rtt_ms / 1e3,))


@pytest.mark.parametrize("rtt_ms", [0.05, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("first", [1.1, 10.0])
def test_short_rtts_in_milliseconds_are_unchanged(tmp_path: Path, rtt_ms: float, first: float) -> None:
    found = opened(tmp_path, quinn(rtt_ms, 1.0, packets=rtt_ms > 0.1, seconds=0.2, first=first))
    assert found.notes == ()
    assert of(found.subjects[0], "rtt").numbers.min() == pytest.approx(rtt_ms / 1e3)


def test_a_qlog_of_picoquic_is_read(tmp_path: Path) -> None:
    """The form is that of picoquic's loglib/qlog_fns.c: draft 00, in microseconds."""
    events: list[list[Any]] = [[0, "transport", "parameters_set", {"owner": "local"}]]
    for n in range(5):
        header = {"packet_size": 1440, "packet_number": n, "dcid": "0a"}
        events.append([1000 * n, "transport", "packet_sent", {"packet_type": "1RTT", "header": header, "frames": []}])
    ack = {"frame_type": "ack", "ack_delay": 12, "acked_ranges": [[0, 1], ["3", "3"]]}
    events += [
        [
            40_000,
            "transport",
            "packet_received",
            {"packet_type": "1RTT", "header": {"packet_size": 40}, "frames": [ack]},
        ],
        [
            40_000,
            "recovery",
            "metrics_updated",
            {"cwnd": 15_360, "smoothed_rtt": 41_000, "min_rtt": 40_000, "latest_rtt": 40_000, "pacing_rate": 5_000_000},
        ],
        [
            60_000,
            "recovery",
            "packet_lost",
            {"packet_type": "1RTT", "packet_number": 2, "header": {"packet_number": 2}},
        ],
    ]
    trace: dict[str, Any] = {
        "vantage_point": {"name": "backend-67", "type": "client"}, "title": "picoquic", "configuration": {"time_units": "us"},
        "event_fields": ["relative_time", "category", "event", "data"],
        "common_fields": {"protocol_type": "QUIC_HTTP3", "reference_time": "1795860000000000"}, "events": events,
    }  # fmt: skip
    with_path = {
        **trace,
        "event_fields": ["relative_time", "path_id", "category", "event", "data"],
        "events": [[e[0], 0, *e[1:]] for e in events],
    }
    old = {**trace, "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"]}
    for one in (trace, with_path, old):
        found = opened(tmp_path, json.dumps({"qlog_version": "draft-00", "title": "picoquic", "traces": [one]}))
        (flow,) = found.subjects
        assert (found.begin, found.notes) == ("2026-11-28T10:00:00.000000Z", ())
        assert found.duration_s == pytest.approx(0.06, abs=1e-6)
        assert counts(flow, "packets", "acknowledged", "lost", "min_rtt") == (5, 3, 1, 0.04)
        assert of(flow, "rtt").numbers.tolist() == [0.04]
        assert of(flow, "cwnd").numbers.tolist() == [15_360]
    with pytest.raises(ScenarioError, match=r"traces\[0\]\.events\[1\]: \[5\]; needs a list of 4 fields"):
        opened(tmp_path, json.dumps({"qlog_version": "draft-00", "traces": [{**trace, "events": [events[0], [5]]}]}))


def test_impossible_times_of_qlog_are_named_or_omitted(tmp_path: Path) -> None:
    def metric(at: float) -> dict[str, Any]:
        return {
            "time": at,
            "name": "quic:recovery_metrics_updated",
            "data": {"latest_rtt": 50.0, "congestion_window": 1},
        }

    for at in (1e13, 1e19, -1e14):
        with pytest.raises(ScenarioError, match=r"file:3\.time: -?1.*; needs milliseconds up to the year 2262"):
            opened(tmp_path, sequence(metric(100), metric(at)))
        found = opened(tmp_path, sequence(*(metric(100 + k) for k in range(20)), metric(at)))
        assert found.notes[0].startswith("an event is omitted because of impossible times, the first at ")
        assert len(of(found.subjects[0], "rtt").numbers) == 20
    wall = opened(tmp_path, sequence(*(metric(1_795_860_000_000_000 + 1000 * k) for k in range(20))))
    assert wall.begin == "2026-11-28T10:00:00.000000Z"
    assert wall.duration_s == pytest.approx(0.019, rel=1e-4)
    assert wall.notes[0].startswith("times are after the year 2100: they are read with a 1000 times finer resolution")


def test_several_results_in_one_file_are_runs(tmp_path: Path) -> None:
    for name, begins in (("iperf3.json.gz", "iperf3 JSON"), ("irtt.json.gz", "irtt JSON"), ("ping.flent.gz", "flent")):
        text = gzip.decompress((DATA / name).read_bytes()).decode()
        single = read(DATA / name)
        later = text.replace('"timesecs":\t1795675240', '"timesecs":\t1795675300')
        for between in ("\n", "", "\niperf Done.\n"):
            found = opened(tmp_path, text + between + later)
            assert found.format == begins
            assert any("the file contains 2 runs" in note for note in found.notes)
            assert sum(len(one.series[0].numbers) for one in found.subjects) == 2 * sum(
                len(one.series[0].numbers) for one in single.subjects
            )


def test_starnet_log_has_rates_and_round_trips_of_one_path(tmp_path: Path) -> None:
    """The lines are those that `starnet_tool/tp_lt.py` writes."""
    found = opened(
        tmp_path,
        "2024-05-01 12:00:13.4 TP: 181 Mbits/sec\n2024-05-01 12:00:13.7 Lt: 41.2 ms\n"
        "2024-05-01 12:00:14.4 TP: 202 Mbits/sec\n2024-05-01 12:00:14.8 Lt: 39 ms\n",
    )
    (path,) = found.subjects
    assert (found.format, found.begin) == ("StarNet log", "2024-05-01T12:00:13.400000Z")
    assert list(of(path, "rate").numbers) == [181e6, 202e6]
    spans = of(path, "rate").intervals_s
    assert spans is not None
    assert spans.ravel().tolist() == pytest.approx([-1, 0, 0, 1])
    assert list(of(path, "rtt").time_s) == pytest.approx([0.3, 1.4])
    assert list(of(path, "rtt").numbers) == pytest.approx([0.0412, 0.039])


def test_table_of_starnet_has_values_where_they_are_known(tmp_path: Path) -> None:
    rows = "0,2024-05-01 12:00:13,181.5,41.2\n1,2024-05-01 12:00:14,,nan\n2,2024-05-01 12:00:15,150,44\n"
    (path,) = opened(tmp_path, f",timestamp,throughput,latency\n{rows}").subjects
    assert list(of(path, "rate").numbers) == [181.5e6, 150e6]
    assert list(of(path, "rtt").time_s) == [0, 2]
    with pytest.raises(ScenarioError, match=r"throughput 'fast'; needs a number from 0 on"):
        opened(tmp_path, f",timestamp,throughput,latency\n{rows.replace('150', 'fast')}")


def test_unit_of_another_kind_in_a_starnet_log_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r":1: .*; needs lines of StarNet's tp_lt.py"):
        opened(tmp_path, "2024-05-01 12:00:13.4 TP: 181 ms\n")
