"""Congestion controllers that are Python classes; the classes are in data/classes/aimd.py."""

import inspect
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster import cluster
from jobs import expected, outcomes
from longpipe import Ack, Control, Event, Grant, Interval, RunError, Scenario, ScenarioError, simulate
from longpipe.controls import class_checks, classes, isolation
from longpipe.controls.compiled import state_type
from longpipe.controls.identity import identity
from longpipe.design import Design, Factor
from longpipe.design.text import from_json, to_json
from longpipe.executors import Failure, Processes
from longpipe.store import Store
from longpipe.study import Study

FILE = Path(__file__).parent / "data" / "classes" / "aimd.py"

# On this path (10 Mbit/s, 100 ms, a buffer of 100 packets), a loss occurs after 1.2 s.
PATH = Scenario.from_toml("""
duration = "5 s"
framing = "ip"
tcp.profile = "linux-6"
tcp.receiver_window = "2 MB"
switch.buffer = "100 packets"
network = {kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s", trunk_delay = "45 ms", access_rate = "100 Mbit/s"}
traces.cwnd = true
""")
LOSSY = PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.002}})


def with_class(target: str | type, path: Scenario = PATH, **parameters: Any) -> Scenario:  # noqa: ANN401 - values of any type
    return path.with_(**{"tcp.congestion": {"kind": "python", "class": target, "parameters": parameters}})


def refusal(target: str | type, **parameters: Any) -> str:  # noqa: ANN401 - as above
    with pytest.raises(ScenarioError) as error:
        with_class(target, **parameters)
    (line,) = error.value.problems
    assert "\n" not in line
    return line


# Results of a class


@pytest.mark.parametrize("name", ["Aimd", "CompiledAimd"])
def test_aimd_class_is_bit_identical_to_the_builtin(name: str) -> None:
    """If the hooks get the same arguments as longpipe's own controllers, equal arithmetic gives equal runs."""
    for path in (PATH, LOSSY):
        native = simulate(path.with_(**{"tcp.congestion": {"kind": "aimd", "byte_counting": False}}))
        assert simulate(with_class(f"{FILE}:{name}", path)).state_hash == native.state_hash


def test_numba_compiles_hooks_that_give_the_same_bits() -> None:
    pytest.importorskip("numba")
    scenario = with_class(f"{FILE}:CompiledAimd", LOSSY, beta=0.7)
    assert simulate(scenario).state_hash == simulate(with_class(f"{FILE}:Aimd", LOSSY, beta=0.7)).state_hash
    cls = classes.load(f"{FILE}:CompiledAimd").cls
    assert cls is not None
    assert vars(cls)["on_ack"].address(state_type(cls.state_fields)) != 0


def test_a_parameter_is_an_argument_and_a_run_repeats() -> None:
    found = simulate(with_class(f"{FILE}:Aimd", beta=0.8))
    trace = found.traces["cwnd"]
    window, threshold = trace["cwnd_bytes"].to_numpy(), trace["ssthresh_bytes"].to_numpy()
    first = np.flatnonzero(threshold[1:] != threshold[:-1])[0]
    # The values are whole segments of a window of about 180.
    assert threshold[first + 1] / window[first] == pytest.approx(0.8, abs=0.01)
    assert simulate(with_class(f"{FILE}:Aimd", beta=0.8)).state_hash == found.state_hash
    assert simulate(with_class(f"{FILE}:Aimd", beta=0.5)).state_hash != found.state_hash


class Defaults(Control):
    """Leaves all reductions to the defaults."""

    def on_ack(self, ack: Ack) -> Grant | None:
        return Grant(window=ack.window + (ack.mss if ack.window < ack.ssthresh else ack.mss * ack.mss / ack.window))


class Spelled(Defaults):
    """Calls the default hooks explicitly; if a class omits a hook, the core uses its own implementation in Rust."""

    def on_loss(self, event: Event) -> Grant | None:
        return super().on_loss(event)

    def on_timeout(self, event: Event) -> Grant | None:
        return super().on_timeout(event)


def test_default_hooks_are_those_of_the_base_class() -> None:
    # The windows that `Defaults` sets in recoveries have no effect, because it does not own the window.
    for path in (PATH, LOSSY.with_(**{"network.trunk_loss.probability": 0.05})):
        assert simulate(with_class(Defaults, path)).state_hash == simulate(with_class(Spelled, path)).state_hash


class Recording(Control):
    """A controller that checks the arguments of its hooks; a failed check fails the run."""

    interval = "10 ms"
    measures_rate = True

    def __init__(self) -> None:
        self.acked, self.sent, self.seen = 0.0, 0.0, 0.0
        self.began = self.ended = 0.0

    def on_ack(self, ack: Ack) -> Grant | None:
        assert ack.una - self.seen == ack.acked
        assert ack.in_flight <= ack.nxt - ack.una
        assert not ack.rtt < ack.min_rtt
        assert not ack.delivery_rate > 10.5e6
        self.seen = ack.una
        self.acked += ack.acked
        return Grant(window=ack.window + (ack.mss if ack.window < ack.ssthresh else ack.mss * ack.mss / ack.window))

    def on_interval(self, interval: Interval) -> None:
        # Intervals are consecutive, and end with the first ACK after 10 ms.
        assert interval.now - interval.duration == pytest.approx(self.ended, abs=1e-9)
        assert interval.duration >= 0.01
        self.ended = interval.now
        assert interval.acked == self.acked
        assert not interval.lowest_rtt > interval.rtt * (1 + 1e-12)
        assert interval.delivery_rate == pytest.approx(8 * interval.delivered / interval.duration)
        self.acked = 0.0
        self.sent += interval.sent
        # All data that was sent was counted, except data sent after the latest ACK.
        assert self.sent >= self.seen


def test_hooks_get_consistent_numbers() -> None:
    assert simulate(with_class(Recording, LOSSY)).efficiency > 0.2


class InOrder(Defaults):
    """Fails the run at the first ACK that shows reordering."""

    def on_ack(self, ack: Ack) -> Grant | None:
        assert not ack.reordered
        return super().on_ack(ack)


def test_acks_report_reordering_and_no_losses() -> None:
    assert simulate(with_class(InOrder, LOSSY)).flows["retransmitted_segments"].sum() > 0
    # 1 % of the packets skip a delay of 20 ms, so that they overtake those sent in the last 20 ms.
    overtaking = [{"kind": "jitter", "delay": "20 ms", "jitter": "0 s"}, {"kind": "reordering", "probability": 0.01}]
    path = PATH.with_(**{"network.conditioners": overtaking})
    with pytest.raises(RunError, match="reordered=True"):
        simulate(with_class(InOrder, path))


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [("10 ms", "time", 0.01), ("1 RTT", "round-trips", 1.0), ("0.5 RTTs", "round-trips", 0.5), ("50 ACKs", "acks", 50)],
)
def test_intervals_are_times_round_trips_or_acks(text: str, kind: str, number: float) -> None:
    counting = type("Counting", (Control,), {"interval": text, "on_interval": lambda self, interval: None})
    assert class_checks.interval_of(counting, "Counting") == (kind, number)
    assert simulate(with_class(counting).with_(duration="1 s")).efficiency > 0.1


def test_a_class_that_paces_sets_the_rate_and_fills_the_line() -> None:
    result = simulate(with_class(f"{FILE}:Paced"))
    # The window grows by at most a half per round trip, and 20 round trips take 2 s.
    assert result.efficiency > 0.5
    # The window is at most twice the BDP of 10 Mbit/s * 0.0915 s.
    assert result.traces["cwnd"]["cwnd_bytes"].max() <= 2 * 10.5e6 / 8 * 0.094
    with pytest.raises(ScenarioError, match="recovery: sack; needs 'rack'"):
        simulate(with_class(f"{FILE}:Paced", PATH.with_(**{"tcp.recovery": "sack"})))


class Drawing(Control):
    """Grows by random amounts."""

    def on_ack(self, ack: Ack) -> Grant | None:
        return Grant(window=ack.window + self.random.random() * ack.mss) if ack.grows else None


def test_random_numbers_follow_from_the_seed_of_the_run() -> None:
    scenario = with_class(Drawing, LOSSY)
    assert simulate(scenario, 1).state_hash == simulate(scenario, 1).state_hash
    # Without losses on the path, runs with different seeds differ only in the class's random numbers.
    still = with_class(Drawing)
    assert simulate(still, 1).state_hash != simulate(still, 2).state_hash


class OverCubic(Control):
    """CUBIC with a different reduction: after a loss, the window is multiplied by `beta` if `beta` is not 0."""

    base = "cubic"

    def __init__(self, beta: float = 0) -> None:
        self.beta = beta

    def on_loss(self, event: Event) -> Grant | None:
        return Grant(window=self.beta * event.window) if self.beta else super().on_loss(event)


class OverBbr(Control):
    base = "bbr"


def test_base_control_acts_if_hooks_return_none() -> None:
    assert simulate(with_class(OverCubic, LOSSY)).state_hash == simulate(LOSSY).state_hash
    with_bbr = LOSSY.with_(**{"tcp.congestion": "bbr", "duration": "3 s"})
    assert simulate(with_class(OverBbr, with_bbr)).state_hash == simulate(with_bbr).state_hash
    changed = simulate(with_class(OverCubic, beta=0.9)).traces["cwnd"]
    window, threshold = changed["cwnd_bytes"].to_numpy(), changed["ssthresh_bytes"].to_numpy()
    # Reductions by HyStart are excluded, because it sets the threshold to the window itself.
    falls = np.flatnonzero((threshold[1:] != threshold[:-1]) & (threshold[1:] < 0.99 * window[:-1]))
    assert threshold[falls[0] + 1] / window[falls[0]] == pytest.approx(0.9, abs=0.01)


# Identity


def test_identity_of_a_class_covers_code_and_references(tmp_path: Path) -> None:
    first = with_class(f"{FILE}:Aimd")
    copied = Path(shutil.copy(FILE, tmp_path))
    # Neither the location nor comments change the identity.
    copied.write_text("# A comment.\n\n" + copied.read_text())
    assert with_class(f"{copied}:Aimd").digest() == first.digest()
    assert with_class(f"{FILE}:Aimd", beta=0.6).digest() != first.digest()
    copied.write_text(copied.read_text().replace("else ack.mss * ack.mss", "else 2 * ack.mss * ack.mss"))
    assert with_class(f"{copied}:Aimd").digest() != first.digest()
    # A scenario that is written to a file contains the class's digest.
    classes._classes.pop(str(first.resolved["flows"][0]["tcp"]["congestion"]["digest"]), None)
    with pytest.raises(ScenarioError, match=r"tcp\.congestion: digest: .*; needs the unchanged class, or no digest"):
        Scenario.from_toml(first.to_toml().replace(str(FILE), str(copied)))
    assert Scenario.from_toml(first.to_toml()).digest() == first.digest()


def test_another_class_replaces_the_digest_of_the_previous_one(tmp_path: Path) -> None:
    first = with_class(f"{FILE}:Aimd")
    other = tmp_path / "other.py"
    other.write_text(FILE.read_text().replace("else ack.mss * ack.mss", "else 2 * ack.mss * ack.mss"))
    changed = first.with_(**{"tcp.congestion.class": f"{other}:Aimd"})
    assert changed.digest() == with_class(f"{other}:Aimd").digest() != first.digest()


def _with_closure(gain: float, helper: Callable[[float], float]) -> type[Control]:
    class Closed(Control):
        def on_ack(self, ack: Ack) -> Grant | None:
            return Grant(window=ack.window + helper(gain) * ack.mss)

    return Closed


def test_the_closure_and_functions_that_are_called_are_part_of_the_identity() -> None:
    def one(x: float) -> float:
        return x

    def two(x: float) -> float:
        return x + 1

    assert identity(_with_closure(1.0, one)) == identity(_with_closure(1.0, one))
    found = {identity(_with_closure(gain, helper)) for gain in (1.0, 2.0) for helper in (one, two)}
    assert len(found) == 4


def test_version_replaces_the_digest_of_the_code() -> None:
    def versioned(version: str, gain: float) -> type[Control]:
        return type("Named", (Control,), {"version": version, "on_ack": lambda self, ack: Grant(window=gain)})

    assert identity(versioned("1", 1.0)) == identity(versioned("1", 2.0)) != identity(versioned("2", 1.0))


def test_every_process_gives_a_class_the_same_identity() -> None:
    code = (
        "import sys; from longpipe.controls.classes import load; print(*(load(target).digest for target in "
        "sys.argv[1:]))"
    )
    targets = [f"{FILE}:Aimd", f"{FILE}:CompiledAimd"]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, *targets], capture_output=True, check=True, text=True, timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.split() == [classes.load(target).digest for target in targets]


def test_stored_run_is_readable_without_its_class(tmp_path: Path) -> None:
    file = Path(shutil.copy(FILE, tmp_path))
    file.write_text(file.read_text() + "\n\nclass Gone(Aimd):\n    kept = 3\n")
    scenario = with_class(f"{file}:Gone")
    with closing(Store(tmp_path / "runs.db")) as store:
        result = simulate(scenario)
        store.keep(result, 1.0)
        text = scenario.to_toml()
        file.unlink()
        classes._classes.clear()
        stored = store.load(Scenario.from_toml(text), 1)
        assert stored is not None
        assert stored.state_hash == result.state_hash


# Other processes


def test_a_class_is_a_level_of_a_design_that_a_study_stores(tmp_path: Path) -> None:
    cls = classes.load(f"{FILE}:Aimd").cls
    assert cls is not None
    name = f"{cls.__module__}:Aimd"
    field = "network.group.0.tcp.congestion"
    base = PATH.with_(**{"network.group": [{"name": "a"}, {"name": "b"}], "duration": "1 s"})
    plain = Factor.over(field, [cls, {"kind": "python", "class": cls, "parameters": {"beta": 0.7}}, "cubic"], "cc")
    assert list(plain.levels) == ["Aimd", "python", "cubic"]
    groups = [{"name": "a", "tcp": {"congestion": {"kind": "python", "class": cls, "parameters": {"beta": 0.6}}}}]
    factor = Factor("cc", {**plain.levels, "groups": {"network.group": groups}})
    design = Design.full_factorial(base, [factor], replications=1)
    read = from_json(to_json(design))
    assert read == design
    assert [one.digest() for one in read.scenarios] == [one.digest() for one in design.scenarios]
    assert f'"kind":"python","class":"{name}","digest"' in to_json(design)
    with closing(Store(tmp_path / "x.db")) as store:
        study = Study(design, store, "classes")
        study.run()
        assert len(study.frame()) == 4
    with pytest.raises(ScenarioError, match=r"needs a subclass of longpipe\.Control"):
        Factor.over(field, [dict])


def test_workers_get_the_class_with_the_job(tmp_path: Path) -> None:
    local = with_class(Defaults).with_(duration="2 s")
    assert outcomes(Processes(2), [(local, 1), (local, 2)]) == expected(local, [1, 2])
    # This process has neither the module nor the file.
    file = Path(shutil.copy(FILE, tmp_path))
    sent = pickle.dumps(with_class(f"{file}:Aimd"))
    here = simulate(pickle.loads(sent)).state_hash
    file.unlink()
    there = (
        "import pickle, sys; from longpipe import simulate\nprint(simulate(pickle.load(sys.stdin.buffer)).state_hash)"
    )
    done = subprocess.run([sys.executable, "-c", there], input=sent, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().strip() == here


def test_dask_cluster_runs_a_class_and_reports_failures(tmp_path: Path) -> None:
    scenario = with_class(f"{FILE}:Aimd").with_(duration="2 s")
    with cluster(tmp_path, 1) as started:
        assert outcomes(started.address, [(scenario, 1)]) == expected(scenario, [1])
        failing = with_class(f"{FILE}:Aimd", crashes_after=0.5)
        (failed,) = outcomes(started.address, [(failing, 1)]).values()
    assert isinstance(failed, Failure)
    assert "LookupError: no such window" in failed.reason


# Classes that fail


def test_worker_process_follows_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = tmp_path / "removed"
    removed.mkdir()
    monkeypatch.setattr(isolation, "_idle", [])
    with monkeypatch.context() as context:
        context.chdir(removed)
        simulate(with_class(f"{FILE}:Aimd"))
        removed.rmdir()
        simulate(with_class(f"{FILE}:Aimd"))
    with pytest.raises(RunError, match=r"aimd\.py"):
        simulate(with_class(f"{FILE}:Aimd", crashes_after=0.5))
    # The test ends these processes itself, because nothing else ends the processes in its list.
    isolation._end_all()


@pytest.mark.skipif(sys.platform == "win32", reason="closes a pipe as POSIX does")
def test_worker_without_a_parent_ends_without_a_traceback() -> None:
    command = [sys.executable, "-c", isolation._START, *sys.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(pickle.dumps((bool, (), 1.0, None)), timeout=60)
    assert (process.returncode, errors) == (1, b"")


def test_an_error_is_one_line_with_the_file_and_line_of_the_class() -> None:
    with pytest.raises(RunError) as error:
        simulate(with_class(f"{FILE}:Aimd", crashes_after=0.5))
    number = next(i for i, line in enumerate(FILE.read_text().splitlines(), 1) if "raise LookupError" in line)
    where = FILE.relative_to(Path.cwd()) if FILE.is_relative_to(Path.cwd()) else FILE
    assert str(error.value).startswith(
        f"{where}:{number}: LookupError: no such window (in on_ack of {FILE}:Aimd, at 0.5"
    )
    assert "\n" not in str(error.value)


class Returning(Control):
    """A controller whose hook returns the value that its parameter selects."""

    def __init__(self, what: str = "none", window: float = 0.0) -> None:
        self.what, self.window = what, window
        if what == "raises":
            raise KeyError(what)

    def on_ack(self, ack: Ack) -> Any:  # noqa: ANN401 - also accepts values that are not grants
        match self.what:
            case "number":
                return 3
            case "rate":
                return Grant(rate=1e6)
            case "endless":
                while True:
                    pass
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exit":
                os._exit(3)
            case "window":
                return Grant(window=self.window) if ack.now > 1 else None
        return None


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if text in line)


def test_invalid_grant_is_named() -> None:
    hook = f"{Path(__file__).name}:{line_of('def on_ack(self, ack: Ack) -> Any')}: TypeError: "
    for what, told in (
        ("number", "returns 3; needs a longpipe.Grant or None (in on_ack of "),
        ("rate", "returns a Grant with a rate; needs paces = True in the class, which gives its connections a pacer"),
    ):
        with pytest.raises(RunError) as error:
            simulate(with_class(Returning, what=what))
        assert hook + told in str(error.value)
    with pytest.raises(RunError, match=r":\d+: KeyError: 'raises' \(in __init__ of .*Returning, at 0\.000000 s\)"):
        simulate(with_class(Returning, what="raises"))


def test_an_endless_loop_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.5)
    with pytest.raises(RunError) as error:
        simulate(with_class(Returning, what="endless"))
    place, lines = f"{Path(__file__).name}:", (line_of("while True:"), line_of("while True:") + 1)
    told = rf"did not return within 0\.5 s of processor time \(in on_ack of {__name__}:Returning, at \d+\.\d{{6}} s\)"
    assert re.search(
        rf"{place}(?:{lines[0]}|{lines[1]}): {told}; the run is lost and is not repeated$", str(error.value)
    )


def test_a_crash_loses_one_run_and_names_the_class() -> None:
    """A library that a class calls may terminate the process."""
    fine, fatal = with_class(Defaults).with_(duration="2 s"), with_class(Returning, what="crash")
    found = outcomes(Processes(2), [(fine, 1), (fatal, 2), (fine, 3)])
    lost = f"{__name__}:Returning: the class crashed by SIGSEGV; the run is lost and is not repeated"
    assert found.pop(2) == Failure(lost)
    assert found == expected(fine, [1, 3])
    with pytest.raises(RunError, match="Returning: the class ended the process with exit status 3"):
        simulate(with_class(Returning, what="exit"))


@pytest.mark.parametrize(
    ("window", "told"),
    [
        (0.0, "sets a window of 0 bytes at 1.0"),
        (-1e4, "sets a window of -10000 bytes at 1.0"),
        (1e300, "sets a window of 1"),
    ],
)
def test_invalid_values_are_replaced_and_reported(window: float, told: str) -> None:
    result = simulate(with_class(Returning, what="window", window=window))
    (warning,) = result.replaced
    assert f"Returning: {told}" in warning
    assert result.traces["cwnd"]["cwnd_bytes"].between(1448, 2**30).all()


class NotANumber(Control):
    """A controller that divides by zero."""

    paces = True

    def on_ack(self, ack: Ack) -> Grant:
        return Grant(window=float("nan"), ssthresh=float("nan"), rate=float("inf") if ack.now < 1 else 0.0)


def test_non_finite_numbers_are_replaced() -> None:
    told = simulate(with_class(NotANumber).with_(duration="2 s")).replaced
    kinds = [line.partition(": ")[2].partition(" of ")[0] for line in told]
    assert kinds == ["sets a window", "sets a slow-start threshold", "sets a pacing rate"]
    assert [line.partition(" of ")[2].split()[0] for line in told] == ["NaN", "NaN", "inf"]


# Invalid input


class Nothing(Control):
    """A class without hooks."""


class Misspelled(Defaults):
    """A class with a hook that does not exist."""

    def on_los(self, event: Event) -> None:
        pass


def test_invalid_controller_is_rejected_in_one_line(tmp_path: Path) -> None:
    field = "tcp.congestion.class: "
    needs = "needs a subclass of longpipe.Control, as 'package.module:Class' or 'file.py:Class'"
    assert refusal("nowhere") == f"{field}'nowhere'; {needs}"
    assert refusal("no_module:Mine") == f"{field}no_module:Mine; ModuleNotFoundError: No module named 'no_module'"
    assert refusal("math:pi") == f"{field}math:pi; {needs}"
    assert refusal(int) == f"{field}builtins:int; {needs}"
    assert (
        refusal(f"{tmp_path}/none.py:Mine") == f"{field}{tmp_path}/none.py; cannot be read, no such file or directory"
    )
    assert refusal(f"{FILE}:Mine") == f"{field}{FILE}:Mine; {FILE} has no Mine; {needs}"
    bad = tmp_path / "bad.py"
    bad.write_text("import math\n\nclass Mine(:\n")
    assert refusal(f"{bad}:Mine") == f"{field}{bad}:Mine; {bad}:3: SyntaxError: invalid syntax"
    bad.write_text("import math\n\nmath.nothing\n")
    assert refusal(f"{bad}:Mine").startswith(f"{field}{bad}:Mine; {bad}:3: AttributeError")
    assert refusal(Nothing).endswith("Nothing; has no on_ack; needs one, interval and on_interval, or a base")
    assert "has on_los, which is not a hook; did you mean 'on_lost'?" in refusal(Misspelled)
    over_dctcp = type("Over", (Control,), {"base": "dctcp"})
    over_reno = type("Over", (Control,), {"base": "reno"})
    assert refusal(over_reno).endswith("Over; base 'reno'; needs 'linux-reno', Reno of Linux")
    assert "Over; base 'dctcp', which needs ECN; accepts aimd, bbr," in refusal(over_dctcp)
    for interval, told in (("1 week", "interval '1 week'; needs a time"), ("0 RTT", "interval '0 RTT'"), ("-1 ms", "")):
        late = type("Late", (Defaults,), {"interval": interval, "on_interval": lambda self, interval: None})
        assert told in refusal(late)
        assert "needs a time, round trips or ACKs, as in '10 ms', '1 RTT' or '50 ACKs'" in refusal(late)
    assert refusal(type("Half", (Defaults,), {"interval": "1 RTT"})).endswith("has an interval; also needs on_interval")


MISSPELT = {
    "intervall": ("1 RTT", "interval"), "Interval": ("1 RTT", "interval"), "pace": (True, "paces"),
    "own_window": (True, "owns_window"), "measure_rate": (True, "measures_rate"),
    "measures_delays": (True, "measures_delay"), "bases": ("cubic", "base"), "verison": ("2", "version"),
    "state_field": (("window",), "state_fields"),
}  # fmt: skip


def test_each_setting_of_a_class_is_known() -> None:
    set_by_longpipe = {"ecn", "state", "_seed"}
    assert inspect.get_annotations(Control).keys() - set_by_longpipe == class_checks.SETTINGS.keys()
    assert {setting for _, setting in MISSPELT.values()} == class_checks.SETTINGS.keys()


@pytest.mark.parametrize("attribute", MISSPELT)
def test_a_misspelt_setting_of_a_class_is_rejected(attribute: str) -> None:
    value, setting = MISSPELT[attribute]
    told = f"has {attribute} = {value!r}, which has no effect: did you mean {setting!r}? Needs that name, or a less "
    assert told in refusal(type("Mine", (Defaults,), {attribute: value}))
    # The attribute may be inherited from a class between this one and Control.
    assert told in refusal(type("Mine", (type("Shared", (Defaults,), {attribute: value}),), {}))


def test_own_attributes_of_a_class_are_permitted() -> None:
    own = {
        "_interval": "10 ms",
        "_version": "1",
        "intervals": 0,
        "pacing_gain": 1.25,
        "rate": 5e6,
        "base_rtt": 0.1,
        "window": 10,
        "versions": (1, 2),
    }
    assert classes.load(type("Mine", (Defaults,), own)).cls is not None
    # An attribute that a superclass has is spelt correctly.
    assert classes.load(type("Mine", (Defaults,), {"paces": True, "measures_rate": True})).cls is not None


def test_parameters_are_rejected_by_name() -> None:
    told = "tcp.congestion: parameters.bata: unknown; did you mean 'beta'? accepts beta, crashes_after"
    assert refusal(f"{FILE}:Aimd", bata=3) == told
    assert refusal(Defaults, x=1) == "tcp.congestion: parameters.x: unknown; the class has no parameters"

    class Needing(Defaults):
        def __init__(self, gain: float) -> None:
            self.gain = gain

    assert "parameters.gain: missing" in refusal(Needing)


def test_the_documentation_lists_every_field_of_an_ack() -> None:
    page = (Path(__file__).parents[1] / "docs" / "python-control.md").read_text(encoding="utf-8")
    table = page.partition("| field of `ack` | meaning |\n| --- | --- |\n")[2].partition("\n\n")[0]
    names = [row.split("`")[1] for row in table.splitlines()]
    numbers, flags = Ack._fields()
    assert names == [*numbers, *flags]
