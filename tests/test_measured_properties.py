"""Properties of the readers of measured files, over random files that follow the formats of the tools."""

import json
import tempfile
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpipe.measured import Recording, Subject, read
from thorough import examples

CASES: Final = settings(max_examples=examples(25, 1000), deadline=None)
# Lengths of intervals [ms], among them short last ones, and bytes that moved in them.
LENGTHS: Final = st.lists(st.integers(1, 5000), min_size=2, max_size=12)
SIZES: Final = st.lists(st.integers(0, 10**8), min_size=12, max_size=12)
BEGIN_S: Final = 1_795_860_000


def recorded(text: str) -> Recording:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_text(text)
        return read(file)


def moved_bytes(subject: Subject) -> float:
    """Returns the mean rate times the time that its intervals cover, in bytes."""
    rate = subject.of("rate")
    assert rate is not None
    assert rate.mean is not None
    assert rate.intervals_s is not None
    return float(rate.mean * (rate.intervals_s[:, 1] - rate.intervals_s[:, 0]).sum() / 8)


def iperf3(streams: list[list[tuple[float, float, int, bool]]], *, is_stream: bool = False, **test: object) -> str:
    """Returns a test whose streams have intervals (begin [s], end [s], bytes, omitted)."""

    def of(socket: int, begin: float, end: float, size: int, omitted: bool) -> dict[str, Any]:
        bps = 8 * size / (end - begin)
        times = {"start": begin, "end": end, "seconds": end - begin}
        counted = {"bytes": size, "bits_per_second": bps, "omitted": omitted, "sender": socket % 2 == 1}
        return {"socket": socket, **times, **counted}

    rows = [[of(2 * k + 5, *one) for one in rows] for k, rows in enumerate(streams)]
    intervals = [{"streams": list(row)} for row in zip(*rows, strict=True)]
    start = {"test_start": {"protocol": "TCP", **test}, "timestamp": {"timesecs": BEGIN_S}}
    if not is_stream:
        return json.dumps({"start": start, "intervals": intervals, "end": {}})
    events = [("start", start), *(("interval", one) for one in intervals), ("end", {})]
    return "".join(json.dumps({"event": event, "data": data}) + "\n" for event, data in events)


def spans(lengths_ms: list[int]) -> list[tuple[float, float]]:
    return [(a / 1e3, b / 1e3) for a, b in pairwise(accumulate(lengths_ms, initial=0))]


@CASES
@given(LENGTHS, LENGTHS, SIZES, st.integers(0, 3), st.booleans(), st.booleans())
def test_iperf3_rate_times_length_is_the_payload(
    lengths: list[int], before: list[int], sizes: list[int], streams: int, is_stream: bool, is_marked: bool
) -> None:
    """The intervals that `-O` omits count from 0, too; versions that do not mark them only show that time restarts."""
    omitted = [(begin, end, 10**7, True) for begin, end in spans(before)]
    counted = [
        [(begin, end, size + stream, False) for (begin, end), size in zip(spans(lengths), sizes, strict=False)]
        for stream in range(streams + 1)
    ]
    text = iperf3([omitted + one for one in counted], is_stream=is_stream, omit=2)
    if not is_marked:
        text = text.replace(', "omitted": true', "").replace(', "omitted": false', "")
    found = recorded(text)
    assert len(found.subjects) == len(counted)
    assert found.duration_s == sum(lengths) / 1e3
    for subject, rows in zip(found.subjects, counted, strict=True):
        payload = sum(size for _, _, size, _ in rows)
        assert moved_bytes(subject) == pytest.approx(payload)
        assert subject.counters["payload"] == (payload, "bytes")


def snapshots(times_ms: list[int], texts: list[str], begin_s: float = BEGIN_S) -> str:
    return "".join(f"{begin_s + ms / 1e3:.3f}\n{text}" for ms, text in zip(times_ms, texts, strict=True))


def ss(peer: str, acked: int, local: str = "192.0.2.1:40000") -> str:
    return f"ESTAB 0 0 {local} {peer}:5201\n\t cubic rto:240 rtt:40.1/0.5 cwnd:10 bytes_acked:{acked}\n"


def tc(device: str, parent: str, size: int) -> str:
    return (
        f"qdisc fq_codel 0: dev {device} {parent} limit 10240p\n Sent {size} bytes 9 pkt (dropped 0, overlimits 0 "
        "requeues 0)\n backlog 0b 0p requeues 0\n"
    )


@CASES
@given(LENGTHS, SIZES, st.sampled_from(["ss", "tc"]))
def test_snapshot_rate_times_length_is_the_counters_increase(lengths: list[int], sizes: list[int], tool: str) -> None:
    times = list(accumulate(lengths))
    counts = list(accumulate(sizes[: len(times)]))
    texts = [ss("192.0.2.2", count) if tool == "ss" else tc("eth0", "root", count) for count in counts]
    (subject,) = recorded(snapshots(times, texts)).subjects
    assert moved_bytes(subject) == pytest.approx(counts[-1] - counts[0])


@CASES
@given(LENGTHS, SIZES, st.sampled_from([("Download", "BytesAcked"), ("Upload", "BytesReceived")]))
def test_ndt7_rate_times_length_is_the_counters_increase(
    lengths: list[int], sizes: list[int], test: tuple[str, str]
) -> None:
    counts = list(accumulate(sizes))
    messages = [
        {"TCPInfo": {"ElapsedTime": 1000 * ms, test[1]: count}}
        for ms, count in zip(accumulate(lengths), counts, strict=False)
    ]
    (subject,) = recorded(json.dumps({test[0]: {"ServerMeasurements": messages}})).subjects
    assert moved_bytes(subject) == pytest.approx(counts[len(lengths) - 1] - counts[0])


@CASES
@given(LENGTHS, st.lists(st.integers(0, 1000), min_size=13, max_size=13))
def test_pensieve_rates_hold_until_the_next_time(lengths: list[int], mbps: list[int]) -> None:
    times = list(accumulate(lengths, initial=0))
    text = "".join(f"{ms / 1e3}\t{rate}\n" for ms, rate in zip(times, mbps, strict=False))
    (subject,) = recorded(text).subjects
    held = sum(rate * length for rate, length in zip(mbps, lengths, strict=False))
    assert moved_bytes(subject) == pytest.approx(held * 1e6 / 8e3)


@CASES
@given(st.lists(st.integers(100, 5000), min_size=2, max_size=12), SIZES, st.booleans())
def test_flent_rates_hold_over_the_lengths_that_netperf_states(
    lengths: list[int], mbps: list[int], has_lengths: bool
) -> None:
    raw = [
        {"t": BEGIN_S + ms / 1e3, "val": rate, "dur": length / 1e3}
        for ms, rate, length in zip(accumulate(lengths), mbps, lengths, strict=False)
    ]
    # Without lengths, an interval begins with the end of the one before, and the first one is as long as the second.
    used = lengths if has_lengths else [lengths[1], *lengths[1:]]
    values = [one if has_lengths else {key: one[key] for key in ("t", "val")} for one in raw]
    name = "TCP upload"
    text = {"x_values": [0], "results": {name: [1]}, "raw_values": {name: values}, "metadata": {}}
    (subject,) = recorded(json.dumps(text)).subjects
    held = sum(rate * length for rate, length in zip(mbps, used, strict=False))
    assert moved_bytes(subject) == pytest.approx(held * 1e6 / 8e3, rel=1e-4)


@CASES
@given(st.lists(st.integers(1, 5000), min_size=2, max_size=50), st.integers(1, 9000))
def test_mahimahi_rate_times_length_is_all_bytes(times: list[int], size: int) -> None:
    ordered = sorted(times)
    (trace,) = recorded("".join(f"{at}\n" for at in ordered)).subjects
    assert moved_bytes(trace) == pytest.approx(1504 * len(times))
    log = "# mahimahi mm-link\n# base timestamp: 0\n" + "".join(f"{at} - {size} 1\n" for at in ordered)
    (link,) = recorded(log).subjects
    assert moved_bytes(link) == pytest.approx(size * len(times)) == link.counters["bytes departed"][0]


def alike(subject: Subject) -> tuple[object, ...]:
    """Returns all of a subject except its times, which count from the beginning of the recording."""
    series = {(one.quantity, one.unit): [f"{value:.6g}" for value in one.numbers] for one in subject.series}
    return subject.name, subject.kind, subject.counters, subject.facts, series


# Devices, parents and handles of queues: those of `mq`, whose children have the handle 0:, and of nested disciplines.
QUEUES: Final = [
    ("eth0", "parent :1"), ("eth0", "parent :2"), ("eth1", "parent :1"), ("eth0", "root"), ("eth0", "parent 1:10"),
]  # fmt: skip
SOCKETS: Final = [
    ("192.0.2.2", "192.0.2.1:40000"), ("192.0.2.2", "192.0.2.1:40001"), ("192.0.2.3", "192.0.2.1:40000"),
    ("[2001:db8::2]", "[2001:db8::1]:40000"), ("192.0.2.2", "[::ffff:192.0.2.1]:40000"),
]  # fmt: skip


@CASES
@given(st.data(), st.sampled_from(["ss", "tc"]), st.permutations(range(5)))
def test_subjects_of_snapshots_are_independent(data: st.DataObject, tool: str, order: list[int]) -> None:
    """Sockets and queues come and go; a log that contains only one of them has the same values."""
    count = data.draw(st.integers(2, 6))
    shown = data.draw(st.lists(st.lists(st.booleans(), min_size=count, max_size=count), min_size=5, max_size=5))
    counters = [list(accumulate(data.draw(st.lists(st.integers(0, 10**8), min_size=6, max_size=6)))) for _ in range(5)]

    def text(chosen: list[int]) -> str:
        def of(one: int, turn: int) -> str:
            size = counters[one][turn]
            return ss(SOCKETS[one][0], size, SOCKETS[one][1]) if tool == "ss" else tc(*QUEUES[one], size)

        times = [1000 * turn for turn in range(count)]
        return snapshots(times, ["".join(of(one, turn) for one in chosen if shown[one][turn]) for turn in range(count)])

    present = [one for one in order if any(shown[one])]
    if present:
        whole = [alike(one) for one in recorded(text(present)).subjects]
        alone = [alike(one) for only in present for one in recorded(text([only])).subjects]
        assert sorted(map(str, whole)) == sorted(map(str, alone))
        assert len({one[0] for one in whole}) == len(present)


@CASES
@given(st.lists(st.lists(st.integers(1, 10**7), min_size=3, max_size=3), min_size=2, max_size=4), st.randoms())
def test_streams_of_iperf3_are_independent(sizes: list[list[int]], random: Random) -> None:
    """The order of the streams may differ in each interval."""
    rows = [[(float(k), k + 1.0, size, False) for k, size in enumerate(one)] for one in sizes]
    test = json.loads(iperf3(rows))
    whole = {one.name: alike(one) for one in recorded(json.dumps(test)).subjects}
    for interval in test["intervals"]:
        random.shuffle(interval["streams"])
    assert {one.name: alike(one) for one in recorded(json.dumps(test)).subjects} == whole
    for k in range(len(sizes)):
        socket = 2 * k + 5
        only = [{"streams": [one for one in all_["streams"] if one["socket"] == socket]} for all_ in test["intervals"]]
        (alone,) = recorded(json.dumps({**test, "intervals": only})).subjects
        assert alike(alone) == whole[alone.name]


@CASES
@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.sampled_from(["192.0.2.1", "192.0.2.2", "2001:db8::1"]), st.integers(1, 900)),
        min_size=2,
        max_size=12,
    ),
    st.booleans(),
)
def test_paths_of_atlas_are_independent(results: list[tuple[int, str, int]], has_family: bool) -> None:
    """The same name stands for addresses of both families."""

    def text(chosen: list[tuple[int, str, int]]) -> str:
        every = []
        for k, (probe, address, rtt) in enumerate(chosen):
            one = {"prb_id": probe, "timestamp": BEGIN_S + k, "dst_name": "www.example.net", "dst_addr": address}
            family = {"af": 6 if ":" in address else 4} if has_family else {}
            every.append({**one, **family, "type": "ping", "result": [{"rtt": rtt}, {"x": "*"}]})
        return json.dumps(every)

    whole = {one.name: alike(one) for one in recorded(text(results)).subjects}
    assert len(whole) == len({(probe, address) for probe, address, _ in results})
    for probe, address in {(probe, address) for probe, address, _ in results}:
        (alone,) = recorded(text([one for one in results if one[:2] == (probe, address)])).subjects
        assert alike(alone) == whole[alone.name]


@CASES
@given(
    st.lists(st.lists(st.integers(1, 1500), min_size=2, max_size=6), min_size=2, max_size=3),
    st.randoms(),
    st.booleans(),
)
def test_connections_of_a_qlog_are_independent(sizes: list[list[int]], random: Random, is_absolute: bool) -> None:
    """The packets of several connections, which `group_id` distinguishes, have the same numbers and may alternate."""

    def events(connection: int) -> list[dict[str, Any]]:
        packets = list(enumerate(sizes[connection]))
        header = {"packet_type": "1RTT"}
        sent = [
            {"name": "quic:packet_sent", "data": {"header": {**header, "packet_number": k}, "raw": {"length": size}}}
            for k, size in packets
        ]
        acks = [
            {
                "name": "quic:packet_received",
                "data": {"header": header, "frames": [{"frame_type": "ack", "acked_ranges": [[k]]}]},
            }
            for k, _ in packets
        ]
        both = [one for pair in zip(sent, acks, strict=True) for one in pair]
        begin = 1e3 * BEGIN_S if is_absolute else 0.0
        return [{**one, "time": begin + 7 * k, "group_id": f"c{connection}"} for k, one in enumerate(both)]

    def text(chosen: list[dict[str, Any]]) -> str:
        header = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"vantage_point": {"type": "server"}}}
        return "".join(f"\x1e{json.dumps(one)}\n" for one in (header, *chosen))

    every = [events(connection) for connection in range(len(sizes))]
    order = [connection for connection, own in enumerate(every) for _ in own]
    random.shuffle(order)
    left = [iter(own) for own in every]
    whole = recorded(text([next(left[connection]) for connection in order])).subjects
    alone = [recorded(text(own)).subjects[0] for own in every]
    assert sorted(str(alike(one)[1:]) for one in whole) == sorted(str(alike(one)[1:]) for one in alone)


PROBES: Final = st.lists(
    st.tuples(st.sampled_from(["192.0.2.7", "2001:db8::1", "a.example"]), st.none() | st.integers(1, 10**8)),
    min_size=1,
    max_size=20,
)


@CASES
@given(PROBES, st.sampled_from(["", "unix", "iso", "rfc3339", "ctime"]), st.booleans())
def test_fping_has_the_same_probes_as_text_and_as_json(
    probes: list[tuple[str, int | None]], form: str, is_summary: bool
) -> None:
    """RTTs are in nanoseconds; dates of fping have whole seconds."""
    if all(rtt is None for _, rtt in probes):
        probes = [*probes, ("192.0.2.7", 1)]
    texts, objects, values = [], [], dict[str, list[float | None]]()
    for k, (host, rtt) in enumerate(probes):
        at = datetime.fromtimestamp(BEGIN_S + k, UTC)
        written = {
            "": "", "unix": f"{BEGIN_S + k}.25000", "iso": f"{at:%Y-%m-%dT%H:%M:%S%z}", "ctime": f"{at:%a %b %d %H:%M:%S %Y}",
            "rfc3339": f"{at:%Y-%m-%d %H:%M:%S}",
        }[form]  # fmt: skip
        of_host = values.setdefault(host, [])
        seq = len(of_host)
        of_host.append(None if rtt is None else rtt / 1e6)
        reply = "timed out" if rtt is None else f"64 bytes, {rtt / 1e6:.6f} ms (1 avg, 0% loss)"
        texts.append(f"{f'[{written}] ' if form else ''}{host:12} : [{seq}], {reply}")
        one = {"timestamp": written} if form else {}
        size = {} if rtt is None else {"size": 64, "rtt": rtt / 1e6}
        objects.append({"timeout" if rtt is None else "resp": {**one, "host": host, "seq": seq, **size}})
    summary = [{"vSum": {"host": host, "values": of_host}} for host, of_host in values.items()]
    statistics = [{"stats": {"targets": 3, "elapsed": 1.0}}]
    chosen = (summary if is_summary and not form else objects + summary) + statistics
    found = recorded("".join(json.dumps(one) + "\n" for one in chosen))
    assert found.as_json()["subjects"] == recorded("\n".join(texts) + "\n").as_json()["subjects"]
    assert found.begin is None if not form else found.begin is not None
    assert found.tool == "fping"


SITES: Final = st.sampled_from(["osnabrueck", "enschede"])


@CASES
@given(
    st.lists(st.tuples(SITES, st.integers(1, 3000), st.none() | st.integers(0, 10**9)), min_size=1, max_size=12),
    st.randoms(),
)
def test_wetlinks_rate_times_length_is_the_payload(rows: list[tuple[str, int, int | None]], random: Random) -> None:
    """The measurements of a site follow one another; their order in the file, and other sites, do not matter."""
    ends = list(accumulate((length for _, length, _ in rows), initial=0))

    def date(ms: int) -> str:
        return f"{datetime.fromtimestamp(BEGIN_S + ms / 1e3, UTC):%Y-%m-%d %H:%M:%S.%f}"

    lines = [
        f"{site},{date(begin)},{date(begin + length)},192.0.2.7,ipv4,tcp,{'' if bps is None else bps},1000"
        for begin, (site, length, bps) in zip(ends, rows, strict=False)
    ]
    random.shuffle(lines)
    head = "site_name,timestamp_start,timestamp_end,server,ip_protocol,transport_protocol,download,upload"
    found = {one.name: one for one in recorded("\n".join([head, *lines])).subjects}
    for site in {site for site, _, _ in rows}:
        moved = sum(bps * length / 8e3 for own, length, bps in rows if own == site and bps is not None)
        name = f"{site} 192.0.2.7 ipv4 tcp download"
        assert (moved_bytes(found[name]) if name in found else 0) == pytest.approx(moved, rel=1e-6, abs=1)


@CASES
@given(st.lists(st.tuples(SITES, st.integers(1, 256), st.integers(0, 256)), min_size=1, max_size=12))
def test_wetlinks_pings_have_their_counts(rows: list[tuple[str, int, int]]) -> None:
    """A measurement in which all packets were lost has no RTT."""
    head = "site_name,timestamp_start,timestamp_end,target,ip_protocol,packet_loss,packets_send,ping_avg"
    lines = [
        f"{site},2023-09-28 12:{k:02}:00,2023-09-28 12:{k:02}:26.5,192.0.2.7,ipv4,{100 * min(lost, sent) / sent},{sent},"
        f"{'' if lost >= sent else 40 + k}"
        for k, (site, sent, lost) in enumerate(rows)
    ]
    for path in recorded("\n".join([head, *lines])).subjects:
        own = [(k, sent, min(lost, sent)) for k, (site, sent, lost) in enumerate(rows) if path.name.startswith(site)]
        assert path.counters["sent"][0] == sum(sent for _, sent, _ in own)
        assert path.counters["lost"][0] == sum(lost for _, _, lost in own)
        rtt = path.of("rtt")
        assert ([] if rtt is None else [round(1e3 * value) for value in rtt.numbers]) == [
            40 + k for k, sent, lost in own if lost < sent
        ]
