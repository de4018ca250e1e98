"""Studies whose points refer to files, classes and functions that change between two calls."""

import csv
import pickle
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from commands import run
from longpipe import Scenario, simulate
from longpipe.controls import classes
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import ChangedInputWarning, Study

BASE = """
duration = "2 s"
framing = "ip"
start = { kind = "random", over = "100 ms" }
tcp.profile = "linux-6"
switch.buffer = "1 BDP"
network = { kind = "dumbbell", sources = 2, trunk_rate = "20 Mbit/s", trunk_delay = "20 ms" }
"""
CONTROL = """
from longpipe import Control, Grant


class Mine(Control):
    interval = "1 RTT"

    def on_interval(self, interval):
        return Grant(window=interval.window + interval.mss * 2)
"""
MEASURE = """
def share(result):
    return float(result.flows["throughput_bps"].iloc[0]) * 1
"""


def _rates(rate: int) -> str:
    return f"time,rate [Mbit/s],rtt [ms]\n0,20,40\n1,{rate},40\n"


# File, its content before and after the edit, and the changes of BASE that refer to it.
FILES: dict[str, tuple[str, str, str, Mapping[str, object]]] = {
    "rates": ("path.csv", _rates(5), _rates(9), {"network.path": {"file": "path.csv"}}),
    "schedule": ("m.down", "1\n2\n", "1\n3\n", {"network.path": {"kind": "file", "file": "m.down"}}),
    "esn0": (
        "esn0.csv",
        "time,esn0\n0,12\n1,6\n",
        "time,esn0\n0,12\n1,3\n",
        {"network.path": {"kind": "coded", "symbol_rate": "10 Mbaud", "file": "esn0.csv"}},
    ),
    "arrivals": (
        "flows.csv",
        "time,bytes\n0,100000\n0.5,200000\n",
        "time,bytes\n0,100000\n0.5,300000\n",
        {"traffic": {"kind": "flow-arrivals", "file": "flows.csv"}},
    ),
    "class": (
        "mine.py",
        CONTROL,
        CONTROL.replace("2", "9"),
        {"tcp.congestion": {"kind": "python", "class": "mine.py:Mine"}},
    ),
    "class of a group": (
        "mine.py",
        CONTROL,
        CONTROL.replace("2", "9"),
        {
            "network": {
                "kind": "dumbbell",
                "trunk_rate": "20 Mbit/s",
                "trunk_delay": "20 ms",
                "group": [{"name": "own", "tcp": {"congestion": {"kind": "python", "class": "mine.py:Mine"}}}],
            }
        },
    ),
}


FACTORS = [Factor.over("switch.buffer", ["0.5 BDP", "1 BDP"], "buffer")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _design(changes: Mapping[str, object], replications: int = 1) -> Design:
    return Design.full_factorial(Scenario.from_toml(BASE, changes), FACTORS, replications=replications)


def _rows(study: Study) -> list[tuple[float, str]]:
    runs = study.runs()
    return list(zip(runs["throughput_bps"], runs["digest"], strict=True))


def _fresh(changes: Mapping[str, object]) -> list[tuple[float, str]]:
    return _rows(_ran(Study(_design(changes))))


def _ran(study: Study) -> Study:
    study.run(workers=1)
    return study


@pytest.mark.parametrize("kind", FILES)
def test_an_edited_file_gives_new_runs_and_a_warning_with_both_digests(kind: str) -> None:
    name, before, after, changes = FILES[kind]
    Path(name).write_text(before)
    study = _ran(Study(_design(changes), "s.db", "edited"))
    old = _rows(study)
    Path(name).write_text(after)
    with pytest.warns(
        ChangedInputWarning, match=rf"{name}\S* has changed \(digest \w{{12}}\.\.\., was \w{{12}}\.\.\.\)"
    ):
        again = Study(_design(changes), "s.db", "edited")
    # No old result under the new file, before the runs are repeated.
    assert again.frame().empty
    assert _rows(_ran(again)) == _fresh(changes) != old
    # The stored object and one that is opened agree.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _rows(Study.open("edited", "s.db")) == _rows(again)
    # The earlier runs are still there for the earlier file.
    Path(name).write_text(before)
    with pytest.warns(ChangedInputWarning):
        restored = Study(_design(changes), "s.db", "edited")
    assert restored.status().complete
    assert _rows(restored) == old


@pytest.mark.parametrize("kind", FILES)
def test_a_study_of_an_edited_or_missing_file_is_read_as_stored(kind: str) -> None:
    name, before, after, changes = FILES[kind]
    Path(name).write_text(before)
    measures = ("port:switch1->switch2.delay",) if "traffic" not in changes else ()
    design = Design.full_factorial(Scenario.from_toml(BASE, changes), FACTORS, measures=measures)
    study = _ran(Study(design, "s.db", "edited"))
    runs, limits, hashes = study.runs(), study.limits(), [result.state_hash for result in study.results()]
    Path(name).write_text(after)
    opened = Study.open("edited", Store("s.db", readonly=True))
    assert [change.name.startswith(name) for change in opened.changes()] == [True]
    for _ in ("edited", "missing"):
        opened = Study.open("edited", Store("s.db", readonly=True))
        assert opened.runs().equals(runs)
        assert opened.limits().equals(limits)
        assert [result.state_hash for result in opened.results()] == hashes
        assert [scenario.digest() for scenario in opened.scenarios()] == [*dict.fromkeys(runs["digest"])]
        assert opened.means("efficiency")["efficiency"].notna().all() or "traffic" in changes
        Path(name).unlink(missing_ok=True)


def test_only_points_of_a_changed_class_are_repeated() -> None:
    Path("mine.py").write_text(CONTROL)
    Path("own.py").write_text(MEASURE)
    control = {"kind": "python", "class": "mine.py:Mine"}
    factor = Factor("cc", {"cubic": {"tcp.congestion": "cubic"}, "mine": {"tcp.congestion": control}})

    def design(replications: int) -> Design:
        base = Scenario.from_toml(BASE)
        return Design.full_factorial(base, [factor], replications=replications, measures=["own=own.py:share"])

    first = _ran(Study(design(1), "s.db", "loop")).runs()
    Path("mine.py").write_text(CONTROL.replace("2", "9"))
    with pytest.warns(ChangedInputWarning, match="1 of 2 points"):
        study = Study(design(2), "s.db", "loop")
    assert study.status().finished == 1
    found, fresh = _ran(study).runs(), _ran(Study(design(2))).runs()
    assert found["throughput_bps"].tolist() == fresh["throughput_bps"].tolist()
    # No row mixes columns of two classes.
    assert found["own"].tolist() == fresh["own"].tolist()
    assert found["digest"].tolist() == fresh["digest"].tolist()
    assert found["digest"][0] == first["digest"][0]
    assert found["finished_at"][0] == first["finished_at"][0]
    # An edited measure is computed from the same runs.
    Path("own.py").write_text(MEASURE.replace("* 1", "* 2"))
    assert Study.open("loop", "s.db").runs()["own"].tolist() == [2 * value for value in fresh["own"]]


def test_running_an_opened_study_adopts_the_change() -> None:
    name, before, after, changes = FILES["class"]
    Path(name).write_text(before)
    _ran(Study(_design(changes), "s.db", "edited"))
    Path(name).write_text(after)
    opened = Study.open("edited", "s.db")
    opened.ask("port:switch1->switch2.loss")
    opened.grow(2)
    assert opened.status().finished == 2
    with pytest.warns(ChangedInputWarning):
        opened.run(workers=1)
    assert opened.status().complete
    assert _rows(opened)[::2] == _fresh(changes)


def test_scenario_keeps_the_original_file_contents() -> None:
    name, before, after, changes = FILES["rates"]
    Path(name).write_text(before)
    scenario = Scenario.from_toml(BASE, changes)
    digest, state = scenario.digest(), simulate(scenario).state_hash
    Path(name).write_text(after)
    # Workers get the scenario as a pickle, and may not have the file.
    copied = pickle.loads(pickle.dumps(scenario))
    Path(name).unlink()
    assert (copied.digest(), simulate(copied).state_hash) == (digest, state)


def test_a_store_in_one_process_distinguishes_equal_fields_of_different_files() -> None:
    name, before, after, changes = FILES["rates"]
    Path(name).write_text(before)
    scenario, store = Scenario.from_toml(BASE, changes), Store()
    store.keep(simulate(scenario))
    Path(name).write_text(after)
    changed = Scenario.from_toml(BASE, changes)
    assert changed == scenario
    assert (store.has(scenario, 1), store.has(changed, 1)) == (True, False)


def _command(factor: str) -> list[str]:
    return ["design", "small.toml", "--factor", factor, "--replications", "2", "--workers", "1", "--store", "s.db"]


def _exported(*options: object) -> list[dict[str, str]]:
    done = run("study", "export", "loop", "-o", "x.csv", "--store", "s.db", *options)
    assert done.returncode == 0, done.stderr
    with Path("x.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def edit() -> Callable[[], None]:
    """Writes the files of a study; the returned function edits the class."""
    Path("small.toml").write_text(BASE)
    Path("mine.py").write_text(CONTROL)
    Path("own.py").write_text(MEASURE)

    def edited() -> None:
        Path("mine.py").write_text(CONTROL.replace("2", "9"))

    return edited


def test_edited_class_is_rerun_from_the_shell(edit: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    words = _command("cc:tcp.congestion=cubic,mine={kind='python',class='mine.py:Mine'}")
    words += ["--measure", "own=own.py:share", "--run", "loop"]
    assert run(*words).returncode == 0
    before = _exported()
    edit()
    # Reading shows the stored values with the stored digests, and names what has changed.
    read = run("study", "export", "loop", "-o", "x.csv", "--store", "s.db")
    note = (
        r"note: study 'loop': mine\.py:Mine has changed \(digest (\w{12})\.\.\., was (\w{12})\.\.\.\); shown as stored"
    )
    assert (read.returncode, len(read.stderr.splitlines())) == (0, 1)
    assert re.match(note, read.stderr)
    assert _exported() == before
    for action in ("show", "status"):
        shown = run("study", action, "loop", "--store", "s.db")
        assert (shown.returncode, shown.stderr) == (0, read.stderr)
    with monkeypatch.context() as other_process:
        other_process.setattr(classes, "_classes", {})
        bundle = run("study", "export", "loop", "--bundle", "b.zip", "--store", "s.db")
    assert bundle.returncode != 0
    assert bundle.stderr.startswith(
        "error: --bundle: mine.py:Mine: is missing or has changed; needs the one with digest"
    )
    done = run(*words)
    assert done.returncode == 0
    assert re.search(r"note: study 'loop': mine\.py:Mine has changed .* 1 of 2 points are run again", done.stderr)
    assert run(*words[:-1], "fresh").returncode == 0
    after = _exported()
    same = ("own", "efficiency", "fairness", "digest")
    with Path("x.csv").open() as file:
        loop = [[row[name] for name in same] for row in csv.DictReader(file)]
    run("study", "export", "fresh", "-o", "y.csv", "--store", "s.db")
    with Path("y.csv").open() as file:
        assert [[row[name] for name in same] for row in csv.DictReader(file)] == loop
    assert after[:2] == before[:2]
    assert after[2]["efficiency"] != before[2]["efficiency"]
    assert run("study", "export", "loop", "--bundle", "b.zip", "--store", "s.db").returncode == 0
    rerun = run("study", "rerun", "b.zip", "--trust", "--workers", "1")
    assert "4 of 4 runs of loop are bit-identical" in rerun.stdout
