"""Real programs over a path.

The tests check decisions, exit and cleanup, but no properties that depend on the machine's load.
"""

import json
import re
import struct
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from commands import run
from live_programs import ASK, IDLE, SERVE, counted, live, python
from longpipe import Scenario, ScenarioError
from longpipe.live import Settings, plan, replay
from longpipe.live import run as run_programs
from longpipe.live.link_log import entries
from longpipe.live.measures import kills, replays
from longpipe.live.records import MAGIC, read
from longpipe_evidence.validate.kernel import available, compare
from thorough import one_in


def test_a_host_is_real_or_simulated() -> None:
    scenario = Scenario.from_toml(IDLE).with_(**{"network.sources": 3})
    path = plan(scenario, ("sink2", "source2"))
    assert [host.name for host in path.hosts] == ["sink2", "source2"]
    flows = json.loads(path.resolved_json)["flows"]
    assert path.simulated == ("flow1", "flow3")
    assert [flow["name"] for flow in flows if not flow.get("foreign")] == ["flow1", "flow3"]


def test_hosts_have_the_addresses_of_captures() -> None:
    path = plan(Scenario.from_toml(IDLE))
    assert [(host.name, host.address, host.address_6) for host in path.hosts] == [
        ("source1", "10.0.0.1", "fd00::1"),
        ("sink1", "10.0.0.5", "fd00::5"),
    ]
    assert (path.mtu, path.has_ipv6) == (1500, True)
    assert plan(Scenario.from_toml(IDLE), alone=True).simulated == ()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--at", "sink9", "true"],
            "--at: 'sink9'; not there, did you mean 'sink2'? accepts source1, source2, sink1, sink2",
        ),
        (["--at", "switch1", "true"], "--at: 'switch1'; a switch, accepts source1"),
        (
            ["--at", "source1", "true", "--at", "sink2", "true"],
            "--at: 'source1'; no flow connects it with sink2: needs one, for its route",
        ),
        (
            ["--at", "source1", "true", "--at", "source1", "true"],
            "--at: 'source1' twice; needs one command for each host",
        ),
        (
            ["--at", "source1", "true", "--", "true"],
            "COMMAND: 'true' after -- runs at source1, the first flow's sender, as does a command of --at",
        ),
        (
            ["--at", "source1", "ping", "sink1"],
            "--at: source1 'ping', then 'sink1'; needs quotes around a command: --at source1 'ping sink1', or -- before",
        ),
        (["--wait-for", "sink1", "--", "true"], "--wait-for: 'sink1'; needs HOST:PORT, as in sink1:5201"),
        (
            ["--wait-for", "sink1:80", "--", "true"],
            "--wait-for: 'sink1', where no command starts before the first one; needs a second --at",
        ),
        (
            ["--wait-for", "sink9:80", "--at", "source1", "true", "--at", "sink1", "true"],
            "--wait-for: 'sink9', where no command starts before the first one; did you mean 'sink1'? accepts sink1",
        ),
        (["--at", "source1"], "--at: 'source1'; needs a host and its command, as in --at sink1 'iperf3 -s'"),
        (["--mtu", "70000", "--", "true"], "--mtu: 70000; needs 68 to 65535 bytes"),
        (["--set", "switch.buffer=400 B", "--mtu", "1500", "--", "true"], "needs at least one full packet"),
        (["--max-late", "soon", "--", "true"], "--max-late: 'soon'"),
        (["--record", "/", "--", "true"], "--record: /"),
    ],
)
def test_bad_input_is_rejected_in_one_line(idle: str, arguments: list[str], line: str) -> None:
    done = run("live", idle, *arguments)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--record", "--capture"])
def test_record_does_not_create_directories(idle: str, tmp_path: Path, option: str) -> None:
    folder = tmp_path / "nowhere"
    done = run("live", idle, option, str(folder / "a"), "--", "true")
    assert done.returncode == 2
    assert done.stderr == f"error: {option}: {folder}/a: {folder} does not exist; needs an existing directory\n"
    assert not folder.exists()


def test_a_seed_of_more_than_64_bits_is_refused() -> None:
    path = plan(Scenario.from_toml(IDLE), ("source1", "sink1"))
    with pytest.raises(ScenarioError, match="seed: 18446744073709551616; needs a whole number from 0 to"):
        run_programs(path, {"source1": ["true"]}, seed=2**64)


def test_missing_path_is_rejected_in_one_line() -> None:
    done = run("live", "nowhere.toml", "--", "true")
    assert done.returncode == 2
    assert done.stderr == "error: nowhere.toml: cannot be read, no such file or directory; needs a TOML file\n"


def test_records_of_others_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "a.live"
    for content, line in [
        (b"nothing", "not a record; needs one of longpipe live --record"),
        (MAGIC + b"9\n", "record version 9; this longpipe reads version 1"),
        (MAGIC + b"1\nab", "incomplete header; needs a complete record"),
    ]:
        file.write_bytes(content)
        done = run("live", "replay", str(file))
        assert (done.returncode, done.stderr) == (2, f"error: {file}: {line}\n")


@pytest.mark.usefixtures("namespaces")
def test_the_exit_status_is_the_commands(idle: str) -> None:
    assert live(idle, "--", "true").returncode == 0
    assert live(idle, "--", "sh", "-c", "exit 7").returncode == 7
    assert live(idle, "--", "sh", "-c", "kill -9 $$").returncode == 137
    done = live(idle, "--quiet", "--", "no-such-program")
    assert done.returncode == 127
    assert done.stderr == "longpipe live: no-such-program: cannot be run, no such file or directory\n"
    assert live(idle, "--quiet", "--", "/etc/passwd").returncode == 126


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("ipv6", "way"),
    one_in(
        2,
        list(product([[], ["6"]], [["--device", "any"], ["--device", "packet"], ["--device", "packet", "--as-user"]])),
    ),
)
def test_packets_are_never_early_in_either_direction(
    idle: str, tmp_path: Path, way: list[str], ipv6: list[str]
) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    found = counted(
        tmp_path, idle, *way, "--alone",
        "--at", "source1", f"{ask} sink1 5000 5 {' '.join(ipv6)}", "--at", "sink1", f"{serve} 5000 {' '.join(ipv6)}",
    )  # fmt: skip
    times = [float(line) for line in found["stdout"].split()]
    assert len(times) == 5
    assert min(times) >= 0.020
    assert (found["entered"], found["delivered"]) == (10, 10)
    assert found["on_path"] == 0


@pytest.mark.usefixtures("namespaces")
def test_replay_of_a_record_repeats_its_decisions(idle: str, tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    record = tmp_path / "a.live"
    found = counted(
        tmp_path, idle, "--set", "network.trunk_loss={kind='bernoulli', probability=0.0}", "--record", str(record),
        "--at", "source1", f"{ask} sink1 5000 20", "--at", "sink1", f"{serve} 5000",
    )  # fmt: skip
    again = replay(record)
    assert again.agrees
    assert again.decisions == found["decisions"]
    assert (again.entered, again.delivered) == (found["entered"], found["delivered"]) == (40, 40)
    assert min(again.delay_s.values(), key=lambda value: value or 0) == pytest.approx(0.010, rel=0.05)
    other = replay(record, **{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.5}})
    assert other.lost["injected_loss"] > 0
    assert not other.agrees
    shown = run("live", "replay", str(record))
    assert shown.returncode == 0
    assert "every decision equals that of the recorded run" in shown.stdout
    assert "delay from source to sink: median 10" in shown.stdout
    assert "delay from sink to source: median 10" in shown.stdout
    assert {*again.delay_by_direction_s} == {"forward", "back"}
    assert max(one["1"] or 0 for one in again.delay_by_direction_s.values()) == again.delay_s["1"]
    assert read(record).hosts == ("source1", "sink1")


FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
s2 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s2.settimeout(60)
s2.bind(("", 5002))
for n in range(400):
    s.sendto(b"x" * 1000, ("sink1", 5000))
print(s2.recv(100).decode())
"""
COUNT = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.setsockopt(socket.IPPROTO_IP, 13, 1)  # IP_RECVTOS
s.bind(("", 5000))
s.settimeout(3)
got = marked = 0
try:
    while True:
        data, more, *_ = s.recvmsg(2000, 100)
        s.settimeout(1)
        got += 1
        marked += any(value[0] & 3 == 3 for level, kind, value in more if (level, kind) == (0, 1))
except TimeoutError:
    pass
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    out.sendto(f"{got} {marked}".encode(), ("source1", 5002))
    time.sleep(0.2)
"""


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    ("policy", "buffer"), [("{kind='tail-drop'}", "20 packets"), ("{kind='step-marking', threshold=5}", "1000 packets")]
)
def test_losses_and_marks_of_the_path_reach_the_receiver(idle: str, tmp_path: Path, policy: str, buffer: str) -> None:
    flood, count = python(tmp_path, "flood", FLOOD), python(tmp_path, "count", COUNT)
    found = counted(
        tmp_path, idle, "--alone", "--set", f"switch.policy={policy}", "--set", f"switch.buffer={buffer}",
        "--set", "network.trunk_rate=2 Mbit/s",
        "--at", "source1", flood, "--at", "sink1", count,
    )  # fmt: skip
    got, marked = map(int, found["stdout"].split())
    if "tail-drop" in policy:
        assert found["lost"]["overflow"] == 400 - got > 0
        assert marked == 0
    else:
        assert (got, found["lost"]["overflow"]) == (400, 0)
        assert marked == found["marked"] > 0


@pytest.mark.usefixtures("namespaces")
def test_simulated_flows_share_the_path(idle: str, tmp_path: Path) -> None:
    found = counted(tmp_path, idle, "--", "sleep", "1")
    ports = dict(zip(found["ports"]["port"], found["ports"]["packets_out"], strict=True))
    assert found["entered"] == 0
    assert ports["switch1->switch2"] > 0


@pytest.mark.usefixtures("namespaces")
def test_real_packets_wait_for_grants(idle: str, tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    record = tmp_path / "a.live"
    access = "network.access={kind = 'cellular', direction = 'up', request_period = '10 ms', block_error = 0.0}"
    found = counted(
        tmp_path, idle, "--alone", "--set", access, "--record", str(record), "--wait-for", "sink1:5000",
        "--at", "source1", f"{ask} sink1 5000 5", "--at", "sink1", f"{serve} 5000",
    )  # fmt: skip
    assert (found["entered"], found["delivered"]) == (10, 10)
    # Two delays of 10 ms; and the request's slot, decoding, and a slot of the uplink, at least 4.5 ms.
    assert min(float(line) for line in found["stdout"].split()) >= 0.0245
    again = replay(record)
    assert again.agrees
    assert again.decisions == found["decisions"]


@pytest.mark.usefixtures("namespaces")
def test_real_packets_travel_as_cells(tmp_path: Path) -> None:
    file = tmp_path / "atm.toml"
    file.write_text(IDLE.replace('framing = "ip"', 'framing = "aal5"').replace("1000 packets", "3000 cells"))
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    record = tmp_path / "a.live"
    found = counted(
        tmp_path, str(file), "--record", str(record),
        "--at", "sink1", f"{serve} 5000", "--", *f"{ask} sink1 5000 5".split(),
    )  # fmt: skip
    assert found["delivered"] == 10
    assert replay(record).agrees


@pytest.mark.usefixtures("namespaces")
def test_capture_has_packets_that_entered_left_and_were_lost(idle: str, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    found = counted(
        tmp_path, idle, "--alone", "--set", "switch.buffer=5 packets", "--set", "network.trunk_rate=2 Mbit/s",
        "--capture", str(capture),
        "--at", "source1", f"{sys.executable} -m longpipe.live.programs talk sink1 9 60",
        "--at", "sink1", f"{sys.executable} -m longpipe.live.programs ignore 9",
    )  # fmt: skip
    lost = found["lost"]["overflow"]
    assert lost > 0
    content = capture.read_bytes()
    assert content.count(b"lost at switch1->switch2, overflow") == lost
    assert content.count(b" on the path") == found["entered"]
    # The block lengths add up to the length of the file.
    place, packets = 0, 0
    while place < len(content):
        kind, length = struct.unpack_from("<II", content, place)
        packets += kind == 6
        place += length
    assert place == len(content)
    # Each host has one interface, at which each of its packets appears once.
    names = [content.index(name) for name in (b"source1", b"sink1", b"lost")]
    assert names == sorted(names)
    found_at = Counter(entry.interface for entry in entries(capture))
    times = [entry.at_ms for entry in entries(capture)]
    assert times == sorted(times)
    assert found_at == {0: found["entered"], 1: found["delivered"], 2: lost}
    assert packets == found["entered"] + found["delivered"] + lost


@pytest.mark.usefixtures("namespaces")
def test_live_measures_state_value_and_requirement() -> None:
    done = live("measure", "echo", "--seconds", "0.5")
    assert re.match(r"echo, 10 \+ 10 ms: (19\.9|2\d\.)\d+ ms of 10 echoes; asked 20.0 to 20.1 ms", done.stdout), (
        done.stderr
    )
    assert done.returncode == (0 if "reached" in done.stdout else 1)
    done = run("live", "measure", "echos")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did you mean 'echo'?" in done.stderr
    assert replays(Settings(), 2).is_met
    assert kills(Settings(), 4).is_met


@pytest.mark.usefixtures("namespaces")
def test_kernel_tcp_matches_simulated_tcp() -> None:
    found = compare(available()[0], duration="2 s", rate="10 Mbit/s", buffer="40 packets")
    # A busy machine may delay a packet, but at most by this time; no packet is faster than the link.
    assert 0.5 < found.goodput_bps.kernel / found.goodput_bps.longpipe < 1.1
    assert found.certificate.delivered > 1000
    with pytest.raises(ScenarioError, match="--control: 'cubicc'"):
        compare("cubicc")


def test_a_plan_without_a_route_is_rejected() -> None:
    with pytest.raises(ScenarioError, match="no flow connects"):
        plan(Scenario.from_toml(IDLE), ("source1", "sink2"))
