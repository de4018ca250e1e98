"""Command lines of mahimahi for live paths."""

from pathlib import Path
from typing import Any

import pytest

from live_programs import ASK, SERVE, live, python
from longpipe import ScenarioError
from longpipe.cli.live.mahimahi import _meter
from longpipe.cli.toolkit.safe import Console
from longpipe.live import plan
from longpipe.live import run as live_run
from longpipe.live.mahimahi import INSIDE, OUTSIDE, chain, shell_first

# A program that sends at about 20 Mbit/s for three seconds and a half.
FLOOD = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 3.5
while time.monotonic() < end:
    for _ in range(10):
        s.sendto(bytes(1000), (sys.argv[1], 5000))
    time.sleep(0.004)
"""
MAHIMAHI = "mm-delay 20 mm-link {up} {down} --uplink-queue=droptail --uplink-queue-args=packets=50 mm-loss uplink 0.1"


def schedules(tmp_path: Path) -> str:
    """Returns a command line with two schedules: 12 Mbit/s for the uplink, and twice as much for the downlink."""
    up, down = tmp_path / "up", tmp_path / "down"
    up.write_text("1\n2\n")
    down.write_text("1\n1\n2\n2\n")
    return MAHIMAHI.format(up=up, down=down)


def test_shells_of_mahimahi_are_links_one_after_the_other(tmp_path: Path) -> None:
    found = chain([*schedules(tmp_path).split(), "--", "curl", "-s", "x"])
    assert found.command == ["curl", "-s", "x"]
    links = found.scenario().resolve()["links"]
    delay, up, down, loss = links[4], links[6], links[7], links[8]
    assert delay["delay_ps"] == 20 * 10**9
    assert (up["buffer"], down["buffer"]) == ({"unit": "packets", "limit": 50}, None)
    assert [len(link["motion"]["service"]["instants_ps"]) for link in (up, down)] == [2, 4]
    assert loss["loss"] == {"kind": "bernoulli", "probability": 0.1}
    assert links[9]["loss"] == {"kind": "none"}


def test_queues_of_mahimahi_are_policies_in_front_of_its_schedules(tmp_path: Path) -> None:
    words = schedules(tmp_path).removesuffix(" mm-loss uplink 0.1").split()
    words[-2:] = [
        "--uplink-queue=codel",
        "--uplink-queue-args=packets=100, target=5, interval=100",
        "--downlink-queue=pie",
        "--downlink-queue-args=bytes=200000,qdelay_ref=20,max_burst=150",
    ]
    links = chain(words).scenario().resolve()["links"]
    up, down = links[6], links[7]
    assert (up["buffer"], down["buffer"]) == ({"unit": "packets", "limit": 100}, {"unit": "bytes", "limit": 200_000})
    codel, pie = up["policy"], down["policy"]
    assert (codel["kind"], codel["target_ps"], codel["interval_ps"]) == ("codel", 5 * 10**9, 100 * 10**9)
    assert (pie["kind"], pie["target_ps"], pie["burst_ps"]) == ("pie", 20 * 10**9, 150 * 10**9)
    assert (codel["least_backlog_bytes"], pie["update_ps"]) == (1504, 30 * 10**9)
    alone = chain([*words[:-4], "--uplink-queue=fq-codel"]).scenario().resolve()["links"]
    assert (alone[6]["policy"]["kind"], alone[6]["buffer"]) == ("fq-codel", None)
    # If it has no setting of its own, the downlink's queue is unlimited, whatever the uplink's queue is.
    assert (alone[7]["policy"], alone[7]["buffer"]) == ({"kind": "tail-drop"}, None)


def test_further_mahimahi_shells_and_options_work(tmp_path: Path) -> None:
    up, down = tmp_path / "up", tmp_path / "down"
    up.write_text("1\n2\n250\n")
    down.write_text("1\n400\n")
    words = (
        f"mm-onoff downlink 1.5 .25 mm-link {up} {down} --once --meter-uplink --uplink-log={tmp_path / 'log'} -- true"
    )
    found = chain(words.split())
    links = found.scenario().resolve()["links"]
    assert links[4]["loss"] == {"kind": "none"}
    # The link is on for 1.5 s and off for 0.25 s on average; it loses all packets while it is off (mahimahi's
    # StochasticSwitchingLink).
    off = {"good_ps": 15 * 10**11, "bad_ps": 25 * 10**10, "loss_in_good": 0.0, "loss_in_bad": 1.0}
    assert links[5]["loss"] == {"kind": "gilbert-elliott-in-time", **off}
    assert (found.ends_s, found.meters, found.logs) == (0.25, {"uplink"}, {"uplink": tmp_path / "log"})
    assert found.command == ["true"]
    constant = chain(["mm-link", "12mbps", "1.5M", "--cbr", "--meter-all", "true"])
    resolved = constant.scenario().resolve()["links"]
    assert [link["rate_bps"] for link in resolved[4:6]] == [12_000_000, 1_500_000]
    assert constant.meters == {"uplink", "downlink"}
    twice = ["mm-link", "1M", "1M", "--cbr", f"--uplink-log={tmp_path / 'a'}", "mm-link", "1M", "1M", "--cbr"]
    with pytest.raises(ScenarioError, match="two links; needs one link, whose queue is logged"):
        chain(twice)


def test_meter_divides_by_path_time(capsys: pytest.CaptureFixture[str]) -> None:
    meter = _meter({"uplink"}, Console(stderr=True))
    for elapsed_s, outside in ((1.1, 0), (2.0, 2_700_000), (3.1, 6_000_000)):
        meter({"elapsed_s": elapsed_s, "delivered_bytes": {"inside": 0, "outside": outside}})
    rates = [line.split()[-2] for line in capsys.readouterr().err.splitlines()]
    assert rates == ["0.00", "24.00", "24.00"]


@pytest.mark.usefixtures("namespaces")
def test_delivered_bytes_are_those_of_the_time_of_their_report(tmp_path: Path) -> None:
    """Over a link of 8 Mbit/s that is never idle, the bytes of an interval are its length times the rate."""
    flood = python(tmp_path, "flood", FLOOD)
    path = plan(chain(["mm-link", "8M", "8M", "--cbr", "true"]).scenario(), (INSIDE, OUTSIDE))
    reports: list[tuple[float, int]] = []

    def report(found: dict[str, Any]) -> None:
        reports.append((found["elapsed_s"], found["delivered_bytes"][OUTSIDE]))

    live_run(path, {INSIDE: ["/bin/sh", "-c", f"{flood} {path.hosts[1].address}"]}, progress=report)
    (began_s, before), *_, (ended_s, after) = reports
    assert 8 * (after - before) / (ended_s - began_s) == pytest.approx(8e6, rel=0.005)


@pytest.mark.usefixtures("namespaces")
def test_a_log_of_mm_link_has_every_packet_and_its_delay(tmp_path: Path) -> None:
    log, ask, serve = tmp_path / "up.log", python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    done = live(
        "mm-delay", "--outside", f"{serve} 5000", "20",
        *f"mm-link 12M 12M --cbr --once --meter-all --uplink-log={log} --".split(),
        *f"{ask} outside 5000 5".split(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    assert lines[1] == "# base timestamp: 0"
    came, left = ([line.split() for line in lines if line.split()[1] == sign] for sign in "+-")
    assert len(came) == len(left) == 5
    # The delay is that of the link alone: the transmission of a short packet at 12 Mbit/s, without the 20 ms of
    # propagation delay.
    assert {int(line[3]) for line in left} <= {0, 1}
    assert [int(line[0]) for line in came] == sorted(int(line[0]) for line in came)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("mm-delay soon", "mm-delay: 'soon'; needs a whole number of milliseconds"),
        (
            "mm-link /nowhere /nowhere",
            "mm-link: /nowhere: no such file; needs a schedule with a time in milliseconds per line, or a rate with --cbr",
        ),
        ("mm-link /nowhere", "mm-link: needs two schedules, for the uplink and for the downlink"),
        (
            "mm-link a b --uplink-lag=x",
            "mm-link: '--uplink-lag=x'; did you mean '--uplink-log'? accepts --uplink-queue, ",
        ),
        ("mm-link a b --meter-uplink-delay", "mm-link: --meter-uplink-delay; not supported, needs --uplink-log=FILE"),
        ("mm-link fast 12M --cbr", "mm-link: --cbr: 'fast'; needs a rate, as in 12M"),
        ("mm-onoff uplink 1", "mm-onoff: 'uplink 1'; needs uplink or downlink, mean on-time and off-time"),
        ("mm-onoff uplink 1 0", "mm-onoff: '1 0'; needs 0.000001 to 1000 s each"),
        ("mm-loss up 0.1", "mm-loss: 'up 0.1'; needs uplink or downlink, and a probability"),
        ("mm-loss uplink much", "mm-loss: 'much'; needs a probability from 0 to 1"),
        ("mm-delay 20 --outside", "--outside: without a value; needs one, as in --outside './server 8080'"),
        ("mm-link a b --wait-far=x", "mm-link: '--wait-far=x'; did you mean '--wait-for'? accepts --uplink-queue, "),
        ("mm-delay 20 --wait-for", "--wait-for: without a value; needs one, as in --wait-for outside:8080"),
        (f"mm-delay {'9' * 5000}", f"mm-delay: '{'9' * 56}...; needs a whole number of milliseconds"),
        (
            f"mm-link 1M 1M --cbr --uplink-queue=droptail --uplink-queue-args=packets={'9' * 5000}",
            f"mm-link: --uplink-queue-args=packets={'9' * 49}...; needs NAME=N, as in packets=100",
        ),
        ("mm-delay --outside=a 20 mm-delay --outside b 5", "--outside: 'b', after 'a'; needs one"),
    ],
)
def test_options_invalid_in_mahimahi_are_rejected_in_one_line(words: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        chain(words.split())
    assert line in str(caught.value)


def test_options_may_precede_the_shell() -> None:
    words = [
        "--wait-for",
        "outside:9",
        "--seed=2",
        "mm-delay",
        "10",
        "mm-link",
        "10M",
        "50M",
        "--cbr",
        "--wait-at-most",
        "5s",
        "true",
    ]
    found = chain(shell_first(words))
    assert found.own == {"wait-for": "outside:9", "seed": "2", "wait-at-most": "5s"}
    assert (found.shells, found.command) == (["mm-delay", "mm-link"], ["true"])
    for other in (["--progress", "mm-delay", "10"], ["--seed", "2", "geo.toml"], ["--seed"]):
        assert shell_first(other) == other


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "--progress mm-delay 10 mm-link 10M 50M --cbr",
            "--cbr: no such option; mm-delay and its options need to be first: live mm-delay; ",
        ),
        (
            "mm-delay 10 --wait-for outside:9 true",
            "--wait-for: 'outside', where no command starts before the first one; ",
        ),
        ("mm-delay 10 --outside a --wait-for inside:9 true", "did you mean 'outside'? accepts outside"),
        ("mm-delay 10 --outside a --wait-for 9 true", "--wait-for: '9'; needs HOST:PORT, as in outside:8080"),
        (
            "mm-delay 10 --outside a --wait-for outside:99999 true",
            "--wait-for: port 99999; needs a port from 1 to 65535, as in outside:8080",
        ),
        (
            f"mm-delay 10 --outside a --wait-for outside:{'9' * 5000} true",
            f"--wait-for: 'outside:{'9' * 48}...; needs HOST:PORT, as in outside:8080",
        ),
        (
            "mm-delay 10 --outside a --wait-for outside:\N{ARABIC-INDIC DIGIT THREE} true",
            "needs HOST:PORT, as in outside:8080",
        ),
        ("mm-delay 10 --wait-at-most 5s true", "--wait-at-most: needs --wait-for outside:PORT"),
    ],
)
def test_unawaitable_host_is_rejected_in_one_line(words: str, line: str) -> None:
    done = live(*words.split())
    assert (done.returncode, line in done.stderr) == (2, True), done.stderr


@pytest.mark.usefixtures("namespaces")
def test_the_inner_command_waits_for_the_outer_one(tmp_path: Path) -> None:
    """The server begins to listen after the half second that commands wait without --wait-for."""
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    done = live(
        "--wait-for", "outside:5000", "mm-delay", "5", "--outside", f"sleep 0.8; {serve} 5000", "--",
        *f"{ask} outside 5000 5".split(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("mm-delay 20 mm-loss uplink 1.5", "mm-loss: loss.probability: 1.5; needs at most 1.0"),
        ("mm-loss downlink nan", "mm-loss: return_loss.probability: nan; needs a finite number"),
        ("mm-delay 99999999999", "mm-delay: delay: 99999999999 ms; needs 0 s to 1000 s"),
        ("mm-loss uplink 0 mm-link 12M 0M --cbr", "mm-link: return_rate: 0 Mbit/s; needs 1 kbit/s to 10 Tbit/s"),
        (
            "mm-link 12M 1M --cbr --uplink-queue=droptail --uplink-queue-args=packets=0",
            "mm-link: buffer: 0 packets (0 packets); needs at least one packet",
        ),
    ],
)
def test_a_value_out_of_range_is_reported_with_its_shell(words: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        chain(words.split()).scenario()
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("queue", "line"),
    [
        (
            "--uplink-queue=drophead",
            "--uplink-queue=drophead; accepts infinite, droptail, pie, codel, selective-drop, ",
        ),
        ("--uplink-queue=droptail", "--uplink-queue-args: 0 limits; needs packets=N or bytes=N for droptail"),
        ("--uplink-queue=codel --uplink-queue-args=packets=9,target=5", "no interval; needs interval=MILLISECONDS"),
        (
            "--downlink-queue=pie --downlink-queue-args=delay=5",
            "args=delay; accepts packets=N, bytes=N, qdelay_ref=N, ",
        ),
        ("--uplink-queue=droptail --uplink-queue-args=packets", "args=packets; needs NAME=N, as in packets=100"),
    ],
)
def test_invalid_queue_is_rejected_in_one_line(tmp_path: Path, queue: str, line: str) -> None:
    words = schedules(tmp_path).split()[:5]
    with pytest.raises(ScenarioError) as caught:
        chain([*words, *queue.split()])
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        "mm-delay --outside serve --seed=3 20 mm-link 12M 2M --cbr -- ask --outside x",
        "mm-delay 20 mm-link --seed 3 12M --cbr --outside=serve 2M -- ask --outside x",
        "mm-delay 20 --outside serve mm-link 12M 2M --cbr --seed 3 ask --outside x",
    ],
)
def test_longpipes_options_may_be_anywhere_in_a_chain(words: str) -> None:
    found = chain(words.split())
    assert found.own == {"outside": "serve", "seed": "3"}
    assert (len(found.links), found.command) == (2, ["ask", "--outside", "x"])


@pytest.mark.usefixtures("namespaces")
def test_a_command_line_of_mahimahi_runs(tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    shells = schedules(tmp_path).removesuffix(" mm-loss uplink 0.1").split()
    name, *rest = shells
    done = live(name, "--outside", f"{serve} 5000", *rest, "--", "sh", "-c", f"{ask} $MAHIMAHI_BASE 5000 3")
    assert done.returncode == 0, done.stderr
    assert all(float(line) >= 0.040 for line in done.stdout.split())
    assert len(done.stdout.split()) == 3
