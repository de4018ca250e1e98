"""Captures of other link layers, of mirror ports, with times of wrong units, and with damaged records."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longpipe import ScenarioError
from longpipe.fit import observe
from longpipe.measured import Recording, read

CASES: Final = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ACK: Final = 16
BEGIN_NS: Final = 1_795_860_000 * 10**9
# A packet: its time [ns], and the IP packet without payload together with its length.
Packets = list[tuple[int, bytes, int]]


def ip_packet(seq: int, ack: int, length: int, ident: int, *, back: bool, v6: bool = False) -> tuple[bytes, int]:
    ends = ((b"\x0a\0\0\1", 1000), (b"\x0a\0\0\2", 80))
    (source, from_port), (target, to_port) = reversed(ends) if back else ends
    tcp = struct.pack(">HHIIBBHHH", from_port, to_port, seq, ack, 5 << 4, ACK, 60_000, 0, 0)
    if v6:
        head = struct.pack(
            ">IHBB16s16s", 6 << 28, 20 + length, 6, 64, source.rjust(16, b"\xfd"), target.rjust(16, b"\xfd")
        )
    else:
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + length, ident, 0, 64, 6, 0, source, target)
    return head + tcp, len(head) + 20 + length


def transfer(draw: random.Random, segments: int = 40, *, idents: bool = True, v6: bool = False) -> Packets:
    """Returns a transfer with random losses, whose lost segments are retransmitted after the others."""
    lost = {k for k in range(1, segments) if draw.random() < 0.1}
    found: list[tuple[int, int, int, bool]] = []
    arrived, ack = set(), 1
    for place, k in enumerate([*range(segments), *sorted(lost)]):
        at = BEGIN_NS + place * 10_000_000 + draw.randrange(1000) * 1000
        found.append((at, 1 + 1000 * k, 1, False))
        if k in lost and place < segments:
            continue
        arrived.add(k)
        while (ack - 1) // 1000 in arrived:
            ack += 1000
        found.append((at + 50_000_000 + draw.randrange(1000) * 1000, 1, ack, True))
    found.sort()
    return [
        (at, *ip_packet(seq, ack, 0 if back else 1000, n + 1 if idents else 0, back=back, v6=v6))
        for n, (at, seq, ack, back) in enumerate(found)
    ]


def plain(packet: bytes) -> bytes:
    return packet


def pcap(
    path: Path,
    packets: Packets,
    link_type: int = 101,
    wrap: Callable[[bytes], bytes] = plain,
    ticks: int = 10**9,
    magic: int = 0xA1B23C4D,
    order: str = "<",
) -> Path:
    records = []
    for at, packet, length in packets:
        data = wrap(packet)
        seconds, rest = divmod(at, 10**9)
        fields = (seconds, rest * ticks // 10**9, len(data), length + len(data) - len(packet))
        records.append(struct.pack(f"{order}4I", *fields) + data)
    path.write_bytes(struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, link_type) + b"".join(records))
    return path


def content(found: Recording) -> object:
    return found.as_json() | {"file": "", "notes": [], "format": ""}


def frame(*parts: bytes | int) -> Callable[[bytes], bytes]:
    """Returns a function that puts an Ethernet header with these types and headers before a packet."""
    head = bytes(12) + b"".join(part if isinstance(part, bytes) else part.to_bytes(2, "big") for part in parts)
    return lambda packet: head + packet


TAG: Final = b"\0\5"
PPPOE: Final = struct.pack(">BBHHH", 0x11, 0, 1, 42, 0x21)
LABEL, LAST = b"\0\1\0\x40", b"\0\2\1\x40"
SNAP: Final = b"\xaa\xaa\x03\0\0\0"


@pytest.mark.parametrize(
    ("link_type", "wrap"),
    [
        (1, frame(0x800)), (1, frame(0x8100, TAG, 0x800)), (1, frame(0x88A8, TAG, 0x8100, TAG, 0x800)),
        (1, frame(0x9100, TAG, 0x9100, TAG, 0x800)), (1, frame(0x8864, PPPOE)), (1, frame(0x8100, TAG, 0x8864, PPPOE)),
        (1, frame(0x88A8, TAG, 0x8100, TAG, 0x8864, PPPOE)), (1, frame(0x8847, LAST)), (1, frame(0x8847, LABEL, LABEL, LAST)),
        (1, frame(0x8100, TAG, 0x8847, LABEL, LAST)), (1, frame(0x8847, LAST, bytes(4), bytes(12), 0x800)),
        (1, frame(0x8847, LAST, bytes(12), 0x8100, TAG, 0x800)), (1, frame(60, SNAP, 0x800)),
        (113, lambda packet: struct.pack(">HHHQH", 0, 1, 6, 0, 0x800) + packet),
        (113, lambda packet: struct.pack(">HHHQHHH", 4, 1, 6, 0, 0x8100, 5, 0x800) + packet),
        (276, lambda packet: struct.pack(">HHIHBB8s", 0x800, 0, 2, 1, 0, 6, b"") + packet),
        (276, lambda packet: struct.pack(">HHIHBB8s", 0x8864, 0, 2, 1, 0, 6, b"") + PPPOE + packet),
        (0, lambda packet: b"\2\0\0\0" + packet), (108, lambda packet: b"\0\0\0\2" + packet), (12, plain), (228, plain),
        (9, lambda packet: b"\xff\x03\0\x21" + packet), (9, lambda packet: b"\0\x21" + packet), (9, lambda packet: b"\x21" + packet),
        (50, lambda packet: b"\xff\x03\0\x21" + packet), (51, lambda packet: PPPOE + packet), (104, lambda packet: b"\x0f\0\x08\0" + packet),
        (219, lambda packet: LABEL + LAST + packet),
        (258, lambda packet: struct.pack("<3I", 20, 1, 101) + bytes(8) + packet),
    ],
)  # fmt: skip
def test_a_capture_of_any_link_layer_has_the_same_flows(
    tmp_path: Path, link_type: int, wrap: Callable[[bytes], bytes]
) -> None:
    packets = transfer(random.Random(1))
    bare = read(pcap(tmp_path / "bare.pcap", packets))
    assert content(read(pcap(tmp_path / "a.pcap", packets, link_type, wrap))) == content(bare)


@pytest.mark.parametrize(
    ("link_type", "wrap", "named"),
    [
        (1, frame(0x806), "not IP, but ARP"), (1, frame(0x8863), "PPPoE discovery"), (1, frame(0x88CC), "LLDP"),
        (1, frame(0x1234), "EtherType 0x1234"), (1, frame(38, b"\x42\x42\x03"), "IEEE 802.2 LLC"),
        (1, frame(0x8864, struct.pack(">BBHHH", 0x11, 0, 1, 42, 0xC021)), "PPP protocol 0xc021"), (1, frame(0x8847, LAST, b"\x90"), "MPLS without IP"),
        (105, plain, r"link type 105 \(IEEE 802\.11\)"), (220, plain, r"link type 220 \(USB\)"), (9999, plain, "link type 9999"),
    ],
)  # fmt: skip
def test_a_packet_without_ip_is_named(
    tmp_path: Path, link_type: int, wrap: Callable[[bytes], bytes], named: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"no TCP data among \d+ packets .*{named}.*; needs a capture"):
        read(pcap(tmp_path / "a.pcap", transfer(random.Random(1)), link_type, wrap))


@CASES
@given(seed=st.integers(0, 10**6), idents=st.booleans(), v6=st.booleans(), times=st.integers(2, 3))
def test_copies_of_a_mirror_port_are_ignored(tmp_path: Path, seed: int, idents: bool, v6: bool, times: int) -> None:
    draw = random.Random(seed)
    packets = transfer(draw, idents=idents, v6=v6)
    has_idents = idents and not v6
    once = read(pcap(tmp_path / "once.pcap", packets))
    # Without identification, each packet has one copy.
    copies = sorted(
        (at + k * draw.randrange(20_000), packet, length)
        for at, packet, length in packets
        for k in range(times if has_idents else 2)
    )
    found = read(pcap(tmp_path / "twice.pcap", copies))
    for one, other in zip(found.subjects, once.subjects, strict=True):
        assert one.counters == other.counters
        rtts, others = one.of("rtt"), other.of("rtt")
        # If the second segment is lost, every ACK covers a retransmission, so that there is no sample.
        assert (rtts is None) == (others is None)
        if rtts is not None and others is not None:
            assert rtts.numbers == pytest.approx(others.numbers, abs=1e-9)
    (note,) = found.notes
    assert "captured twice, as a mirror port does" in note or "captured again, as a mirror port does" in note


def test_retransmissions_without_ip_identification_are_not_copies(tmp_path: Path) -> None:
    packets = transfer(random.Random(3), idents=False)
    found = read(pcap(tmp_path / "a.pcap", packets))
    assert found.notes == ()
    assert found.subjects[0].counters["retransmitted packets"][0] > 0


@CASES
@given(st.integers(0, 10**6), st.sampled_from("<>"))
def test_nanoseconds_in_a_file_of_microseconds_are_noted(tmp_path: Path, seed: int, order: str) -> None:
    packets = transfer(random.Random(seed))
    right = read(pcap(tmp_path / "ns.pcap", packets, order=order))
    wrong = read(pcap(tmp_path / "us.pcap", packets, magic=0xA1B2C3D4, order=order))
    assert content(wrong) == content(right)
    assert wrong.notes[0].startswith("fractions of a second are above 10^6: they are read as nanoseconds")
    right_us = read(pcap(tmp_path / "us.pcap", packets, ticks=10**6, magic=0xA1B2C3D4, order=order))
    assert right_us.notes == ()
    assert content(right_us) == content(right)


def test_microseconds_in_a_file_of_nanoseconds_are_noted(tmp_path: Path) -> None:
    packets = [
        (at + k // 40 * 10**9, packet, length) for k, (at, packet, length) in enumerate(transfer(random.Random(2), 200))
    ]
    right = read(pcap(tmp_path / "us.pcap", packets, ticks=10**6, magic=0xA1B2C3D4))
    wrong = read(pcap(tmp_path / "ns.pcap", packets, ticks=10**6))
    assert content(wrong) == content(right)
    assert wrong.notes[0].startswith("fractions of a second are below 10^6: they are read as microseconds")


def pcapng(path: Path, packets: Packets, ticks: Callable[[int], int], resolution: int = 6) -> Path:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    option = struct.pack("<HHB3xHH", 9, 1, resolution, 0, 0)
    found = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 101, 0, 0) + option),
    ]
    for at, packet, length in packets:
        count = ticks(at) % 2**64
        found.append(block(6, struct.pack("<5I", 0, count >> 32, count % 2**32, len(packet), length) + packet))
    path.write_bytes(b"".join(found))
    return path


def test_times_of_a_wrong_resolution_are_noted(tmp_path: Path) -> None:
    packets = transfer(random.Random(2))
    right = read(pcapng(tmp_path / "a.pcapng", packets, lambda at: at, 9))
    wrong = read(pcapng(tmp_path / "b.pcapng", packets, lambda at: at, 6))
    assert content(wrong) == content(right)
    assert wrong.notes[0].startswith("times are after the year 2100: they are read with a 1000 times finer resolution")


@pytest.mark.parametrize("reader", [read, observe])
@pytest.mark.parametrize("power", range(50, 64))
def test_hostile_times_are_named_with_file_and_packet(
    tmp_path: Path, power: int, reader: Callable[[Path], object]
) -> None:
    packets = transfer(random.Random(2))
    half = packets[len(packets) // 2][0]
    file = pcapng(tmp_path / "a.pcapng", packets, lambda at: (at - BEGIN_NS) // 1000 + (2**power if at > half else 0))
    try:
        reader(file)
    except ScenarioError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are right
        assert str(error).startswith(f"{file}: ")  # noqa: PT017
        if power > 53:
            assert f"packet {len(packets) // 2 + 2}: time " in str(error)  # noqa: PT017


def test_a_packet_with_an_impossible_time_is_omitted_with_a_note(tmp_path: Path) -> None:
    packets = transfer(random.Random(2))
    broken = packets[20][0]
    file = pcapng(tmp_path / "a.pcapng", packets, lambda at: 2**63 if at == broken else at, 9)
    found = read(file)
    assert found.notes[0] == "a packet is omitted because of impossible times: packet 21: time 9.223e+09 s after 1970"


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_packets_before_a_damaged_record_are_read(tmp_path: Path, form: str) -> None:
    packets = transfer(random.Random(2))
    file = tmp_path / "a.pcap"
    for count in (30, len(packets)):
        written = pcap(file, packets[:count]) if form == "pcap" else pcapng(file, packets[:count], lambda at: at, 9)
        whole = content(read(written))
        if count == 30:
            before, length = whole, len(file.read_bytes())
    # The captured length of a record of pcap, and the length of a block of pcapng.
    place = length + (8 if form == "pcap" else 4)
    broken = file.read_bytes()
    broken = broken[:place] + b"\xff\xff\xff\x7f" + broken[place + 4 :]
    file.write_bytes(broken)
    found = read(file)
    assert content(found) == before
    assert found.notes[0].startswith("the file is damaged and read up to packet 30: ")


@pytest.mark.parametrize("length", [0xFFFF_FFFF, 1 << 24])
def test_hostile_lengths_are_damaged_headers(tmp_path: Path, length: int) -> None:
    packets = transfer(random.Random(2), v6=True)
    # A payload length of 0 means that the capture's length counts, as with segmentation offload.
    hostile = [(at, packet[:4] + b"\0\0" + packet[6:], length) for at, packet, _ in packets]
    with pytest.raises(ScenarioError, match=r"no TCP data among \d+ packets damaged TCP headers"):
        read(pcap(tmp_path / "a.pcap", hostile))


def test_a_fit_of_too_many_segments_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SYN with an MSS of 1 byte would split each packet into as many segments as it has bytes."""
    monkeypatch.setattr("longpipe.fit.observed._MAX_SEGMENTS", 30)
    with pytest.raises(ScenarioError, match=r"has \d+ segments; a fit needs at most 30$"):
        observe(pcap(tmp_path / "a.pcap", transfer(random.Random(2))))
