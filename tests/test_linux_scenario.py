"""Scenarios converted to cases for user-mode Linux: `longpipe validate linux scenario`."""

from pathlib import Path
from typing import Any

import pytest

from commands import PLAIN
from commands import run as run_command
from linux_guest import kernel
from longpipe import Scenario, ScenarioError
from longpipe.units import TIME
from longpipe_evidence.validate.linux import LinuxCase, LinuxRun, run_each
from longpipe_evidence.validate.linux_compare import LONGER_PS
from longpipe_evidence.validate.linux_compare import scenario as as_scenario
from longpipe_evidence.validate.linux_scenario import case_of

LINK = """
name = "link"
duration = "6 s"
framing = "ip"

[network]
kind = "dumbbell"
sources = 1
access_rate = "100 Mbit/s"
trunk_rate = "5 Mbit/s"
trunk_delay = "2 ms"

[switch]
buffer = "100 ms"

[tcp]
profile = "linux-6"
"""
STEP: dict[str, Any] = {"between": "hold", "delay": [["0 s", "2 ms"], ["1.234 s", "60 ms"]]}
JITTER: dict[str, Any] = {"kind": "jitter", "delay": "20 ms", "jitter": "10 ms", "order": "fifo"}


def link(**changes: Any) -> Scenario:  # noqa: ANN401 - values of fields
    return Scenario.from_toml(LINK, {name.replace("__", "."): value for name, value in changes.items()})


def ps(time: str) -> int:
    return TIME.parse(time)


# The minimum RTT of a full packet of 1500 bytes and its ACK of 52 bytes: four delays of 5 us and two of the trunk; and
# for each of the two packets, two transmissions at 100 Mbit/s and one at 5 Mbit/s.
RTT_PS = 4 * 5_000_000 + 2 * ps("2 ms") + 8 * (1500 + 52) * (2 * 10_000 + 200_000)


def test_a_scenario_becomes_a_path_with_its_rate_rtt_and_buffer() -> None:
    case = case_of(link())
    # The rate is 5 Mbit/s for packets of 1500 bytes, which have 1514 bytes with Ethernet's header.
    assert case.rate == f"{-(-5_000_000 * 1514 // 1500)} bit/s"
    assert ps(case.round_trip) == pytest.approx(RTT_PS, abs=1000)
    # A buffer of 100 ms is 41 packets, and Linux does not count the one in transmission.
    assert (case.buffer, case.discipline) == (40, "pfifo")
    # Linux's connections exist from the start, but the scenario's connections exist only after an RTT.
    assert [(flow.control, ps(flow.start)) for flow in case.flows] == [("cubic", ps(case.round_trip))]
    # It is also the minimum RTT of the scenario that is compared with the case.
    found = as_scenario(case).resolved
    flow, links = found["flows"][0], found["links"]
    ways = [links[place] for place in (*flow["route"], *flow["return_route"])]
    sizes = [1500] * 3 + [52] * 3
    total = sum(one["delay_ps"] + 8 * size * 10**12 // one["rate_bps"] for one, size in zip(ways, sizes, strict=True))
    assert total == pytest.approx(RTT_PS + LONGER_PS, abs=1_000_000)


def test_changes_over_time_are_those_of_both_directions() -> None:
    case = case_of(link(network__path={**STEP, "rate": [["0 s", "5 Mbit/s"], ["2 s", "10 Mbit/s"]]}))
    # Instants are rounded to multiples of 20 ms, because the guest can change its path only then.
    assert [ps(at) for at, _ in case.round_trips] == [ps("1.24 s"), ps("2 s")]
    assert ps(case.round_trips[0][1]) - ps(case.round_trip) == 2 * ps("58 ms")
    # At twice the rate, a packet's transmission takes 1.2 ms less.
    assert ps(case.round_trips[0][1]) - ps(case.round_trips[1][1]) == pytest.approx(ps("1.2 ms"), abs=1000)
    assert case.rates == (("2000000000000 ps", "10093334 bit/s"),)
    one_way = case_of(link(network__path=STEP, network__return_path={"kind": "moving"}))
    assert ps(one_way.round_trips[0][1]) - ps(one_way.round_trip) == ps("58 ms")


def test_queues_losses_jitter_and_hystart_are_translated() -> None:
    fields = {"kind": "codel", "target": "10 ms", "interval": "50 ms"}
    case = case_of(link(switch__policy=fields, network__trunk_loss={"kind": "packets", "indices": [3, 8]}))
    assert (case.discipline, case.lose) == ("codel target 10000us interval 50000us noecn", (3, 8))
    assert case_of(link(switch__policy="pie")).discipline == "pie target 15000us tupdate 15000us"
    case = case_of(link(network__conditioners=[JITTER], tcp__congestion={"kind": "cubic", "hystart": "none"}))
    assert case.jitter is not None
    assert [ps(one) for one in case.jitter] == [ps("20 ms"), ps("10 ms")]
    assert (case.hystart, case_of(link()).hystart) == (False, True)
    found = as_scenario(case)
    bucket, jitter = found.resolved["links"][2]["conditioners"]
    assert bucket["kind"] == "tbf"
    assert [jitter] == link(network__conditioners=[JITTER]).resolved["links"][2]["conditioners"]
    assert found.resolved["flows"][0]["tcp"]["congestion"]["hystart"] == "none"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tcp__congestion": "ledbat"}, "tcp.congestion: ledbat; Linux's are reno, cubic"),
    ({"tcp__congestion": {"kind": "cubic", "beta": 0.5}}, "tcp.congestion: differs from profile = 'linux-6'"),
    ({"tcp__congestion": {"kind": "cubic", "hystart": "search"}}, "tcp.congestion.hystart: search"),
    ({"tcp": {}}, "tcp.congestion: aimd; Linux's are reno, cubic"),
    ({"tcp__handshake": False}, "tcp.handshake: differs from profile = 'linux-6'"),
    ({"tcp__receiver_window": "20 KB"}, "tcp.receiver_window_bytes: differs from profile = 'linux-6'"),
    ({"network__return_rate": "400 kbit/s"}, "network.return_rate: 400000 bit/s"),
    ({"network__return_access": {"kind": "dvb-rcs2"}}, "network.return_access: present; Linux's path has none"),
    ({"network__access_rate": "1 Mbit/s"}, "network.access_rate: below network.trunk_rate"),
    ({"network__return_loss": {"kind": "bernoulli", "probability": 0.1}}, "network.return_loss: bernoulli"),
    ({"network__path": {**STEP, "between": "linear"}}, "network.path.between: linear"),
    ({"network__path": {**STEP, "order": "free"}}, "network.path.order: free"),
    ({"network__conditioners": [{**JITTER, "order": "free"}]}, "network.conditioners.order: free"),
    ({"network__conditioners": [{**JITTER, "distribution": "normal"}]}, "network.conditioners.distribution: a table"),
    ({"network__send_jitter": "1 ms"}, "network.send_jitter: above 0"),
    ({"switch__policy": "fq"}, "switch.policy: fq"),
    ({"switch__policy": {"kind": "codel", "ecn": True}}, "switch.policy.ecn: true"),
    ({"traffic": {"kind": "transfer", "size": "1 MB"}}, "traffic: transfer; needs greedy"),
    ({"start": {"kind": "random", "over": "1 s"}}, "start: random"),
    ({"network__group": [{"name": "a"}, {"name": "b", "access_delay": "9 ms"}]}, "network.group: "),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=lambda one: one if isinstance(one, str) else "")
def test_a_scenario_that_linuxs_path_lacks_is_rejected_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        case_of(link(**changes))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_the_command_rejects_a_file_before_it_starts_linux(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(LINK.replace('"ip"', '"aal5"'))
    done = run_command("validate", "linux", "scenario", "a.toml", cwd=tmp_path, environment=PLAIN)
    assert done.returncode == 2
    assert "a.toml: framing: aal5; Linux's path needs ip" in done.stderr


@kernel
def test_bbr_over_a_path_that_becomes_longer_has_the_goodput_of_linux(tmp_path: Path) -> None:
    """The command compares both simulators; the correct value is that of the kernel."""
    for name in ("bbr", "cubic"):
        changed = link(tcp__congestion=name, network__path=STEP)
        (tmp_path / f"{name}.toml").write_text(changed.to_toml())
    done = run_command(
        "validate", "linux", "scenario", "bbr.toml", "cubic.toml", "--seeds", "2", cwd=tmp_path, environment=PLAIN
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.startswith("bbr.toml, bbr: ")
    assert second.startswith("cubic.toml, cubic: ")
    assert last == "all agree: 10%; means of 2 runs with their range, differences with 95 % intervals"


@kernel
def test_jitter_after_the_bottleneck_ends_slow_start_with_hystart() -> None:
    path: dict[str, Any] = {"rate": "20 Mbit/s", "round_trip": "100 ms", "buffer": 2000, "duration": "2 s"}
    cases = [LinuxCase(**path, jitter=("30 ms", "30 ms"), hystart=hystart) for hystart in (True, False)]
    with_hystart, without = run_each(cases, seed=1)

    def least_ssthresh(of: LinuxRun) -> int:
        return int(of.of(0)["ssthresh"].min())

    assert [one.queue_drops for one in (with_hystart, without)] == [0, 0]
    assert least_ssthresh(with_hystart) < 200
    # TCP_INFINITE_SSTHRESH
    assert least_ssthresh(without) == 0x7FFFFFFF
    # The shortest RTT contains a part of the jitter, which is between 0 and 60 ms.
    assert 100 <= with_hystart.of(0)["min_rtt_us"].iloc[-1] / 1000 < 130
