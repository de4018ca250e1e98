"""`longpipe fit` of captures of Linux 6.1 over known paths, and `longpipe whatif`."""

import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import run
from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.fit import PathFit, fit, observe
from longpipe.fit.features import _overflow as overflow
from longpipe.fit.path_file import read, write
from longpipe.fit.path_fit import Candidate
from longpipe.fit.reported import estimates, report, scenario
from longpipe.fit.series import TRACES, observed, simulated
from longpipe.fit.whatif import whatif
from longpipe.measured.headers import Segment, name_of, segment_of
from longpipe.measured.pcap import CaptureFile
from longpipe.units import RATE

DATA = Path(__file__).parent / "data" / "measured"
# The first seconds in user-mode Linux 6.1.176, from `longpipe validate linux path --pcap`. A token bucket counts Ethernet
# headers.
LOSSY = DATA / "linux-cubic-215ms.pcap.gz"
SHORT = DATA / "linux-cubic-25ms.pcap.gz"
IP_SHARE = 1500 / 1514
CONTROLS = ("cubic", "linux-reno", "bic", "vegas", "illinois")


def longpipe(*arguments: str) -> str:
    """Runs the command; returns its output."""
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def lossy() -> PathFit:
    """Returns a capture over a path of 5.7 Mbit/s, 215 ms, 51 packets and losses of 0.14 %; the run takes 20 s."""
    return fit(observe(LOSSY), CONTROLS)


def test_rate_and_base_rtt_are_those_of_the_path(lossy: PathFit) -> None:
    rate, base = lossy.features.rate_bps, lossy.features.base_rtt_s
    assert rate is not None
    assert rate.value == pytest.approx(5.7e6 * IP_SHARE, rel=1e-4)
    assert 5.7e6 * IP_SHARE in rate
    assert base.value == pytest.approx(0.215, abs=1e-5)
    assert 0.215 in base


def test_random_losses_are_distinguished_from_a_full_queue(lossy: PathFit) -> None:
    # The guest's counters at 20 s show the losses of the first overflow, and 8 losses by packet number.
    assert lossy.features.buffer is not None
    assert lossy.features.buffer.value == 51
    assert int(lossy.features.overflow.sum()) == 140
    assert int(lossy.features.elsewhere.sum()) == 8
    assert 0.0014 in lossy.loss_probability


def test_fit_recognizes_cubic(lossy: PathFit) -> None:
    shares = lossy.control_shares()
    assert next(iter(shares)) == "cubic"
    assert shares["cubic"] > 0.95
    assert lossy.best.distance < 0.1
    assert lossy.best.queue == "tail-drop"


def test_a_capture_that_no_candidate_explains_is_reported(lossy: PathFit) -> None:
    assert report(lossy).doubts == ()
    far = replace(lossy, senders=tuple(replace(one, distance=0.6) for one in lossy.senders), queues=())
    (doubt,) = report(far).doubts
    assert "no candidate explains the capture: the best one's data in flight differ by 60%" in doubt


def test_similar_queues_are_listed_with_the_likeliest(lossy: PathFit) -> None:
    """The most likely setting of RED is closer than tail drop, but the mean of both settings is not."""
    first = lossy.best.series
    other = replace(first, in_flight=2 * first.in_flight)

    def red(least: int, distance: float) -> Candidate:
        return Candidate(lossy.best.hypothesis.with_(policy={"kind": "red", "min": least}), "red", distance, other)

    tail_drop = Candidate(lossy.best.hypothesis, "tail-drop", 0.1, first)
    pie = Candidate(lossy.best.hypothesis, "pie", 0.2, other)
    found = replace(lossy, queues=(red(2, 0.09), tail_drop, pie, red(3, 1.0)))
    assert next(iter(found.queue_shares())) == "tail-drop"
    assert found.same_queues == ()
    alone = replace(lossy, queues=(red(2, 0.09), tail_drop, pie))
    assert next(iter(alone.queue_shares())) == "red"
    assert alone.same_queues == ("pie",)


def test_loss_below_the_longest_queue_is_not_an_overflow() -> None:
    """A loss shortens the queue soon after, so a random one is often near the maximum, but the queue still grows."""
    queue = np.concatenate([np.linspace(0, 110, 5000), np.linspace(60, 90, 5000)])
    lost = np.zeros(len(queue), bool)
    lost[np.searchsorted(queue[:5000], 105.0)] = True
    assert not overflow(queue, lost)[1].any()
    # The same queue with a limit, at which 20 packets are lost.
    limited = np.minimum(queue, 105.0)
    lost[np.flatnonzero(limited == 105.0)[-20:]] = True
    assert overflow(limited, lost)[1].sum() == lost.sum()


def test_disciplines_with_the_same_simulation_count_as_one(lossy: PathFit) -> None:
    first = lossy.best.series

    def candidate(queue: str, distance: float, times: float) -> Candidate:
        series = replace(first, in_flight=times * first.in_flight)
        return Candidate(lossy.best.hypothesis.with_(policy={"kind": queue}), queue, distance, series)

    queues = (candidate("red", 0.1, 2), candidate("codel", 0.11, 3), candidate("fq-codel", 0.11, 3))
    found = replace(lossy, queues=queues)
    assert list(found.queue_shares()) == ["codel", "fq-codel", "red"]
    assert found.same_queues == ("fq-codel",)
    assert list(replace(lossy, queues=queues[:2]).queue_shares()) == ["red", "codel"]


def test_almost_always_full_queue_is_not_an_aqm() -> None:
    found = fit(observe(SHORT), ("cubic",))
    assert found.best.queue == "tail-drop"
    assert found.features.buffer is not None
    assert found.features.buffer.value == 52
    assert found.features.rate_bps is not None
    assert found.features.rate_bps.value == pytest.approx(8.8e6 * IP_SHARE, rel=1e-4)


def test_fitted_scenario_runs_and_contains_the_estimates(lossy: PathFit, tmp_path: Path) -> None:
    path = tmp_path / "path.toml"
    beside = write(report(lossy), path)
    assert beside == tmp_path / "path.fit.json"
    told = read(path)
    assert told is not None
    assert told["estimates"] == json.loads(json.dumps(estimates(lossy)))
    assert RATE.parse(scenario(lossy).model_dump()["network"]["trunk_rate"]) == pytest.approx(
        5.7e6 * IP_SHARE, rel=1e-4
    )
    assert path.read_text().startswith("# Fitted by longpipe to ")
    found = whatif(path, {"tcp.congestion": "bbr"}, seeds=3)
    goodput, rtt, _ = found.measures
    # The results of Linux's BBR over this path are 5.3052 Mbit/s and 225.5 ms.
    assert goodput.changed[0] == pytest.approx(5.3052e6, rel=0.05)
    assert rtt.changed[0] == pytest.approx(0.2255, rel=0.1)
    assert goodput.difference[0] == pytest.approx(goodput.changed[0] - goodput.baseline[0])
    seen = lossy.observation
    late = seen.ack_s > seen.duration_s / 3
    expected = 8 * np.ptp(seen.ack_delivered[late]) / np.ptp(seen.ack_s[late])
    assert goodput.observed == pytest.approx(expected, rel=0.02)
    again = whatif(path, {"tcp.congestion": "bbr"}, seeds=3)
    assert again.measures == found.measures


def test_fitted_scenario_keeps_known_fields(lossy: PathFit) -> None:
    known = replace(lossy, fixed={"tcp.hz": 1000})
    assert scenario(known).tcp.hz == 1000
    assert scenario(lossy).tcp.hz == 250


def test_the_handshake_and_the_time_after_it_are_those_of_the_capture(tmp_path: Path) -> None:
    file = DATA / "sender.pcap.gz"
    found = observe(file)
    assert found.handshake_s == pytest.approx(0.0406, abs=1e-4)
    assert found.idle_s < 1e-3
    late = bytearray(gzip.decompress(file.read_bytes()))
    segments = [segment_of(one.link_type, one.data, one.length) for one in CaptureFile("", bytes(late)).packets()]
    source, target = found.flow.split(" > ")
    first = next(
        number
        for number, one in enumerate(segments)
        if isinstance(one, Segment) and one.length and (name_of(one.source), name_of(one.target)) == (source, target)
    )
    # The first data packet and all later packets are delayed by 2 s.
    place = 24
    for number in range(len(segments)):
        seconds, _, captured, _ = struct.unpack_from("<4I", late, place)
        struct.pack_into("<I", late, place, seconds + 2 * (number >= first))
        place += 16 + captured
    (tmp_path / "late.pcap").write_bytes(late)
    later = observe(tmp_path / "late.pcap")
    assert later.handshake_s == found.handshake_s
    assert later.idle_s == pytest.approx(found.idle_s + 2)
    path = scenario(fit(later, ("bbr",)))
    assert path.tcp.preconnect.startswith("20000")
    assert path.tcp.initial_rtt.startswith("4059")
    assert scenario(fit(found, ("bbr",))).tcp.preconnect == "0 s"


def test_an_unknown_field_is_rejected_before_the_search() -> None:
    with pytest.raises(ScenarioError, match=r"tcp.hzz: unknown field"):
        fit(observe(SHORT), ("cubic",), {"tcp.hzz": 1000})


@pytest.mark.parametrize("framing", ["aal5", "ip"])
def test_two_settings_are_compared_over_any_scenario(framing: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(f"framing = '{framing}'\nduration = '1 s'\n[network]\nkind = 'dumbbell'\nsources = 2\n")
    found = whatif(path, {"switch.buffer": "10 packets" if framing == "ip" else "100 cells"}, 3)
    goodput, _, losses = found.measures
    assert losses.unit == ("packets" if framing == "ip" else "cells")
    assert losses.difference[0] == pytest.approx(losses.changed[0] - losses.baseline[0])
    assert goodput.baseline[0] > 0.0


def test_series_are_those_of_the_first_flow() -> None:
    fields = {"framing": "ip", "duration": "1 s", "traces": {"sequence": True, "rtt": True, "drops": True}}
    result = simulate(Scenario(defaults="1996").with_(**fields, **{"network.sources": 2}))
    rtt = result.traces["rtt"]
    own = rtt.loc[rtt["flow"] == result.flows["flow"][0], "rtt_s"].dropna()
    assert simulated(result, 1.0).samples.tolist() == own.tolist()


def test_a_capture_and_the_trace_of_one_run_have_the_same_series(tmp_path: Path) -> None:
    """Delayed ACKs and SACK blocks count equally on both sides, and so do losses at the queue and on the link."""
    network = {
        "kind": "dumbbell", "sources": 1, "trunk_rate": "1.3 Mbit/s", "trunk_delay": "20 ms",
        "trunk_loss": {"kind": "packets", "indices": [500, 1500]},
    }  # fmt: skip
    tcp = {"profile": "linux-6", "congestion": "cubic", "handshake": False, "initial_rtt": "40 ms"}
    path = Scenario(defaults="1996", framing="ip", duration="30 s").with_(
        network=network, tcp=tcp, **{"switch.buffer": "40 packets"}, **TRACES
    )
    (tmp_path / "path.toml").write_text(path.to_toml())
    capture = tmp_path / "sender.pcapng"
    longpipe("run", str(tmp_path / "path.toml"), "--capture", f"host:source1={capture}")
    seen = observe(capture)
    one, other = observed(seen, seen.duration_s), simulated(simulate(path), seen.duration_s)
    assert one.lost == other.lost > 2
    assert np.median(one.rtt[100:]) == pytest.approx(np.median(other.rtt[100:]), rel=1e-3)
    # An ACK may be on either side of a point in time.
    assert np.abs(one.in_flight - other.in_flight).max() <= 3 * seen.mss
    assert np.abs(one.delivered - other.delivered).max() <= 3 * seen.mss


def test_a_scenario_without_tcp_has_neither_goodput_nor_rtt(tmp_path: Path) -> None:
    path = tmp_path / "voice.toml"
    traffic = {"kind": "cbr", "rate": "1 Mbit/s"}
    path.write_text(
        Scenario(
            defaults="1996", framing="ip", duration="1 s", traffic=traffic, switch={"buffer": "9 packets"}
        ).to_toml()
    )
    goodput, rtt, losses = whatif(path, {"switch.buffer": "20 packets"}, 3).measures
    assert np.isnan([*goodput.changed, *rtt.changed]).all()
    assert losses.changed == (0.0, 0.0)


@pytest.mark.parametrize("control", ["bbr", "scalable"])
def test_fit_recognizes_controls_in_simulated_captures(control: str, tmp_path: Path) -> None:
    text = f"""
        framing = "ip"
        duration = "15 s"
        [network]
        kind = "dumbbell"
        sources = 1
        trunk_rate = "8 Mbit/s"
        trunk_delay = "20 ms"
        [switch]
        buffer = "40 packets"
        [tcp]
        profile = "linux-6"
        congestion = "{control}"
    """
    (tmp_path / "path.toml").write_text(text)
    capture = tmp_path / "sender.pcapng"
    longpipe("run", str(tmp_path / "path.toml"), "--capture", f"host:source1={capture}")
    found = fit(observe(capture), ("bbr", "scalable", "cubic", "linux-reno"))
    assert next(iter(found.control_shares())) == control
    assert found.features.rate_bps is not None
    assert found.features.rate_bps.value == pytest.approx(8e6, rel=0.01)


def test_commands_name_known_fields(tmp_path: Path) -> None:
    path, picture = tmp_path / "p.toml", tmp_path / "p.png"
    printed = longpipe("fit", str(LOSSY), "-o", str(path), "--controls", "cubic,linux-reno")
    assert "5.6473 Mbit/s" in printed
    # The buffer is that of the scenario, including the packet in transmission.
    assert "52 packets (51 to 54)" in printed
    assert Scenario.from_toml(path).switch.buffer == "52 packets"
    assert "cubic 100%" in printed
    asked = ("whatif", str(path), "--set", "switch.policy=fq-codel", "--seeds", "3", "-o", str(picture))
    printed = longpipe(*asked)
    assert "observed" in printed
    assert "difference" in printed
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("path.toml", "not pcap or pcapng; a fit needs a capture"),
        ("short.pcap", "RTT samples; a fit needs 200: capture a longer transfer"),
    ],
)
def test_unusable_files_are_rejected_in_one_line(file: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text("duration = '1 s'\n")
    (tmp_path / "short.pcap").write_bytes(gzip.decompress(LOSSY.read_bytes())[:40_000])
    with pytest.raises(ScenarioError, match=said) as caught:
        observe(tmp_path / file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "seeds", "said"),
    [
        ({}, 20, "--set: missing; accepts FIELD=VALUE"),
        ({"tcp.congestion": "cubic"}, 2, "--seeds: 2; needs at least 3"),
        ({"tcp.congestio": "cubic"}, 3, "congestion"),
    ],
)
def test_invalid_change_is_rejected(changes: dict[str, object], seeds: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("framing = 'ip'\nduration = '1 s'\n")
    with pytest.raises(ScenarioError, match=said):
        whatif(path, changes, seeds)


def test_broken_estimates_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("framing = 'ip'\nduration = '1 s'\n")
    for text in ("{}", '{"format": 1, "estimates": {}}'):
        (tmp_path / "p.fit.json").write_text(text)
        with pytest.raises(ScenarioError, match=r"p.fit.json: not estimates of longpipe fit"):
            whatif(path, {"tcp.congestion": "cubic"}, 3)
