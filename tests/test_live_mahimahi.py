"""Command lines of mahimahi as live paths."""

from pathlib import Path

import pytest

from live_programs import ASK, SERVE, live, python
from longpipe import ScenarioError
from longpipe.live.mahimahi import chain

MAHIMAHI = "mm-delay 20 mm-link {up} {down} --uplink-queue=droptail --uplink-queue-args=packets=50 mm-loss uplink 0.1"


def schedules(tmp_path: Path) -> str:
    """A command line over two schedules: 12 Mbit/s up, and twice that down."""
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


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("mm-delay soon", "mm-delay: 'soon'; needs a whole number of milliseconds"),
        ("mm-link /nowhere /nowhere", "mm-link: /nowhere: can't be read; needs a schedule, a millisecond a line"),
        ("mm-link /nowhere", "mm-link: needs two schedules, of the uplink and of the downlink"),
        ("mm-link a b --uplink-log=x", "mm-link: --uplink-log; did you mean 'uplink-queue'? accepts uplink-queue"),
        ("mm-loss up 0.1", "mm-loss: 'up 0.1'; needs uplink or downlink, and a probability"),
        ("mm-loss uplink much", "mm-loss: 'much'; needs a probability from 0 to 1"),
    ],
)
def test_what_mahimahi_would_not_take_is_one_line(words: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        chain(words.split())
    assert line in str(caught.value)


@pytest.mark.usefixtures("namespaces")
def test_a_command_line_of_mahimahi_runs(tmp_path: Path) -> None:
    ask, serve = python(tmp_path, "ask", ASK), python(tmp_path, "serve", SERVE)
    shells = schedules(tmp_path).removesuffix(" mm-loss uplink 0.1").split()
    name, *rest = shells
    done = live(name, "--outside", f"{serve} 5000", *rest, "--", "sh", "-c", f"{ask} $MAHIMAHI_BASE 5000 3")
    assert done.returncode == 0, done.stderr
    assert all(float(line) >= 0.040 for line in done.stdout.split())
    assert len(done.stdout.split()) == 3
