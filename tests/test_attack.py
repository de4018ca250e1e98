"""`longpipe attack`: search for a planted weakness, its reduction, and the answer in files and words."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from commands import run
from longpipe import Scenario, ScenarioError, simulate
from longpipe.advise.budget import Budget
from longpipe.attack.attack import Attack
from longpipe.attack.defect import MAX_EXCESS, Defect, score
from longpipe.attack.search import evolve, reductions, roundings
from longpipe.attack.target import Target
from longpipe.attack.trials import Trials
from longpipe.attack.varied import UNCHANGED, Setting, Varied, changes, setting
from longpipe.attack.words import certainty, effort, fields, headline, is_certain, numbers, table
from longpipe.cli.attack import _varied as varied_of
from longpipe.design.ranges import Range
from longpipe.fairness.controls import Sender
from longpipe.inputs import load_toml, parse_toml
from longpipe.scenario.defaults import fields_of_file
from longpipe.scenario.short_file import short_toml
from longpipe.store import Store
from longpipe.study import Progress, Runner

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
JITTER = 'network.conditioners=[{kind = "jitter", delay = "20..60 ms", jitter = "20..60 ms", order = "fifo"}]'
STEP = 'network.path={between = "hold", delay = [["0 s", "1..3 ms"], ["1..2 s", "40..80 ms"]]}'
MAY = ("network.trunk_rate=4..8 Mbit/s", "switch.buffer=100..200 ms", STEP)
BBR = ("efficiency < 0.5 * reference(efficiency)", "reference(efficiency) > 60 %")


@pytest.fixture(scope="module", autouse=True)
def executor() -> Iterator[None]:
    """Returns an executor that uses threads of this process, because separate processes take longer to start than these
    runs.
    """
    for workers in (1, 2):
        THREADS[workers] = ThreadPoolExecutor(workers)
    yield
    for pool in THREADS.values():
        pool.shutdown()


THREADS: dict[int, ThreadPoolExecutor] = {}


def target(control: str = "bbr", defects: tuple[str, ...] = BBR, may: tuple[str, ...] = MAY) -> Target:
    return Target(
        Scenario.from_toml(LINK), fields_of_file(parse_toml(LINK, "TOML text"), "TOML text"), Sender.parse(control), Sender.parse("cubic"),
        tuple(map(varied_of, may)), tuple(map(Defect.parse, defects)), seeds=3,
    )  # fmt: skip


def attacked(workers: int = 1, budget: str = "200 runs", store: Store | None = None, **more: object) -> Attack:
    asked = target(**more)  # type: ignore[arg-type]
    found = Attack(asked, Runner(store or Store(), THREADS[workers]), Budget.parse(budget))
    found.run()
    return found


def test_varied_field_has_a_range_levels_or_table_ranges() -> None:
    rate, levels, jitter = map(varied_of, ("network.trunk_rate=2..50 Mbit/s", "switch.policy=pie,codel", JITTER))
    assert [one.size for one in (rate, levels, jitter)] == [1, 1, 2]
    # If the coordinate is below UNCHANGED, the field is unchanged; values above UNCHANGED cover the range.
    assert rate.numbers([UNCHANGED - 0.01]) is None
    assert rate.changes(rate.numbers([UNCHANGED]) or ()) == {"network.trunk_rate": "2 Mbit/s"}
    assert rate.changes(rate.numbers([(1 + UNCHANGED) / 2]) or ()) == {"network.trunk_rate": "10 Mbit/s"}
    assert [levels.changes(levels.numbers([place]) or ()) for place in (0.6, 1.0)] == [
        {"switch.policy": "pie"},
        {"switch.policy": "codel"},
    ]
    assert jitter.changes((25.0, 41.234)) == {
        "network.conditioners": [{"kind": "jitter", "delay": "25 ms", "jitter": "41.2 ms", "order": "fifo"}]
    }
    # Rounding stays within the range.
    assert rate.rounded((17.3,), 1) == (20.0,)
    assert rate.rounded((49.0,), 1) == (50.0,)
    assert Varied("f", Range(2, 4.6, "s", whole=False)).rounded((4.55,), 1) == (4.55,)
    whole = setting([rate, levels, jitter], [1.0, 0.0, 0.75, 0.0])
    assert whole == {"network.trunk_rate": (50.0,), "network.conditioners": pytest.approx((40.0, 20.0))}
    assert list(changes([rate, levels, jitter], whole)) == ["network.trunk_rate", "network.conditioners"]


def test_a_defect_compares_measures_of_two_runs_with_units() -> None:
    fast = simulate(Scenario.from_toml(LINK))
    slow = simulate(Scenario.from_toml(LINK).with_(**{"network.trunk_rate": "1 Mbit/s"}))
    found = Defect.parse("throughput < 0.5 * reference(throughput)")
    left, right = found.values(slow, fast)
    assert (left, right) == (slow.throughputs_bps.sum(), 0.5 * fast.throughputs_bps.sum())
    assert found.holds(left, right)
    assert found.excess(left, right) == pytest.approx(math.log(right / left))
    assert not found.holds(*found.values(fast, slow))
    of_reference = Defect.parse("reference(flow:flow1.throughput) / flow:flow1.throughput > 2")
    assert of_reference.values(slow, fast)[0] == pytest.approx(left**-1 * 2 * right)
    assert Defect.parse("reference(throughput) < 3 Mbit/s").values(slow, fast)[1] == 3e6
    names = [f"reference(flow:flow{1 + i}.throughput)" for i in range(11)]
    assert Defect.parse(f"{' + '.join(names)} < 1 Mbit/s").left.text == " + ".join(names)
    # Without a value, there is no ratio either.
    assert (found.excess(math.nan, 1.0), found.holds(math.nan, 1.0)) == (-MAX_EXCESS, False)
    assert Defect.parse("timeouts > 5").excess(0.0, 5.0) == -MAX_EXCESS


def test_the_score_is_positive_only_if_all_comparisons_hold() -> None:
    defects = [Defect.parse("efficiency < 30 %"), Defect.parse("reference(efficiency) > 80 %")]
    assert score(defects, [(0.15, 0.3), (0.9, 0.8)]) == pytest.approx(math.log(0.9 / 0.8))
    assert score(defects, [(0.6, 0.3), (0.9, 0.8)]) == pytest.approx(-math.log(2))
    assert score(defects, [(0.6, 0.3), (0.4, 0.8)]) == pytest.approx(-2 * math.log(2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("efficiency", "needs one comparison with <, <=, > or >="),
        ("reference(efficiency < 1", "needs a closing parenthesis of reference("),
        ("reference(reference(efficiency)) < 1", "without a nested reference(...)"),
        ("reference(speed) < 1", "'speed' is not a measure"),
        ("throughput < 0.5 * reference(efficiency)", "0.5 * reference(efficiency)' combines bit/s and no unit"),
        ("1 < 2", "names no measure"),
    ],
)
def test_a_defect_that_cannot_be_read_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Defect.parse(text)
    assert str(error.value).startswith("--defect: ")
    assert message in str(error.value)


FIELDS = (Varied("a", Range(1.0, 100.0, "ms", whole=False)), Varied("b", Range(0.0, 1.0, "", whole=False)))


def populations(seed: int) -> list[list[Setting]]:
    """Returns populations that search for a near 50 and b near 0.9; one in 100 random candidates is close to these
    values.
    """
    told: list[list[Setting]] = []

    def scores(settings: list[Setting]) -> list[float]:
        told.append(settings)
        return [_nearness(one) for one in settings]

    evolve(FIELDS, scores, seed)
    return told


def _nearness(of: Setting) -> float:
    return -abs(math.log(of.get("a", (1.0,))[0] / 50)) - abs(of.get("b", (0.0,))[0] - 0.9)


def test_populations_approach_the_best_and_follow_from_the_seed() -> None:
    found = populations(1)
    assert found == populations(1)
    assert found != populations(2)
    best = [max(map(_nearness, one)) for one in found]
    assert max(best) > -0.1
    assert max(best) > best[0]


def test_reduction_keeps_the_fields_that_the_defect_needs() -> None:
    tested: list[Setting] = []

    def stands(of: Setting) -> bool:
        tested.append(of)
        return of.get("b", (0.0,))[0] > 0.83 and len(of) > 0

    [last] = reductions({"a": (12.3,), "b": (0.8512345,)}, stands)
    assert last == {"b": (0.8512345,)}
    assert list(roundings(FIELDS, last, stands)) == [{"b": (0.9,)}]
    assert list(reductions({"b": (0.9,)}, bool)) == []


def test_search_finds_only_the_planted_weakness() -> None:
    """BBR keeps at most 2 * bandwidth * (minimum RTT of 10 s) in flight, too little after a delay has become 20 times longer."""
    found = attacked()
    assert found.found
    assert found.reduced
    assert list(found.setting or {}) == ["network.path"]
    assert found.measured is not None
    assert found.measured.shape == (3, 2, 2)
    efficiency, half = found.measured[:, 0].mean(axis=0)
    assert efficiency < half
    assert headline(found).startswith("Found: efficiency < 0.5 * reference(efficiency) and ")
    [line] = fields(found)
    assert line.startswith('network.path = { between = "hold", delay = [["0 s", "')
    assert certainty(found) == "Certain at 95 %, for each comparison."
    assert all("in 3 of 3 runs" in one for one in numbers(found))
    assert list(table(found)["seed"]) == [12, 13, 14]
    assert "no single field can return" in next(effort(found))


def test_search_result_does_not_depend_on_workers_or_stored_runs() -> None:
    store = Store()
    first = attacked(store=store)
    runs = store.count()
    for other in (attacked(workers=2), attacked(store=store)):
        assert (other.setting, other.trials.runs, other.candidates) == (
            first.setting,
            first.trials.runs,
            first.candidates,
        )
        assert (other.measured == first.measured).all()  # type: ignore[union-attr]
    assert store.count() == runs == first.trials.runs


def test_control_without_the_weakness_has_no_defect() -> None:
    found = attacked(
        control="linux-reno", budget="60 runs", may=("switch.buffer=50..200 ms", "network.trunk_rate=4..8 Mbit/s")
    )
    assert (found.found, found.spent) == (False, True)
    # The search keeps to its budget; the runs for the numbers of the answer are additional.
    assert found.trials.runs <= 60 + 2 * 3
    assert headline(found).startswith("No scenario found in which efficiency < ")
    assert certainty(found) == "These are the numbers of the nearest candidate."


def test_budget_that_ends_before_confirmation_is_reported() -> None:
    """The unchanged scenario has the defect, and the budget allows the runs of the search only."""
    found = attacked(defects=("efficiency < reference(efficiency) * 2",), budget="3 runs")
    assert (found.found, found.unconfirmed, found.spent) == (False, True, True)
    assert headline(found).startswith("Not confirmed, the budget ended before: efficiency < ")
    assert headline(found).endswith(", with the seeds of the search.")
    assert certainty(found) == "Certain at 95 %, for each comparison."


def test_search_over_few_levels_ends_after_all_levels() -> None:
    found = attacked(control="linux-reno", may=("switch.policy=codel,pie",))
    assert (found.found, found.spent) == (False, False)
    # The runs are the unchanged scenario and two queues, each with two controls, and the answer's three seeds.
    assert found.trials.runs == 3 * 2 + 3 * 2
    assert "all candidates are known" in next(effort(found))


def test_a_weakness_of_the_base_scenario_needs_no_change() -> None:
    found = attacked(defects=("efficiency < reference(efficiency) * 2",))
    assert (found.found, found.setting, found.candidates) == (True, {}, 1)
    assert list(fields(found)) == ["the base scenario link, unchanged"]


def test_invalid_candidate_is_reported_and_not_a_defect() -> None:
    """Hosts have either a queue at their interface or jitter."""
    may = ("network.host_policy=codel,pie", "network.send_jitter=1..2 ms")
    found = attacked(control="linux-reno", may=may, budget="60 runs")
    assert not found.found
    assert "invalid candidate" in " ".join(effort(found))


def test_interrupted_search_keeps_the_best_candidate() -> None:
    def interrupt(now: Progress) -> None:
        if now.done > 30:
            raise KeyboardInterrupt

    store = Store()
    found = Attack(target(), Runner(store, THREADS[1]), Budget.parse("200 runs"), interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.run()
    assert found.setting is not None
    assert not found.ended
    assert store.count() >= 30
    assert certainty(found).startswith("Interrupted")
    assert attacked(store=store).setting == attacked().setting


def _kind(part: object) -> object:
    return part["kind"] if isinstance(part, dict) else part


def test_the_control_drives_one_group_of_flows() -> None:
    base = Scenario.from_toml(LINK).with_(**{"network.group": [{"name": "mine"}, {"name": "other"}]})
    one = Target(base, {}, Sender.parse("bbr"), Sender.parse("stack:quinn-cubic"), (), (), group="mine")
    of_control, of_reference = one.pair({})
    assert [_kind(flow["tcp"]["congestion"]) for flow in of_control.resolved["flows"]] == ["bbr", "cubic"]
    assert [flow["traffic"]["kind"] for flow in of_reference.resolved["flows"]] == ["stack", "greedy"]
    for group, message in ((None, "--group: absent; needs the group"), ("his", "--group: 'his'")):
        with pytest.raises(ScenarioError, match=message):
            Target(base, {}, Sender.parse("bbr"), Sender.parse("cubic"), (), (), group=group).pair({})


def test_stack_keeps_the_settings_of_the_base_scenario() -> None:
    stack = {"kind": "stack", "stack": "noq", "congestion": "bbr3", "window": "8 MiB", "size": "2 MB"}
    base = Scenario.from_toml(LINK).with_(traffic=stack)
    of_control, of_reference = Target(base, {}, Sender.parse("stack:quinn-bbr"), Sender.parse("cubic"), (), ()).pair({})
    quinn = {**stack, "stack": "quinn", "congestion": "bbr"}
    assert {name: getattr(of_control.traffic, name) for name in quinn} == quinn
    # Defaults are not written to the minimal scenario.
    kept = Target(base, {}, Sender.parse("stack:quinn-bbr"), Sender.parse("cubic"), (), ()).changes(
        {}, Sender.parse("stack:quinn-bbr")
    )
    assert kept == {"traffic": quinn}
    assert of_reference.traffic.model_dump() == {"kind": "transfer", "size": "2 MB"}
    endless = base.with_(**{"traffic.size": None})
    assert Target(endless, {}, Sender.parse("cubic"), Sender.parse("bbr"), (), ()).pair({})[0].traffic.kind == "greedy"


class _Chance(Trials):
    """Trials in which a defect occurs only with the first `shown` seeds; the seeds of all trials are recorded."""

    def __init__(self, shown: int) -> None:
        self.shown, self.seeds = shown, list[int]()

    def values(self, settings: list[Setting], seeds: range, *, limited: bool = True) -> list[NDArray[np.float64]]:  # type: ignore[override]
        self.seeds += seeds
        return [np.array([[(0.1 if seed - 2 < self.shown else 0.9, 0.5)] for seed in seeds]) for _ in settings]


@pytest.mark.parametrize(("shown", "tested"), [(3, 5), (8, 10), (9, 10), (10, 10)])
def test_candidate_needs_the_defect_with_nine_of_ten_seeds(shown: int, tested: int) -> None:
    hunt = Attack(target(defects=("efficiency < 50 %",)), Runner(Store(), THREADS[1]))
    hunt.trials = chance = _Chance(shown)
    assert hunt._stands({}) == (shown >= 9)
    assert chance.seeds == list(range(2, 2 + tested))


class _Planted(Trials):
    """Trials in which a defect occurs if `a` exceeds 60, or if `a` exceeds 10 and `b` exceeds 0.5."""

    def __init__(self) -> None:
        pass

    def values(self, settings: list[Setting], seeds: range, *, limited: bool = True) -> list[NDArray[np.float64]]:  # type: ignore[override]
        found = []
        for one in settings:
            [a], [b] = one.get("a", (1.0,)), one.get("b", (0.0,))
            found.append(np.array([[(0.1 if a > (10 if b > 0.5 else 60) else 0.9, 0.5)] for _ in seeds]))
        return found


def test_field_is_omitted_if_the_defect_does_not_need_it() -> None:
    hunt = Attack(replace(target(defects=("efficiency < 50 %",)), varied=FIELDS), Runner(Store(), THREADS[1]))
    hunt.trials, hunt.setting, hunt.found = _Planted(), {"a": (12.3,), "b": (0.8512345,)}, True
    hunt._reduce()
    assert hunt.reduced
    assert list(hunt.setting) == ["a"]
    assert hunt.setting["a"][0] > 60


def test_written_scenario_has_only_set_or_changed_fields() -> None:
    base, written = Scenario.from_toml(LINK), fields_of_file(parse_toml(LINK, "TOML text"), "TOML text")
    changed: dict[str, object] = {"tcp.congestion": "bbr", "network.trunk_rate": "2 Mbit/s"}
    text = short_toml(base.with_(**changed), written, changed)
    assert len(text.splitlines()) < 22
    assert Scenario.from_toml(text).digest() == base.with_(**changed).digest()
    # The changed field belongs to a part that is written as the name of its kind.
    queue = {**written, "switch": {"buffer": "100 ms", "policy": "pie"}}
    scenario = Scenario.model_validate({"defaults": "1996", **queue}).with_(**{"switch.policy.target": "30 ms"})
    assert (
        Scenario.from_toml(short_toml(scenario, queue, {"switch.policy.target": "30 ms"})).digest() == scenario.digest()
    )
    # The changed field belongs to a table within such a part.
    kind = {"framing": "ip", "network": "dumbbell"}
    loss = {"network.trunk_loss.kind": "none"}
    scenario = Scenario.model_validate({"defaults": "1996", **kind}).with_(**loss)
    assert Scenario.from_toml(short_toml(scenario, kind, loss)).digest() == scenario.digest()


def test_the_command_writes_a_minimal_scenario_that_replays_the_answer(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    options = ["attack", "link.toml", "--control", "bbr", "--seeds", "2", "--workers", "1", "--no-store", "-o", "out"]
    options += [word for one in MAY for word in ("--may", one)] + [word for one in BBR for word in ("--defect", one)]
    done = run(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Found: efficiency < 0.5 * reference(efficiency)")
    assert "Run it: longpipe run out/control.toml --seed 12" in done.stdout
    out = tmp_path / "out"
    frame = pd.read_csv(out / "runs.csv")
    replayed = simulate(Scenario.from_toml(out / "control.toml"), 12)
    assert frame["efficiency"][0] == replayed.efficiency
    half = simulate(Scenario.from_toml(out / "reference.toml"), 12).efficiency / 2
    assert frame["0.5 * reference(efficiency)"][0] == pytest.approx(half)
    lines = (out / "control.toml").read_text().splitlines()
    assert lines[0].startswith("# bbr of: longpipe attack link.toml --control bbr")
    assert len([line for line in lines if line and not line.startswith("#")]) < 30
    assert (out / "throughput.svg").read_text().startswith("<?xml")
    assert "Replay it in Linux: longpipe validate linux scenario out/control.toml out/reference.toml" in done.stdout


def test_a_control_that_fails_has_an_answer_without_a_picture(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    (tmp_path / "mine.py").write_text(
        "import longpipe\n\n\nclass Mine(longpipe.Control):\n    def on_ack(self, ack):\n        raise ValueError('mine')\n"
    )
    options = ["--control", "python:mine.py:Mine", "--may", "switch.buffer=\n100..200 ms", "--budget", "2 runs"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "throughput.svg").write_text("the picture of an interrupted search")
    done = run(
        "attack", "link.toml", *options, "--seeds", "1", "--workers", "1", "--no-store", "-o", "out", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "failed runs: scenario 'link', seed 1: mine.py:6: ValueError: mine" in done.stdout
    assert "No picture, because the run failed: mine.py:6: ValueError: mine" in done.stdout
    assert "Run it: longpipe run out/control.toml --seed 12" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"control.toml", "reference.toml", "runs.csv"}
    # The command in the file's comment has two lines.
    assert load_toml(tmp_path / "out" / "control.toml")["network"] == parse_toml(LINK, "TOML text")["network"]


REFUSED = [
    ([], "--control: absent"),
    (["--control", "bbr", "--reference", "bbr"], "--reference: 'bbr' is the control"),
    (["--control", "bbt"], "--control: 'bbt'"),
    (["--control", "bbr", "link.toml"], "--may: missing; needs FIELD=LOW..HIGH"),
    (["--control", "bbr", "--may", "switch.buffer"], "--may: 'switch.buffer'; accepts FIELD=LOW..HIGH"),
    (["--control", "bbr", "--may", "a.b=1..2", "--may", "a.b=3..4"], "--may: 'a.b' occurs 2 times"),
    (["--control", "bbr", "--may", "tcp.congestion=bic,htcp"], "--may: 'tcp.congestion' is set by --control"),
    (["--control", "bbr", "--set", "tcp.congestion.beta=0.5"], "--set: 'tcp.congestion.beta' is set by --control"),
    (
        [
            "--control",
            "bbr",
            "link.toml",
            "--set",
            'network.group=[{name = "a", tcp = {mss = "536 B"}}]',
            "--may",
            "tcp.mss=536 B,1 kB",
        ],
        "--may: tcp.mss: no effect, because every group sets its own; use network.group.0.tcp.mss",
    ),
    (["--control", "bbr", "--may", "switch.buffer=2..4 furlongs"], "--may: switch.buffer: "),
    (["--control", "bbr", "--may", "switch.policy=cod,pix"], "--may: switch.policy: "),
    (["--control", "bbr", "--defect", "web.p95 > 1 s"], "web.p95"),
    (["--control", "bbr", "--budget", "soon"], "--budget: 'soon'"),
    (["--control", "{kind = 'cubic', hystart = 'no'}"], "hystart"),
]


def test_non_strict_comparison_holds_if_all_runs_are_equal() -> None:
    died, alive = np.array([[1.0, 1.0]] * 3), np.array([[0.0, 1.0]] * 3)
    assert is_certain(Defect.parse("flow:flow1.died >= 1"), died)
    assert not is_certain(Defect.parse("flow:flow1.died > 1"), died)
    assert is_certain(Defect.parse("flow:flow1.died < 1"), alive)


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_options_are_rejected_in_one_line(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    done = run("attack", *options, "--no-store", cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "results").exists()


def test_default_scenario_of_a_search_can_be_written(tmp_path: Path) -> None:
    done = run("attack", "--write", "a.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Scenario.from_toml(tmp_path / "a.toml").name == "attack"
    assert "longpipe attack a.toml --may 'network.trunk_rate=4..50 Mbit/s'" in done.stdout
