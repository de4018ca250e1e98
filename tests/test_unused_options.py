"""Options that would have no effect are rejected in one line: each option changes the output or is an error."""

import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from commands import run
from longpipe import Design, Factor, Scenario, Study
from longpipe.pictures import KINDS, kind_of
from longpipe.store import Store

# Options of `plot` that not every picture uses, with values that are not their defaults.
OF_RUNS: dict[str, tuple[str, ...]] = {
    "--flow": ("flow2",),
    "--port": ("switch2->switch1",),
    "--all": (),
    "--unit": ("segments",),
    "--overlay": (),
    "--log": (),
    "--rto": (),
}
OF_STUDIES: dict[str, tuple[str, ...]] = {
    "--y": ("throughput",),
    "--by": ("cc",),
    "--map": ("--by", "cc"),
    "--where": ("buffer=50 packets",),
    "--y-from-data": (),
    "--log": (),
}
ARRIVALS = """
duration = "1 s"
framing = "ip"

[network]
kind = "dumbbell"
trunk_delay = "20 ms"
trunk_rate = "20 Mbit/s"
path = { rate = [["0 s", "20 Mbit/s"], ["500 ms", "10 Mbit/s"]] }

[[network.group]]
name = "short"
count = 2
traffic = { kind = "flow-arrivals", load = 0.6, sizes = { kind = "pareto", mean = "20 KB", shape = 1.5 } }
"""
# Pictures that always draw their flows on the same axes.
ALWAYS_OVERLAID = [
    kind
    for kind in KINDS
    if kind_of(kind).of != "links" and kind_of(kind).line is None and not kind_of(kind).no_overlay
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a scenario, a directory of `run --csv`, and a store with a study."""
    folder = tmp_path_factory.mktemp("unused")
    base = Scenario.example("fiber").with_(
        **{
            "duration": "2 s",
            "network.trunk_rate": "20 Mbit/s",
            "network.sources": 10,
            "switch.buffer": "20 packets",
            "network.trunk_loss": {"kind": "bernoulli", "probability": 0.002},
        }
    )
    (folder / "base.toml").write_text(base.to_toml())
    (folder / "arrivals.toml").write_text(ARRIVALS)
    # The default port is the other one, because these ACKs wait for less time.
    accesses = {"network.access": {}, "network.return_access": {"constant_rate": "5 Mbit/s"}}
    changes = {name: {"kind": "dvb-rcs2", **fields} for name, fields in accesses.items()}
    (folder / "access.toml").write_text(base.with_(**changes).to_toml())
    factors = [
        Factor.over("switch.buffer", ["5 packets", "50 packets"], "buffer"),
        Factor.over("tcp.congestion", ["aimd", "cubic"], "cc"),
    ]
    with closing(Store(folder / "runs.db")) as store:
        Study(Design.full_factorial(base.with_(duration="300 ms"), factors, replications=2), store, "fibers").run()
    return folder


def picture(folder: Path, words: Iterable[str]) -> str:
    """Returns a picture without its time and random identifiers, or the error."""
    done = run("plot", *words, "-o", "a.svg", cwd=folder)
    if done.returncode:
        assert re.fullmatch(r"(warning: .*\n)*error: .*: .*\n", done.stderr), done.stderr
        return done.stderr
    text = (folder / "a.svg").read_text()
    return re.sub(r"<dc:date>.*?</dc:date>|id=\"\w+\"|url\(#\w+\)|href=\"#\w+\"", "", text)


@pytest.mark.parametrize("kind", [*KINDS, "--x"])
def test_each_option_of_plot_changes_the_picture_or_is_rejected(kind: str, place: Path) -> None:
    words = ["base.toml", kind]
    if kind == "--x":
        words = ["fibers", "--x", "buffer", "--store", "runs.db"]
    elif kind_of(kind).traces == ():
        words[0] = "arrivals.toml"
    elif kind == "grants":
        words[0] = "access.toml"
    plain = picture(place, words)
    assert not plain.startswith("error"), plain
    for option, value in (OF_STUDIES if kind == "--x" else OF_RUNS).items():
        if option != "--overlay" or kind not in ALWAYS_OVERLAID:
            more = [*words, option, *value]
            assert picture(place, more) != plain, f"plot {' '.join(more)} draws the same picture"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plot", "base.toml", "rtt", "--y", "throughput"], "--y: only for studies; needs --x FACTOR"),
        (["plot", "base.toml", "rtt", "--by", "cc"], "--by: only for studies; needs --x FACTOR"),
        (["plot", "base.toml", "rtt", "--map"], "--map: only for studies; needs --x FACTOR"),
        (["plot", "fibers", "--x", "buffer", "--seed", "1", "--store", "runs.db"], "--seed: not with --x, which draws"),
        (["plot", "base.toml", "queue", "--flow", "flow1"], "--flow: not with queue, which shows no single flow"),
        (["plot", "base.toml", "path", "--seed", "2"], "--seed: not with path, which draws the links of a scenario"),
        (["plot", "csv", "rtt", "--seed", "2"], "--seed: csv contains a finished run; needs a scenario to run"),
        (["run", "base.toml", "--qlog-dialect", "0.3"], "--qlog-dialect: needs --qlog DIR"),
        (["run", "base.toml", "--json", "-", "--all"], "--all: not with --json -"),
        (["design", "base.toml", "--most", "5"], "--most: needs --until METRIC ±MARGIN"),
        (["design", "base.toml", "--until", "efficiency ±.01"], "--until: needs --run STUDY"),
        (["design", "base.toml", "--workers", "2"], "--workers: needs --run STUDY"),
        (["design", "base.toml", "--store", "b.db"], "--store: needs --run STUDY"),
        (["advise", "base.toml", "--users", "5"], "--users: needs --gateway RATE"),
        (["advise", "base.toml", "--over", "mean"], "--over: needs --uncertain FIELD=LOW..HIGH"),
        (
            ["advise", "--gateway", "10 Mbit/s", "--write", "g.toml", "--budget", "5 runs"],
            "--budget: not with --write, which only writes the scenario",
        ),
        (["attack", "--write", "a.toml", "--control", "bbr"], "--control: not with --write, which only writes"),
        (["suite", "tcpeval", "--list", "--workers", "2"], "--workers: not with --list, which runs nothing"),
        (["lab", "--seed", "3", "--print"], "--seed: needs FILE.toml"),
        (["satellites", "kuiper-630", "Paris", "Rome", "--at", "5"], "--at: needs --map FILE"),
        (["reproduce", "frr-96", "--today", "--workers", "2"], "--workers: not with --today alone, which simulates"),
        (["report", "frr-96", "--response", "fairness"], "--response: not with papers; needs the name of a study"),
        (["report", "fibers", "--results", "r", "--store", "runs.db"], "--results: not with a study, whose results"),
        (["report", "frr-96", "--statements", "-o", "a.html"], "--output: not with --statements, which writes no page"),
        (
            ["validate", "linux", "path", "--alone", "--within", "0.1"],
            "--within: not with --alone, which runs Linux only",
        ),
        (["validate", "fit", "folder", "--judge", "--seed", "2"], "--seed: not with --judge, which runs nothing"),
        (["live", "base.toml", "--wait-at-most", "5 s"], "--wait-at-most: needs --wait-for HOST:PORT"),
    ],
)
def test_an_option_without_effect_is_rejected(words: list[str], message: str, place: Path) -> None:
    if words[1] == "csv" and not (place / "csv").exists():
        assert run("run", "base.toml", "--no-store", "--csv", "csv", "--trace", "rtt", cwd=place).returncode == 0
    done = run(*words, cwd=place)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
