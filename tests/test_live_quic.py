"""Scenario strings of quic-network-simulator as live paths, and longpipe as its simulator between two networks."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from live_programs import ASK, SERVE, live, python
from longpipe import ScenarioError
from longpipe.live.quic import DRAWN, scenario
from longpipe.live.quic_wait import wait_for_server

LINK = "--delay=15ms --bandwidth=10Mbps --queue=25"


def test_a_bottleneck_lies_between_two_routers() -> None:
    links = scenario(f"simple-p2p {LINK}").resolve()["links"]
    there, back = links[2], links[3]
    for link in (there, back):
        assert (link["rate_bps"], link["delay_ps"]) == (10_000_000, 15 * 10**9)
        # The buffer consists of ns-3's queue discipline, the device's queue, and the packet in transmission.
        assert link["buffer"] == {"unit": "packets", "limit": 27}
    assert [link["loss"]["kind"] for link in links] == ["none"] * 6


def test_losses_come_after_the_bottleneck_and_by_direction() -> None:
    links = scenario(f"droplist {LINK} --drops_to_server=2,3,7 --drops_to_client=1").resolve()["links"]
    assert links[4]["loss"] == {"kind": "packets", "indices": [1, 2, 6]}
    assert links[1]["loss"] == {"kind": "packets", "indices": [0]}
    links = scenario(f"drop-rate {LINK} --rate_to_client=2 --rate_to_server=0").resolve()["links"]
    assert links[1]["loss"] == {"kind": "bernoulli", "probability": 0.02}
    assert links[4]["loss"] == {"kind": "none"}
    links = scenario(f"blackhole {LINK} --on=5s --off=2s --repeat=2 --direction=toclient").resolve()["links"]
    assert links[1]["loss"]["steps_ps"] == [
        [at * 10**12, lost] for at, lost in ((5, 1.0), (7, 0.0), (12, 1.0), (14, 0.0))
    ]
    assert links[4]["loss"] == {"kind": "none"}


def test_lost_packets_in_a_row_are_bounded() -> None:
    text = f"drop-rate {LINK} --rate_to_client=30 --rate_to_server=30 --burst_to_client=3 --burst_to_server=3"
    links = scenario(text).resolve()["links"]
    for link in (links[1], links[4]):
        lost = set(link["loss"]["indices"])
        runs = "".join("x" if number in lost else "." for number in range(5000)).split(".")
        assert max(map(len, runs)) == 3
        # The chain drops a packet with probability 0.3, except in the state after three drops: the loss rate is 0.3
        # times the fraction of time in the other states.
        states = 1 + 0.3 + 0.09 + 0.027
        assert len(lost) / DRAWN == pytest.approx((0.3 + 0.09 + 0.027) / states, rel=0.03)
    assert scenario(text) == scenario(text)
    assert scenario(text) != scenario(text, seed=2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "SCENARIO: ''; accepts simple-p2p, drop-rate, droplist, blackhole, tcp-cross-traffic"),
        ("rebind --first-rebind=1s", "SCENARIO: 'rebind'; accepts simple-p2p"),
        (f"simple {LINK}", "SCENARIO: 'simple'; did you mean 'simple-p2p'?"),
        (
            "simple-p2p --delay=15ms --queue=25",
            "SCENARIO: simple-p2p without --bandwidth; needs --delay, --bandwidth, ",
        ),
        (f"simple-p2p {LINK} --rate=3", "SCENARIO: simple-p2p --rate=3; accepts delay, bandwidth, queue"),
        (f"simple-p2p {LINK} --delay=15", "SCENARIO: --delay=15; needs a time, as in 15ms"),
        (f"simple-p2p {LINK} --bandwidth=fast", "SCENARIO: --bandwidth=fast; needs a rate, as in 10Mbps"),
        (f"drop-rate {LINK} --rate_to_client=101 --rate_to_server=1", "--rate_to_client=101; needs a share from 0 to"),
        (f"droplist {LINK} --drops_to_client=1,x", "SCENARIO: --drops_to_client=x; needs a whole number"),
        (f"blackhole {LINK} --on=5s --off=2s --direction=up", "SCENARIO: --direction=up; accepts both, toclient"),
        (f"blackhole {LINK} --on=5s --off=2s --repeat=0", "SCENARIO: blackhole; needs --on and --off above 0"),
    ],
)
def test_invalid_simulator_arguments_are_rejected_in_one_line(text: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(text)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("namespaces")
def test_commands_run_at_client_and_server(tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    ends = ("--client", f"{ask} server 5000 3", "--server", f"{serve} 5000")
    done = live("quic", f"simple-p2p {LINK}", *ends)
    assert done.returncode == 0, done.stderr
    times = [float(line) for line in done.stdout.split()]
    assert len(times) == 3
    assert min(times) >= 0.030
    done = live("quic", f"simple-p2p {LINK}", "--client", "exit 3")
    assert done.returncode == 3


def test_a_server_that_answers_is_waited_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        seen = []

        def answer() -> None:
            data, who = server.recvfrom(2048)
            seen.append(data)
            server.sendto(b"x", who)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        wait_for_server(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join(20)
    # A datagram of 1200 bytes with a long header (RFC 9000 section 6).
    assert (len(seen[0]), seen[0][0] >> 6) == (1200, 3)
    for given in ("server", "server:0", "server:65536"):
        with pytest.raises(ScenarioError, match=f"WAITFORSERVER: '{given}'; needs a host and its port"):
            wait_for_server(given)


# A program that connects a client and a server in separate networks through a machine in both networks.
NETWORKS = """
import os, signal, subprocess, sys, time
from pathlib import Path
from pyroute2 import IPRoute
from longpipe.live import calls
from longpipe.live.device import without_offloads
user, group = os.geteuid(), os.getegid()
calls.unshare(calls.NEW_USER | calls.NEW_NETWORK)
Path("/proc/self/setgroups").write_text("deny")
Path("/proc/self/uid_map").write_text(f"0 {user} 1")
Path("/proc/self/gid_map").write_text(f"0 {group} 1")
own = os.open("/proc/self/ns/net", os.O_RDONLY)

def up(route, name, address):
    (index,) = route.link_lookup(ifname=name)
    route.addr("add", index=index, address=address, prefixlen=24)
    route.link("set", index=index, state="up")
    (loopback,) = route.link_lookup(ifname="lo")
    route.link("set", index=loopback, state="up")

def beyond(number):
    calls.unshare(calls.NEW_NETWORK)
    there = os.open("/proc/self/ns/net", os.O_RDONLY)
    calls.enter(own, calls.NEW_NETWORK)
    with IPRoute() as route:
        route.link("add", ifname=f"eth{number}", kind="veth", peer={"ifname": "eth9", "net_ns_fd": there})
        up(route, f"eth{number}", f"193.167.{100 * number}.2")
    calls.enter(there, calls.NEW_NETWORK)
    with IPRoute() as route:
        up(route, "eth9", f"193.167.{100 * number}.100")
        # As endpoints of quic-network-simulator do.
        without_offloads("eth9")
        route.route("add", dst="193.167.0.0/16", gateway=f"193.167.{100 * number}.2")
    calls.enter(own, calls.NEW_NETWORK)
    return there

client, server = beyond(0), beyond(1)

def tied():
    calls.die_with_parent(os.getppid())

def at(place, *words, **more):
    calls.enter(place, calls.NEW_NETWORK)
    started = subprocess.Popen([sys.executable, *words], preexec_fn=tied, **more)
    calls.enter(own, calls.NEW_NETWORK)
    return started

ask, serve, *sim = sys.argv[1:]
running = [at(server, serve, "5000")]
# Not forwarded by the kernel, but by the path.
running.append(at(own, "-m", "longpipe", "live", "quic", *sim))
try:
    for _ in range(30):
        asked = at(client, ask, "193.167.100.100", "5000", "1", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if (said := asked.communicate(timeout=20)[0]):
            break
        time.sleep(0.2)
    print(said)
    running[1].send_signal(signal.SIGTERM)
    print(running[1].wait(20))
finally:
    for one in running:
        one.kill()
"""


@pytest.mark.usefixtures("namespaces")
def test_packets_pass_between_two_networks_of_the_simulator(tmp_path: Path) -> None:
    files = []
    for name, code in (("ask", ASK.replace("settimeout(20)", "settimeout(1)")), ("serve", SERVE)):
        files.append(str(tmp_path / f"{name}.py"))
        Path(files[-1]).write_text(code)
    done = subprocess.run(
        [sys.executable, "-c", NETWORKS, *files, "--between", "eth0", "eth1"],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "SCENARIO": f"simple-p2p {LINK}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    took, status = done.stdout.split()
    assert float(took) >= 0.030
    assert status == "0"
    assert "2 packets entered, 2 delivered, 0 lost" in done.stderr


def test_packet_forwarding_and_commands_require_their_option() -> None:
    done = live("quic", f"simple-p2p {LINK}")
    assert (done.returncode, done.stderr) == (
        2,
        "error: --client: needs a command, or --between the interfaces of two networks\n",
    )
    done = live("quic", "simple", "--client", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = live("quic", f"simple-p2p {LINK}", "--between", "nowhere0", "nowhere1")
    assert done.returncode == 1
    assert "live: nowhere0: " in done.stderr
