"""Analysis of captures by `longpipe read`, compared with tshark, the simulator's counts, and constructed packets."""

import gzip
import json
import struct
import sys
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cli import main
from longpipe.fit import observe
from longpipe.fit.series import observed
from longpipe.measured import Recording, Subject, read
from pcap import needs_tshark, tshark

DATA: Final = Path(__file__).parent / "data/measured"
CAPTURES: Final = ("sender.pcap.gz", "receiver.pcap.gz", "linux-cubic.pcap.gz", "offload.pcap")
FIELDS: Final = (
    "frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.len", "tcp.analysis.ack_rtt",
    "tcp.analysis.retransmission", "tcp.analysis.out_of_order",
)  # fmt: skip
ACK: Final = 16


def count(subject: Subject, name: str) -> float:
    return subject.counters[name][0]


def ns(text: str) -> int:
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def of_ports(packets: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    return packets[(packets["tcp.srcport"] == source) & (packets["tcp.dstport"] == target)]


@needs_tshark
@pytest.mark.parametrize("name", CAPTURES)
def test_tshark_agrees_on_packets_bytes_retransmissions_and_rtts(name: str) -> None:
    found = read(DATA / name)
    assert found.begin_ns is not None
    packets = tshark(DATA / name, *FIELDS)
    for one in found.subjects:
        source, target = (end.rpartition(":")[2] for end in one.name.split(" > "))
        sent, acks = of_ports(packets, source, target), of_ports(packets, target, source)
        assert count(one, "packets") == len(sent)
        assert count(one, "payload") == sent["tcp.len"].astype(int).sum()
        # tshark classifies a retransmission within an RTT of the highest segment as out of order.
        again = sent["tcp.analysis.retransmission"].notna() | sent["tcp.analysis.out_of_order"].notna()
        assert count(one, "retransmitted packets") + count(one, "reordered") == again.sum()
        theirs = {
            ns(at) - found.begin_ns: float(rtt)
            for at, rtt in zip(acks["frame.time_epoch"], acks["tcp.analysis.ack_rtt"], strict=True)
            if isinstance(rtt, str)
        }
        series = one.of("rtt")
        assert series is not None
        ours = dict(zip(np.rint(series.time_s * 1e9).astype(int).tolist(), series.numbers.tolist(), strict=True))
        both = theirs.keys() & ours.keys()
        assert all(abs(theirs[at] - ours[at]) < 2e-9 for at in both)
        # Only tshark reports SYN, FIN, and the few ACKs that cover a retransmission, which Karn's rule excludes.
        assert len(theirs.keys() - ours.keys()) <= 2 + count(one, "retransmitted packets")


def test_both_ends_of_a_path_see_the_same_losses() -> None:
    sender, receiver = read(DATA / "sender.pcap.gz").subjects[0], read(DATA / "receiver.pcap.gz").subjects[0]
    assert (sender.facts["captured at"], receiver.facts["captured at"]) == ("the sender", "the receiver")
    assert (count(sender, "retransmitted segments"), count(receiver, "lost before the capture")) == (16, 16)
    # The data sent and the data that arrived differ by the 16 segments, of 1428 bytes each, that the path dropped.
    assert count(sender, "payload") - count(receiver, "payload") == 16 * 1428
    # The data are iperf3's cookie of 37 bytes, and 340 segments.
    assert count(sender, "acknowledged") == count(receiver, "acknowledged") == 37 + 340 * 1428
    rtt = sender.of("rtt")
    assert rtt is not None
    # The propagation delay is 40 ms; at 2 Mbit/s, 1500 bytes take 6 ms, and a full buffer of 12 packets takes 72 ms.
    assert 0.0406 <= rtt.numbers.min() <= 0.0466


def test_sacked_data_counts_when_it_arrives() -> None:
    found = read(DATA / "linux-cubic.pcap.gz")
    rate = found.subjects[0].of("rate")
    assert rate is not None
    segments = rate.numbers * found.duration_s / 200 / 8 / 1448
    # At 3 Mbit/s, a segment of 1514 bytes takes 4 ms: at most two segments arrive in an interval of 6 ms, and there is
    # no spike when a retransmission fills a gap.
    assert segments.max() <= 2.001
    assert segments.sum() == pytest.approx(count(found.subjects[0], "acknowledged") / 1448)


def test_offloaded_segments_are_split_by_the_mss() -> None:
    (bulk, *_) = read(DATA / "offload.pcap").subjects
    # 14 packets of up to 65 160 bytes are each split into segments of 1448 bytes.
    assert (count(bulk, "data packets"), count(bulk, "mss"), count(bulk, "segments")) == (14, 1448, 243)


def packet(
    at_ns: int, seq: int, ack: int, flags: int, length: int = 0, *, back: bool = False, options: bytes = b""
) -> bytes:
    """Returns a pcap record of an IPv4 packet between two hosts; with `back`, the second host sent it."""
    ends = ((b"\x0a\0\0\1", 1000), (b"\x0a\0\0\2", 80))
    (source, from_port), (target, to_port) = reversed(ends) if back else ends
    header = 20 + len(options)
    tcp = (
        struct.pack(">HHIIBBHHH", from_port, to_port, seq % 2**32, ack % 2**32, header // 4 << 4, flags, 60_000, 0, 0)
        + options
    )
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + header + length, 0, 0, 64, 6, 0, source, target)
    return struct.pack("<4I", *divmod(at_ns, 10**9), len(ip + tcp), len(ip + tcp) + length) + ip + tcp


def written(path: Path, *records: bytes) -> Path:
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101) + b"".join(records))
    return path


def exchange(begin: int, segments: int, *, data: bool = True, acks: bool = True, ms: int = 50) -> list[bytes]:
    """Returns 1000-byte segments, one every 10 ms, and their ACKs after an RTT."""
    records = []
    for k in range(segments):
        at = k * 10_000_000
        if data:
            records.append((at, packet(at, begin + 1000 * k, 1, ACK, 1000)))
        if acks:
            later = at + ms * 1_000_000
            records.append((later, packet(later, 1, begin + 1000 * (k + 1), ACK, back=True)))
    return [record for _, record in sorted(records)]


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.pcap", *exchange(2**32 - 5500, 20)))
    (one,) = found.subjects
    assert (count(one, "payload"), count(one, "retransmitted packets"), count(one, "not captured")) == (20_000, 0, 0)
    rtt, moved = one.of("rtt"), one.of("rate")
    assert rtt is not None
    assert moved is not None
    assert rtt.numbers == pytest.approx(0.05)
    # If the handshake was not captured, a connection's first ACK shows no progress.
    assert moved.numbers.sum() * found.duration_s / 200 / 8 == pytest.approx(19_000)


def test_a_duplicate_is_a_retransmission_and_a_late_packet_is_reordered(tmp_path: Path) -> None:
    order = (0, 2, 1, 3, 3)
    records = [packet(k * 1_000_000, 1 + 1000 * n, 1, ACK, 1000) for k, n in enumerate(order)]
    (one,) = read(written(tmp_path / "a.pcap", *records)).subjects
    assert (count(one, "reordered"), count(one, "retransmitted packets"), count(one, "retransmitted")) == (1, 1, 1000)


def test_copies_at_a_second_interface_do_not_count(tmp_path: Path) -> None:
    def cooked(record: bytes, interface: int, direction: int, later_ns: int) -> bytes:
        seconds, ns, captured, length = struct.unpack_from("<4I", record)
        link = struct.pack(">HHIHBB8s", 0x0800, 0, interface, 1, direction, 6, b"")
        at = divmod(seconds * 10**9 + ns + later_ns, 10**9)
        return struct.pack("<4I", *at, captured + 20, length + 20) + link + record[16:]

    records = exchange(1, 20, ms=55)
    # Data passes interface 2 and then 3, and ACKs pass them in the opposite order; one segment is retransmitted and
    # also passes both.
    records.append(packet(400_000_000, 1, 1, ACK, 1000))
    routed = []
    for record in records:
        first, second = (2, 3) if record[28:32] == b"\x0a\0\0\1" else (3, 2)
        routed += [cooked(record, first, 0, 0), cooked(record, second, 4, 1_000_000)]
    file = tmp_path / "a.pcap"
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 276) + b"".join(routed))
    found = read(file)
    (one,) = found.subjects
    assert (count(one, "data packets"), count(one, "retransmitted packets"), count(one, "duplicate ACKs")) == (21, 1, 0)
    assert "41 packets were captured at several interfaces; each flow is analyzed at its sender" in found.notes
    rtt = one.of("rtt")
    assert rtt is not None
    # ACKs leave for the sender 1 ms after they enter.
    assert rtt.numbers == pytest.approx(0.056)


def test_a_routers_capture_has_the_counts_of_the_senders() -> None:
    router, sender = read(DATA / "router.pcap.gz"), read(DATA / "before-router.pcap.gz")
    # Between its interfaces, the router splits packets that segmentation offload joined.
    assert router.notes == ("344 packets were captured at several interfaces; each flow is analyzed at its sender",)
    assert len(router.subjects) == len(sender.subjects) == 3
    for one, other in zip(router.subjects, sender.subjects, strict=True):
        names = one.counters.keys() - {"handshake", "sender side of the RTT"}
        assert {name: count(one, name) for name in names} == {name: count(other, name) for name in names}


@needs_tshark
def test_a_live_capture_counts_entries_and_notes_losses_on_the_path() -> None:
    found = read(DATA / "live.pcapng.gz")
    (one,) = found.subjects
    packets = tshark(DATA / "live.pcapng.gz", "frame.comment", "tcp.srcport", "tcp.len")
    comments = packets["frame.comment"].fillna("")
    entered = packets[comments.str.startswith("enters") & (packets["tcp.srcport"] == "57286")]
    lost = int(comments.str.startswith("lost at").sum())
    assert (count(one, "packets"), count(one, "payload")) == (len(entered), entered["tcp.len"].astype(int).sum())
    assert (
        found.notes[0]
        == f"{lost} TCP packets were lost on the simulated path"
        == "24 TCP packets were lost on the simulated path"
    )
    dropped = packets[comments.str.startswith("lost at") & (packets["tcp.srcport"] == "57286")]
    losses = one.of("losses")
    assert losses is not None
    assert losses.numbers.sum() == (dropped["tcp.len"].astype(int) > 0).sum() == 24
    # It takes 20 ms from data to ACK, each at the interface that it enters, and 20 ms until the ACK leaves at the sender.
    rtts, flight = one.of("rtt"), one.of("in flight")
    assert rtts is not None
    assert rtts.numbers.min() == pytest.approx(0.0405, abs=5e-4)
    assert one.facts["captured at"] == "the sender"
    assert found.notes[1].endswith("packets were captured at several interfaces; each flow is analyzed at its sender")
    # The data in flight fill the RTT at the flow's rate.
    assert flight is not None
    assert np.mean(flight.numbers) > 0.8 * count(one, "acknowledged") / found.duration_s * np.median(rtts.numbers)


def test_one_direction_is_read_with_a_note(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.pcap", *exchange(1, 10, acks=False)))
    assert found.subjects[0].of("rtt") is None
    assert found.notes == ("10.0.0.1:1000 > 10.0.0.2:80: its ACKs were not captured: no RTTs and no bytes in flight",)
    found = read(written(tmp_path / "a.pcap", *exchange(1, 10, data=False)))
    assert [one.name for one in found.subjects] == ["10.0.0.1:1000 > 10.0.0.2:80"]
    assert count(found.subjects[0], "acknowledged") == 9000
    assert "its data was not captured" in found.notes[0]


def test_data_in_flight_before_the_capture_is_not_missing(tmp_path: Path) -> None:
    # The first captured packet is an ACK of earlier data; 13 000 bytes that were sent before are acknowledged later.
    early = [packet(k * 1_000_000, 1, 5001 + 1000 * k, ACK, back=True) for k in range(3)]
    records = [packet(5_000_000 + k * 10_000_000, 18_001 + 1000 * k, 1, ACK, 1000) for k in range(20)]
    late = [packet(300_000_000 + k * 1_000_000, 1, 8001 + 1000 * k, ACK, back=True) for k in range(30)]
    found = read(written(tmp_path / "a.pcap", *early, *records, *late))
    (one,) = found.subjects
    assert (found.notes, count(one, "not captured"), count(one, "lost before the capture")) == ((), 0, 0)
    assert (count(one, "acknowledged"), count(one, "retransmitted packets")) == (32_000, 0)


def test_gaps_cuts_and_jumps_of_the_clock_are_noted(tmp_path: Path) -> None:
    records = exchange(1, 30)
    missing = [packet(k * 10_000_000, 1 + 1000 * k, 1, ACK, 1000) for k in (10, 11)]
    (note,) = read(written(tmp_path / "gap.pcap", *(one for one in records if one not in missing))).notes
    assert note == (
        "10.0.0.1:1000 > 10.0.0.2:80: 2000 bytes were acknowledged but not captured: the capture has gaps, in which "
        "retransmissions are unknown"
    )
    whole = written(tmp_path / "cut.pcap", *records)
    whole.write_bytes(whole.read_bytes()[:-7])
    assert read(whole).notes == ("the file is truncated within its last packet",)
    early = exchange(1, 10) + [packet(at, 1, 10_001, ACK, back=True) for at in (0, 1000)]
    (note,) = read(written(tmp_path / "back.pcap", *early)).notes
    assert note == "the clock jumps back once, first by 0.14 s at packet 21: RTTs and rates around it are wrong"


def test_a_jump_ahead_shows_against_timestamps(tmp_path: Path) -> None:
    records = []
    for k in range(40):
        at = k * 200_000_000 + (7 * 10**9 if k >= 20 else 0)
        stamps = struct.pack(">BBBBII", 1, 1, 8, 10, 1000 + 200 * k, 1)
        records.append(packet(at, 1 + 1000 * k, 1, ACK, 1000, options=stamps))
    notes = read(written(tmp_path / "a.pcap", *records)).notes
    assert "the clock jumps ahead by 7 s at packet 21, unlike the sender's timestamps" in notes


def test_idle_connection_is_not_a_clock_jump(tmp_path: Path) -> None:
    """A router captures each packet twice, 300 ms apart, and the connection is idle for 15 s."""
    passed = []
    for k in range(20):
        at = k * 620_000_000 + (15 * 10**9 if k >= 12 else 0)
        stamps = struct.pack(">BBBBII", 1, 1, 8, 10, 1000 + at // 1_000_000, 1)
        record = packet(at, 1 + 1000 * k, 1, ACK, 1000, options=stamps)
        # The cooked header of each copy has the number of its interface.
        for later, interface in ((0, 2), (300_000_000, 5)):
            cooked = struct.pack(">HHIHBB8s", 0x800, 0, interface, 1, 0, 6, b"") + record[16:]
            passed.append((at + later, struct.pack("<IIII", *divmod(at + later, 10**9), *2 * [len(cooked)]) + cooked))
    file = tmp_path / "a.pcap"
    records = [one for _, one in sorted(passed)]
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 276) + b"".join(records))
    assert not [note for note in read(file).notes if "clock" in note]


def test_fit_begins_with_the_transfer_after_messages(tmp_path: Path) -> None:
    records = [packet(0, 1, 1, ACK, 37), packet(100_000_000, 1, 38, ACK, back=True)]
    for k in range(300):
        # Ten segments leave at the start of each round trip of 100 ms.
        at = 600_000_000 + (k // 10) * 100_000_000 + (k % 10) * 1_000_000
        records.append(packet(at, 38 + 1000 * k, 1, ACK, 1000))
        records.append(packet(at + 90_000_000, 1, 38 + 1000 * (k + 1), ACK, back=True))
    records.sort(key=lambda one: struct.unpack("<II", one[:8]))
    seen = observe(written(tmp_path / "iperf3.pcap", *records))
    assert (seen.sent_s[0], seen.sent_byte[0], len(seen.sent_s)) == (0, 0, 300)
    assert int(np.searchsorted(seen.sent_s, seen.ack_s[0])) == 10
    assert (seen.ack_delivered[0], seen.ack_delivered[-1]) == (1000, 300_000)
    assert np.allclose(seen.rtt, 0.09)


def test_replies_of_a_connection_are_not_cross_traffic(tmp_path: Path) -> None:
    reply = packet(2_999_000_000, 1, 250_001, ACK, 8, back=True)
    file = written(tmp_path / "a.pcap", *exchange(1, 250), reply)
    assert len(read(file).subjects) == 2
    assert observe(file).others == 0
    # The control connection of iperf3.
    assert observe(DATA / "sender.pcap.gz").others == 1


def test_capture_without_tcp_is_rejected_in_one_line(tmp_path: Path) -> None:
    records = [packet(k, 1, 1, ACK, 10) for k in range(3)]
    udp = [record[:25] + b"\x11" + record[26:] for record in records]
    needs = r"needs a capture of TCP connections, or the qlog of a QUIC connection$"
    with pytest.raises(ScenarioError, match=rf"a\.pcap: no TCP data among 3 packets UDP; {needs}"):
        read(written(tmp_path / "a.pcap", *udp))
    with pytest.raises(ScenarioError, match="no TCP data among no packets"):
        read(written(tmp_path / "a.pcap"))
    short = [struct.pack("<4I", 0, 0, 24, 60) + record[16:40] for record in records]
    with pytest.raises(ScenarioError, match="3 packets truncated by the snap length before the end of the TCP header"):
        read(written(tmp_path / "a.pcap", *short))
    (tmp_path / "b").write_text("hello")
    with pytest.raises(
        ScenarioError, match="begins with 'hello', which no known tool writes; needs one of pcap or pcapng"
    ):
        read(tmp_path / "b")


def unreported(packets: pd.DataFrame, source: str, target: str) -> list[int]:
    """Returns the bytes sent and neither acknowledged nor SACKed after each ACK, from tshark's relative numbers."""
    next_byte, una, sacked, found = 0, 0, np.zeros(0, dtype=bool), []
    columns = ("tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len", "tcp.ack", "tcp.flags", "tcp.options.sack_le",
               "tcp.options.sack_re")  # fmt: skip
    for from_port, to_port, seq, length, ack, flags, left, right in packets[list(columns)].itertuples(index=False):
        if (from_port, to_port) == (source, target):
            # SYN and FIN occupy one number each.
            next_byte = max(next_byte, int(seq) + int(length) + (int(flags, 16) & 3 != 0))
        elif (from_port, to_port) == (target, source) and int(flags, 16) & ACK:
            una = max(una, int(ack))
            if isinstance(left, str):
                sacked = np.append(sacked, np.zeros(max(0, next_byte - len(sacked)), dtype=bool))
                for begin, end in zip(left.split(","), right.split(","), strict=True):
                    sacked[int(begin) : int(end)] = True
            found.append(next_byte - una - int(sacked[una:].sum()))
    return found


@needs_tshark
def test_data_that_acks_or_sack_blocks_report_are_not_in_flight() -> None:
    path = DATA / "linux-cubic.pcap.gz"
    fields = ("tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len", "tcp.ack", "tcp.flags", "tcp.options.sack_le",
              "tcp.options.sack_re")  # fmt: skip
    packets = tshark(path, *fields)
    one = read(path).subjects[0]
    flight = one.of("in flight")
    assert count(one, "SACK blocks") > 0
    assert flight is not None
    assert flight.numbers.tolist() == unreported(packets, *(end.rpartition(":")[2] for end in one.name.split(" > ")))


@pytest.fixture(scope="module")
def recovering(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, pd.DataFrame]]:
    """Returns the sender's capture of a run with SACK and losses at a full queue, and the run's traces."""
    scenario = Scenario(defaults="1996", duration="20 s", framing="ip").with_(
        **{
            "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "12 Mbit/s", "trunk_delay": "110 ms"},
            "switch.buffer": "200 packets",
            "tcp.profile": "linux-6",
            "traces.flight": True,
            "traces.sequence": True,
        }
    )
    path = tmp_path_factory.mktemp("recovering") / "sender.pcapng"
    result = simulate(scenario, captures={"host:source1": path})
    assert result.flows["retransmitted_segments"].iloc[0] > 20
    return path, dict(result.traces)


def reported(sequence: pd.DataFrame) -> tuple[list[float], list[int]]:
    """Returns the times [s] of ACKs and SACK blocks, and the bytes that they report for the first time."""
    known = np.zeros(int((sequence["sequence_bytes"] + sequence["length_bytes"]).max()), dtype=bool)
    times, new = [], []
    una = 0
    for time_s, event, byte, length in sequence[["time_s", "event", "sequence_bytes", "length_bytes"]].to_numpy():
        if event == 0:
            continue
        begin, end = (una, int(byte)) if event == 1 else (max(int(byte), una), int(byte + length))
        una = max(una, int(byte)) if event == 1 else una
        times.append(time_s)
        new.append(int((~known[begin:end]).sum()))
        known[begin:end] = True
    return times, new


def test_data_in_flight_are_those_of_the_simulated_sender(recovering: tuple[Path, dict[str, pd.DataFrame]]) -> None:
    path, traces = recovering
    trace = traces["flight"]
    (one,) = read(path).subjects
    flight = one.of("in flight")
    assert flight is not None
    # The first samples precede the initial window of ten segments, which the sender sends at the same time.
    at = np.searchsorted(trace["time_s"], flight.time_s, side="right") - 1
    apart = (trace["in_flight_bytes"].to_numpy()[at] - flight.numbers)[flight.time_s > 1]
    # The trace has the data in flight before each ACK, the capture those after it and before the sender's response.
    # Times of captures are whole nanoseconds.
    times, new = reported(traces["sequence"])
    until = np.append(0, np.cumsum(new))[np.searchsorted(times, flight.time_s + 1e-9)]
    assert apart.tolist() == np.diff(until, prepend=0)[flight.time_s > 1].tolist()
    assert flight.numbers.max() == pytest.approx(trace["in_flight_bytes"].max(), rel=0.01)


def test_read_and_fit_have_the_same_data_in_flight(recovering: tuple[Path, dict[str, pd.DataFrame]]) -> None:
    path, _ = recovering
    flight = read(path).subjects[0].of("in flight")
    assert flight is not None
    seen = observe(path)
    fitted = observed(seen, seen.duration_s)
    # Times of a fit are those since the first data packet.
    begin = flight.time_s[flight.numbers == 0][0]
    at = np.searchsorted(flight.time_s - begin, fitted.grid, side="right") - 1
    # Only the fit counts the segments sent since the ACK: the response to it, and at most one whose ACK follows.
    apart = np.abs(fitted.in_flight - flight.numbers[at])[fitted.grid > 1] / seen.mss
    assert apart.max() <= 3


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Returns a folder with captures of a run of ATM cells, and the segments that the run retransmitted."""
    folder = tmp_path_factory.mktemp("captures")
    scenario = Scenario(defaults="1996", duration="400 ms")
    places = {f"host:{name}1": folder / f"{name}.pcapng" for name in ("source", "sink")}
    places["link:switch1->switch2"] = folder / "trunk.pcapng"
    result = simulate(scenario, captures=places)
    return folder, int(result.flows["retransmitted_segments"].iloc[0])


def test_longpipes_own_captures_have_its_own_counts(simulated: tuple[Path, int]) -> None:
    folder, retransmitted = simulated
    sender = read(folder / "source.pcapng")
    (one,) = sender.subjects
    assert (sender.format, count(one, "retransmitted segments"), count(one, "reordered")) == (
        "pcapng",
        retransmitted,
        0,
    )
    assert retransmitted > 0
    trunk = read(folder / "trunk.pcapng")
    # The capture point sees one direction of all flows.
    assert any("its ACKs were not captured" in note for note in trunk.notes)
    # The handshake that longpipe inserts takes no time, and so shows no RTT.
    assert "captured at" not in read(folder / "sink.pcapng").subjects[0].facts


def test_the_command_prints_a_table_draws_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, picture = str(DATA / "sender.pcap.gz"), tmp_path / "a.png"

    def exit_status(*words: str) -> object:
        monkeypatch.setattr(sys, "argv", ["longpipe", "read", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0

    assert exit_status(file, "-o", str(picture)) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[1:-1])) <= 100
    words = " ".join(shown.split())
    assert "pcap of a capturing program; 2.48073 s from 2026-11-26T06:39:37.135789Z" in words
    assert "captured at the sender" in words
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert exit_status(file, "--json", "-") == 0
    value = json.loads(capsys.readouterr().out)
    assert value["subjects"][0]["name"] == "[fd00::1]:41334 > [fd00::4]:5201"
    assert exit_status(file, "-o", "a.xyz") == 2
    assert "--output: 'a.xyz'; accepts .svg, .pdf, .png" in capsys.readouterr().err


def test_gzip_and_plain_captures_are_equal(tmp_path: Path) -> None:
    plain = tmp_path / "a.pcap"
    plain.write_bytes(gzip.decompress((DATA / "sender.pcap.gz").read_bytes()))

    def told(found: Recording) -> object:
        return found.as_json() | {"file": ""}

    assert told(read(plain)) == told(read(DATA / "sender.pcap.gz"))
