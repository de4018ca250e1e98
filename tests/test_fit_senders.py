"""`longpipe fit` of senders that exchange messages before the transfer, that pace, or that do not always have data."""

import json
import struct
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from commands import run
from longpipe import Scenario, simulate
from longpipe.fit import PathFit, fit, observe
from longpipe.fit.features import features
from longpipe.fit.observed import ObservedFlow
from longpipe.fit.path_file import write
from longpipe.fit.reported import report
from longpipe.fit.whatif import doubts, whatif
from longpipe.measured.content import Content
from longpipe.measured.headers import SYN, Other, Segment, segment_of
from longpipe.measured.pcap import CaptureFile

CONTROLS: Final = ("cubic", "linux-reno", "bbr")
# Link type of raw IP packets, and flags of a segment with data.
RAW: Final = 101
PUSH_ACK: Final = 0x18


def captured(folder: Path, **changes: object) -> Path:
    """Returns a capture at the sender over a path of 20 Mbit/s and 100 ms with half a BDP of buffer."""
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "50 ms"}
    path = Scenario(defaults="1996", framing="ip", duration="8 s").with_(
        network=network, tcp={"profile": "linux-6"}, **{"switch.buffer": "83 packets", **changes}
    )
    (folder / "path.toml").write_text(path.to_toml())
    capture = folder / "sender.pcapng"
    done = run("run", str(folder / "path.toml"), "--capture", f"host:source1={capture}")
    assert done.returncode == 0, done.stderr
    return capture


@cache
def after_handshake(capture: Path) -> list[tuple[int, Segment]]:
    """Returns the segments of a capture with their times [ns], without its handshake and its notes of losses."""
    content = Content.of(capture)
    found: list[tuple[int, Segment]] = []
    for packet in CaptureFile(content.file, content.data).packets():
        segment = segment_of(packet.link_type, packet.data, packet.length)
        assert packet.time_ns is not None
        assert not isinstance(segment, Other)
        if not segment.flags & SYN and not packet.is_loss:
            found.append((packet.time_ns, segment))
    return found


def without_handshake(capture: Path, messages: tuple[int, ...] = ()) -> Path:
    """Returns a capture without its handshake, so that the receive window is unknown.

    The sender first sends messages of the given lengths, each of which the receiver acknowledges 100 ms later.
    """
    found = after_handshake(capture)
    first = next(segment for _, segment in found if segment.length)
    # Captures of simulations begin at time 0.
    found = [(now + 10**9, segment) for now, segment in found]
    at, seq = found[0][0] - 200_000_000 * len(messages), first.seq - sum(messages)
    early = []
    for length in messages:
        early.append((at, first._replace(seq=seq, length=length, flags=PUSH_ACK)))
        seq += length
        answer = first._replace(source=first.target, target=first.source, seq=first.ack, ack=seq, length=0)
        early.append((at + 100_000_000, answer))
        at += 200_000_000
    file = capture.with_name("written.pcap")
    records = b"".join(record(now, segment) for now, segment in (*early, *found))
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, RAW) + records)
    return file


def record(now: int, segment: Segment) -> bytes:
    """Returns a pcap record of the headers of a segment, with its timestamps and SACK blocks."""
    assert segment.timestamps is not None
    options = struct.pack(">BBBBII", 1, 1, 8, 10, *segment.timestamps)
    if segment.sack:
        options += struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(segment.sack))
        options += b"".join(struct.pack(">II", *block) for block in segment.sack)
    header = 20 + len(options)
    (source, source_port), (target, target_port) = (
        (end[:4], struct.unpack(">H", end[4:])[0]) for end in (segment.source, segment.target)
    )
    tcp = struct.pack(
        ">HHIIBBHHH", source_port, target_port, segment.seq % 2**32, segment.ack % 2**32, header // 4 << 4, segment.flags & 0xFF,
        segment.window, 0, 0,
    )  # fmt: skip
    length = 20 + header + segment.length
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 6, 0, source, target)
    return struct.pack("<4I", *divmod(now, 10**9), 20 + header, length) + ip + tcp + options


def fitted(seen: ObservedFlow) -> PathFit:
    return fit(seen, CONTROLS)


@pytest.fixture(scope="module")
def bulk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured(tmp_path_factory.mktemp("bulk"))


@pytest.fixture(scope="module")
def whole(bulk: Path) -> ObservedFlow:
    return observe(bulk)


@pytest.mark.parametrize("messages", [(37,), (300,), (517, 126), (1200, 64, 300)])
def test_messages_before_the_transfer_are_ignored(bulk: Path, whole: ObservedFlow, messages: tuple[int, ...]) -> None:
    """An iperf3 cookie, an HTTP request, a TLS handshake, and a longer exchange."""
    seen = observe(without_handshake(bulk, messages))
    assert seen.message_bytes == sum(messages)
    assert whole.message_bytes == 0
    assert seen.sent_bytes.tolist() == whole.sent_bytes.tolist()
    assert seen.sent_s == pytest.approx(whole.sent_s)
    assert seen.ack_delivered.tolist() == whole.ack_delivered.tolist()
    found = fit(seen, ("cubic",))
    assert found.best.hypothesis.initial_window == 10
    assert found.best.distance < 0.02
    assert f"the fit omits {sum(messages)} bytes" in report(found).notes[0]


@pytest.mark.parametrize("paced", [False, True])
def test_pacing_is_recognized(paced: bool, tmp_path: Path) -> None:
    found = fitted(observe(captured(tmp_path, **{"tcp.pacing": paced, "tcp.congestion": "cubic"})))
    assert found.best.hypothesis.control == "cubic"
    assert found.best.hypothesis.paced == paced
    assert found.best.distance < 0.02
    assert report(found).scenario.tcp.pacing == paced
    assert not report(found).doubts


def test_a_transfer_that_ends_has_no_doubts(tmp_path: Path) -> None:
    found = report(fitted(observe(captured(tmp_path, traffic={"kind": "transfer", "size": "6 MB"}))))
    assert next(iter(found.controls)) == "cubic"
    assert not found.doubts


@pytest.mark.parametrize("traffic", ["greedy", {"kind": "stream", "rate": "12 Mbit/s"}])
def test_a_limit_at_the_sender_is_recognized(traffic: object, tmp_path: Path) -> None:
    """A limit of 150 kB, as of a send buffer, and an application that writes at 12 Mbit/s."""
    window = "150 kB" if traffic == "greedy" else "auto"
    capture = captured(tmp_path, traffic=traffic, **{"tcp.receiver_window": window})
    found = fitted(observe(without_handshake(capture)))
    (doubt,) = report(found).doubts
    assert doubt.startswith("a limit of about ")
    assert found.best.hypothesis.flight_limit == pytest.approx(150_000, rel=0.05)
    assert found.same_controls
    path = tmp_path / "fitted.toml"
    beside = write(report(found), path)
    assert "# warning: a limit of about" in path.read_text()
    assert json.loads(beside.read_text())["doubts"] == [doubt]
    assert next(doubts(whatif(path, {"tcp.congestion": "bbr"}, 3))) == doubt


def test_pauses_of_the_application_are_named(tmp_path: Path) -> None:
    bursts = {"on": "1 s", "off": "1 s"}
    traffic = {"kind": "stream", "rate": "15 Mbit/s", "bursts": bursts}
    found = report(fitted(observe(captured(tmp_path, traffic=traffic))))
    assert any(line.startswith("the application had no data for ") for line in found.doubts)
    assert any(line.startswith("no candidate explains the capture: ") for line in found.doubts)
    path = tmp_path / "fitted.toml"
    write(found, path)
    done = run("whatif", str(path), "--set", "tcp.congestion=bbr", "--seeds", "3")
    assert done.returncode == 0
    assert "warning: no candidate explains the capture" in " ".join(done.stderr.split())
    assert "warning: goodput: the fitted path's differs by +" in " ".join(done.stderr.split())


HELD = {"rate": [["0 s", "8 Mbit/s"], ["4 s", "0 bit/s"], ["8 s", "8 Mbit/s"]], "between": "hold"}
DROPPED = {"kind": "moving", "outages": {"intervals": [["4 s", "8 s"]], "arriving": "drop", "waiting": "drop"}}


@pytest.mark.parametrize(("path", "fate"), [(HELD, "hold"), (DROPPED, "drop")])
def test_an_outage_is_fitted_and_is_not_taken_for_losses_or_the_application(
    path: dict[str, object], fate: str, tmp_path: Path
) -> None:
    fields = {
        "framing": "ip",
        "duration": "12 s",
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "8 Mbit/s", "trunk_delay": "20 ms", "path": path},
        "switch": {"buffer": "60 packets"},
        "tcp": {"profile": "linux-6", "congestion": "cubic", "receiver_window": "auto"},
    }
    simulate(
        Scenario.model_validate({"defaults": "1996", **fields}),
        captures={"host:source1": str(tmp_path / "flow.pcapng")},
    )
    told = report(fit(observe(tmp_path / "flow.pcapng"), ["cubic"]))
    assert told.doubts == ()
    assert told.estimates["rate"]["value"] == pytest.approx(8e6, rel=1e-3)
    assert told.estimates["buffer"]["value"] == 60
    assert told.estimates["loss"]["value"] == 0
    assert told.rate_steps == []
    # The first data packet leaves a handshake after the start.
    (outage,) = told.outages
    assert outage.begin_s == pytest.approx(4, abs=0.1)
    assert outage.earliest_end_s <= 8 <= outage.latest_end_s + 0.1
    scenario = told.scenario.model_dump()["network"]
    assert scenario["trunk_loss"] == {"kind": "none"}
    assert scenario["path"]["outages"]["arriving"] == scenario["path"]["outages"]["waiting"] == fate


@pytest.mark.parametrize(
    ("path", "loss", "duration"),
    [
        ({"kind": "moving"}, {"kind": "bernoulli", "probability": 0.2}, "60 s"),
        ({"kind": "moving", "outages": {"intervals": [["4 s", "8 s"]]}}, "none", "8 s"),
    ],
)
def test_lost_retransmissions_and_the_end_of_a_capture_are_no_outages(
    path: dict[str, object], loss: object, duration: str, tmp_path: Path
) -> None:
    network = {"kind": "dumbbell", "trunk_rate": "8 Mbit/s", "trunk_delay": "20 ms", "trunk_loss": loss, "path": path}
    scenario = Scenario.model_validate({"duration": duration, "network": network, "switch": {"buffer": "60 packets"}})
    simulate(scenario, captures={"host:source1": str(tmp_path / "flow.pcapng")})
    observed = observe(tmp_path / "flow.pcapng")
    told = report(fit(observed, ["cubic"]))
    assert told.outages == ()
    assert any("an outage of the path, or lost retransmissions?" in doubt for doubt in told.doubts)
    # Every random loss has a cause, and those without a later ACK have none.
    causes = features(observed)
    if loss == "none":
        assert not causes.elsewhere.any()
    else:
        assert int((causes.overflow | causes.elsewhere).sum()) == int(observed.sent_lost.sum()) > 300


def test_fit_writes_only_requested_files(tmp_path: Path) -> None:
    capture = Path(__file__).parent / "data" / "measured" / "linux-cubic-25ms.pcap.gz"
    done = run("fit", str(capture), "--controls", "cubic", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no file was written; add -o PATH.toml" in done.stdout
    assert list(tmp_path.iterdir()) == []
