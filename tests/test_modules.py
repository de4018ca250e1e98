"""Congestion controllers from files: the modules in data/modules, which longpipe's authors wrote."""

import os
import pickle
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster import Cluster, cluster
from commands import run
from jobs import expected, outcomes
from longpipe import RunError, Scenario, ScenarioError, simulate
from longpipe.controls import isolation, objects
from longpipe.controls.compiler import build
from longpipe.controls.facts import facts
from longpipe.controls.usage import usage
from longpipe.executors import Failure, Processes
from longpipe.result import Result
from longpipe.store import Store

MODULES = Path(__file__).parent / "data" / "modules"
AIMD, RATE = MODULES / "tcp_aimd.c", MODULES / "tcp_rate.c"

# The path has 10 Mbit/s, 100 ms and a buffer of 100 packets; the first loss occurs after 1.2 s.
PATH = Scenario.from_toml("""
duration = "5 s"
schema = 1
framing = "ip"
tcp.profile = "linux-6"
tcp.receiver_window = "2 MB"
switch.buffer = "100 packets"
network = {kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s", trunk_delay = "45 ms", access_rate = "100 Mbit/s"}
traces.cwnd = true
""")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def with_module(file: Path | str, path: Scenario = PATH, hz: int | None = None, **parameters: Any) -> Scenario:  # noqa: ANN401 - values of any type
    module = {"kind": "module", "file": str(file), "parameters": parameters} | ({} if hz is None else {"hz": hz})
    return path.with_(**{"tcp.congestion": module})


def cuts(result: Result, flow: str = "flow1") -> list[float]:
    """Returns the factor by which each fast retransmit reduces the window, computed from the new threshold."""
    trace = result.traces["cwnd"].query("flow == @flow")
    threshold, window = trace["ssthresh_bytes"].to_numpy(), trace["cwnd_bytes"].to_numpy()
    falls = np.flatnonzero(threshold[1:] < window[:-1] * 0.95) + 1
    first = [fall for fall in falls if threshold[fall] != threshold[fall - 1]]
    return [threshold[fall] / window[fall - 1] for fall in first]


def of_core(scenario: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = scenario.resolved["flows"][0]["tcp"]["congestion"]
    return found


# Results of a module


def test_aimd_module_with_half_is_bit_identical_to_linux_reno() -> None:
    """The defaults of tcp_aimd.c are tcp_reno_ssthresh and tcp_reno_cong_avoid, which `linux-reno` implements in Rust."""
    for path in (PATH, PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.002}})):
        native = simulate(path.with_(**{"tcp.congestion": "linux-reno"}))
        assert simulate(with_module(AIMD, path)).state_hash == native.state_hash


@pytest.mark.parametrize("beta", [512, 717, 900])
def test_parameter_of_a_module_sets_the_window_after_a_loss(beta: int) -> None:
    found = cuts(simulate(with_module(AIMD, beta=beta)))
    # Values are whole segments, and the window has about 180.
    assert found
    assert found == pytest.approx([beta / 1024] * len(found), abs=0.01)


def test_parameter_sets_in_one_scenario_are_independent() -> None:
    module = {"kind": "module", "file": str(AIMD)}
    flows = [
        {"name": name, "from": "a", "to": "b", "tcp": {"congestion": {**module, "parameters": {"beta": beta}}}}
        for name, beta in (("half", 512), ("most", 900))
    ]
    links = [
        {"between": ["a", "s"], "rate": "100 Mbit/s", "delay": "1 ms"},
        {"between": ["s", "b"], "rate": "10 Mbit/s", "delay": "45 ms"},
    ]
    nodes = [{"name": "a", "kind": "host"}, {"name": "s", "kind": "switch"}, {"name": "b", "kind": "host"}]
    network = {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
    result = simulate(PATH.with_(network=network))
    for name, beta in (("half", 512), ("most", 900)):
        found = cuts(result, name)
        assert found
        assert found == pytest.approx([beta / 1024] * len(found), abs=0.02)


def test_runs_have_separate_statics() -> None:
    # tcp_aimd.c counts its connections in a static variable; in any one copy of it, the fourth connection would crash.
    counting = with_module(AIMD, crashes_at=4).with_(duration="500 ms")
    hashes = {simulate(counting).state_hash for _ in range(6)}
    assert len(hashes) == 1
    beside = outcomes(Processes(2), [(counting, seed) for seed in range(1, 7)])
    assert beside == expected(counting, range(1, 7))
    with pytest.raises(RunError, match="crashed by SIGSEGV"):
        simulate(counting.with_(**{"network.sources": 4}))


def test_the_clock_is_that_of_the_scenario_unless_the_module_has_one() -> None:
    assert of_core(with_module(AIMD))["hz"] == 250
    assert of_core(with_module(AIMD, PATH.with_(**{"tcp.hz": 1000})))["hz"] == 1000
    assert of_core(with_module(AIMD, hz=100))["hz"] == 100
    seen = {hz: cuts(simulate(with_module(AIMD, hz=hz, beta_is_hz=1))) for hz in (250, 500)}
    assert seen[250][0] == pytest.approx(250 / 1024, abs=0.01)
    assert seen[500][0] == pytest.approx(500 / 1024, abs=0.01)


def test_cong_control_of_linux_6_10_gets_four_arguments_and_sets_the_rate() -> None:
    assert build([RATE]).linux == "6.10"
    assert build([AIMD]).linux == "6.1"
    with pytest.raises(ScenarioError, match=r"tcp_rate\.c:\d+: does not compile: .*incompatible pointer"):
        build([RATE], "6.1")
    # A gain of 1 keeps the rate and an empty queue; a gain of 5/4 fills it. A packet takes 1.2 ms. The RTT would include
    # the time for which an ACK waits for a second segment.
    gentle, eager = (simulate(with_module(RATE, gain=gain).with_(**{"traces.queue": True})) for gain in (256, 320))
    trunk = "port == 'switch1->switch2' and time_s > 3"
    packets = [result.traces["queue"].query(trunk)["queue_packets"] for result in (gentle, eager)]
    assert packets[0].max() * 0.0012 < 0.004 < 0.05 < packets[1].median() * 0.0012
    assert eager.efficiency > 0.75


def test_a_module_that_moves_the_window_in_recovery_needs_rack() -> None:
    with pytest.raises(ScenarioError, match="recovery: sack; needs 'rack'"):
        simulate(with_module(RATE, PATH.with_(**{"tcp.recovery": "sack"})))
    assert simulate(with_module(AIMD, PATH.with_(**{"tcp.recovery": "sack"}))).efficiency > 0.8


# Identity


def test_module_is_identified_by_source_parameters_and_clock(tmp_path: Path) -> None:
    first = with_module(AIMD)
    copied = Path(shutil.copy(AIMD, tmp_path))
    built = tmp_path / "other.so"
    built.write_bytes(build([AIMD]).content)
    assert with_module(copied).digest() == with_module(built).digest() == first.digest()
    assert len({first.digest(), with_module(AIMD, beta=600).digest(), with_module(AIMD, hz=100).digest()}) == 3
    copied.write_text(copied.read_text().replace("beta __read_mostly = 512", "beta __read_mostly = 513"))
    changed = with_module(copied)
    assert changed.digest() != first.digest()
    # A scenario written to a file contains the digest of the module's source.
    with pytest.raises(ScenarioError, match=r"tcp\.congestion: digest: .*; needs the unchanged file, or no digest"):
        Scenario.from_toml(first.to_toml().replace(str(AIMD), str(copied)))
    assert Scenario.from_toml(first.to_toml()).digest() == first.digest()


NEEDS_EXPORT = """
#include <net/tcp.h>
u32 exported_ssthresh(struct sock *sk);
static struct tcp_congestion_ops ops = {
	.ssthresh = exported_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE, .name = "needs",
};
static int __init needs_register(void) { return tcp_register_congestion_control(&ops); }
module_init(needs_register);
"""
EXPORTS = """
#include <net/tcp.h>
#include "least.h"
u32 exported_ssthresh(struct sock *sk) { return LEAST; }
EXPORT_SYMBOL_GPL(exported_ssthresh);
static int __init exports_register(void) { return 0; }
module_init(exports_register);
"""


@pytest.mark.parametrize("exporting", ["tcp_exports.c", "exports.c"])
@pytest.mark.parametrize("changed", ["module", "header"])
def test_a_cached_object_follows_changes_of_exporting_modules(exporting: str, changed: str, tmp_path: Path) -> None:
    source, beside, header = tmp_path / "tcp_needs.c", tmp_path / exporting, tmp_path / "least.h"
    source.write_text(NEEDS_EXPORT)
    beside.write_text(EXPORTS)
    header.write_text("#define LEAST 2\n")
    first = objects.find(str(source)).digest
    assert objects.find(str(source)).digest == first
    if changed == "module":
        beside.write_text(EXPORTS.replace("LEAST;", "3;"))
    else:
        header.write_text("#define LEAST 3\n")
    assert objects.find(str(source)).digest == build([source]).facts.source != first


def test_stored_run_is_readable_without_its_module(tmp_path: Path) -> None:
    file = Path(shutil.copy(AIMD, tmp_path))
    scenario = with_module(file, beta=700)
    with closing(Store(tmp_path / "runs.db")) as store:
        result = simulate(scenario)
        store.keep(result, 1.0)
        file.unlink()
        again = Scenario.from_toml(scenario.to_toml())
        stored = store.load(again, 1)
        assert stored is not None
        assert stored.state_hash == result.state_hash


def test_another_machine_gets_the_object_with_the_job(tmp_path: Path) -> None:
    file = Path(shutil.copy(AIMD, tmp_path))
    # The text is made unique, so that no other test has built it.
    file.write_text(file.read_text() + "/* another machine */\n")
    sent = pickle.dumps(with_module(file))
    here = simulate(pickle.loads(sent)).state_hash
    file.unlink()
    there = (
        "import pickle, sys; from longpipe import simulate\nprint(simulate(pickle.load(sys.stdin.buffer)).state_hash)"
    )
    done = subprocess.run(
        [sys.executable, "-c", there], input=sent, capture_output=True, check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}, timeout=60,
    )  # fmt: skip
    assert done.stdout.decode().strip() == here


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a generator
    with cluster(tmp_path_factory.mktemp("dask"), 1) as started:
        yield started


def test_dask_cluster_runs_a_module_and_reports_crashes(one_worker: Cluster) -> None:
    scenario = with_module(AIMD).with_(duration="2 s")
    assert outcomes(one_worker.address, [(scenario, 1)]) == expected(scenario, [1])
    (failed,) = outcomes(one_worker.address, [(with_module(AIMD, misbehaves=3), 1)]).values()
    assert isinstance(failed, Failure)
    assert failed.reason == f"{AIMD}: the module crashed by SIGSEGV; the run is lost and is not repeated"


# Modules that fail


def test_a_crash_loses_one_run_and_names_the_module() -> None:
    crash = f"{AIMD}: the module crashed by SIGSEGV; the run is lost and is not repeated"
    with pytest.raises(RunError) as error:
        simulate(with_module(AIMD, misbehaves=3))
    assert str(error.value) == crash
    fine, fatal = with_module(AIMD).with_(duration="2 s"), with_module(AIMD, misbehaves=3)
    found = outcomes(Processes(2), [(fine, 1), (fatal, 2), (fine, 3), (fine, 4)])
    assert found.pop(2) == Failure(crash)
    assert found == expected(fine, [1, 3, 4])


def test_a_call_that_never_returns_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.5)
    with pytest.raises(RunError) as error:
        simulate(with_module(AIMD, misbehaves=4))
    told = f"{AIMD}: a call of the module did not return within 0.5 s of processor time; the run is lost and is not repeated"
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("file", "misbehaves", "told"),
    [
        (AIMD, 1, "sets a window of 0 bytes at 1.2"),
        # The window is 2³² - 1 segments of 1448 bytes.
        (AIMD, 2, "sets a window of 6219112643160 bytes at 1.2"),
        (RATE, 1, "sets a pacing rate of 0 bit/s at 0.18"),
    ],
)
def test_invalid_values_are_replaced_and_reported(file: Path, misbehaves: int, told: str, tmp_path: Path) -> None:
    scenario = with_module(file, misbehaves=misbehaves)
    result = simulate(scenario)
    (warning,) = result.replaced
    assert warning.startswith(f"{file}: {told}")
    assert warning in result.warnings
    assert np.isfinite(result.traces["cwnd"]["cwnd_bytes"]).all()
    assert result.traces["cwnd"]["cwnd_bytes"].between(1448, 2**30).all()
    with closing(Store(tmp_path / "runs.db")) as store:
        store.keep(result, 1.0)
        stored = store.load(scenario, 1)
        assert stored is not None
        assert stored.replaced == result.replaced


def test_valid_module_reports_no_complaints() -> None:
    result = simulate(with_module(AIMD))
    assert result.replaced == ()
    assert "modules" not in result.summary()


# Invalid input


def refusal(file: Path | str, **parameters: Any) -> str:  # noqa: ANN401 - values of any type
    with pytest.raises(ScenarioError) as error:
        simulate(with_module(file, **parameters))
    (line,) = error.value.problems
    assert "\n" not in line
    return line


def test_other_files_are_rejected_as_modules_in_one_line(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.so").startswith(f"{tmp_path}/none.so: cannot be read, no such file")
    text, other, source = tmp_path / "text.so", tmp_path / "other.so", tmp_path / "tcp_bad.c"
    text.write_text("no object")
    assert refusal(text) == (
        f"{text}: not a shared object; needs one built by `longpipe cc build`, a C source (.c), or WebAssembly"
    )
    other.write_bytes(b"\x7fELF" + bytes(100))
    assert refusal(other).startswith(f"{other}: not a congestion controller; needs an object")
    other.write_bytes(build([AIMD]).content.replace(b"\x01longpipe\x01interface=1\0", b"\x01longpipe\x01interface=9\0"))
    assert refusal(other) == (f"{other}: interface version 9; needs 1: rebuild it with `longpipe cc build`")
    # An object that contains an invalid description of itself.
    other.write_bytes(build([AIMD]).content[:8000])
    assert "needs" in refusal(other)
    source.write_text(AIMD.read_text().replace("tcp_slow_start(tp, acked)", "tcp_sprint(tp, acked)"))
    lacks = "needs names that longpipe's header for modules lacks: tcp_sprint (function)"
    assert refusal(source) == f"{source}: {lacks}"
    source.write_text(AIMD.read_text().replace(".undo_cwnd\t= tcp_reno_undo_cwnd,", ""))
    assert refusal(source).startswith(
        f"tcp.congestion.file: {source}; its module_init() fails: struct tcp_congestion_ops"
    )
    source.write_text(AIMD.read_text().replace("ca->losses++;", "ca->losses + ;"))
    assert f"{source}:" in refusal(source)
    assert "does not compile" in refusal(source)
    source.write_text("int main(void) { return 0; }")
    assert refusal(source).startswith(f"{source}: registers no congestion control in module_init(); needs the C source")
    source.write_text(f'#include "longpipe_control.h"\n{AIMD.read_text()}')
    assert refusal(source).startswith(f"{source}: uses longpipe_control.h; compile it with cc -shared -fPIC")
    for verb in ("check", "build"):
        done = longpipe("cc", verb, source)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {source}: uses longpipe_control.h; compile it with cc -shared")


def test_parameters_are_rejected_by_name() -> None:
    known = "beta, beta_is_hz, crashes_at, initial_ssthresh, misbehaves"
    assert refusal(AIMD, bata=3) == f"tcp.congestion: parameters.bata: unknown; did you mean 'beta'? accepts {known}"
    assert refusal(AIMD, beta=0.7) == "tcp.congestion.parameters.beta: 0.7; needs a whole number"
    assert refusal(AIMD, misbehaves=-1) == "tcp.congestion.parameters.misbehaves: -1; the module does not accept it"
    with pytest.raises(ScenarioError, match=r"tcp\.congestion\.hz: 10; needs at least 24"):
        with_module(AIMD, hz=10)


# The commands


def longpipe(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(*arguments, environment=environment)


def test_build_writes_and_describes_an_object(tmp_path: Path) -> None:
    target = tmp_path / "mine.so"
    done = longpipe("cc", "build", AIMD, "-o", target)
    assert done.returncode == 0
    identity = facts(target.read_bytes()).source
    assert done.stdout.splitlines() == [
        f"{target}: for the interface of Linux 6.1, identity {identity[:12]}",
        "parameters: beta, beta_is_hz, crashes_at, initial_ssthresh, misbehaves",
    ]
    assert objects.find(str(target)).digest == identity
    assert longpipe("cc", "check", target).stdout.splitlines()[0] == (
        f"{target}: aimd, for the interface of longpipe_control.h, version 1"
    )
    missing = longpipe("cc", "build", AIMD, "-o", target, PATH=str(tmp_path), CC="")
    assert missing.returncode == 1
    assert missing.stderr.startswith("error: no C compiler: needs cc, gcc or clang")


def test_check_lists_used_and_missing_functions_of_a_module(tmp_path: Path) -> None:
    found = usage(str(RATE))
    assert (found.name, found.linux) == ("rate", "6.10")
    assert found.operations == ("cong_control", "init", "ssthresh", "undo_cwnd")
    assert found.fields["rate_sample"] == ("acked_sacked", "delivered", "interval_us", "prior_delivered", "rtt_us")
    assert found.fields["sock"] == ("sk_pacing_rate", "sk_pacing_status")
    assert {"minmax_running_max", "tcp_snd_cwnd_set"} <= set(found.helpers)
    assert found.parameters == {"gain": "uint", "misbehaves": "uint"}
    note = "note: with cong_control, only the module reduces the window after a loss; Linux's own reduction is off"
    assert note in longpipe("cc", "check", RATE).stdout.splitlines()
    file = tmp_path / "tcp_new.c"
    more = "tp->snd_ssthresh = tp->plb_rehash + frobnicate(MAX_TCP_FROBS);"
    text = AIMD.read_text().replace("u32 number;", "u32 number; struct_of_tomorrow *next;")
    file.write_text(text.replace("ca->losses = 0;", f"struct tcp_sock *tp = tcp_sk(sk); {more}"))
    done = longpipe("cc", "check", file)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "missing: MAX_TCP_FROBS (name), frobnicate (function), plb_rehash (field), struct_of_tomorrow (type)"
    )


def test_run_warns_and_names(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(with_module(AIMD, misbehaves=1).to_toml())
    done = longpipe("run", file, "--no-store")
    assert done.returncode == 0
    assert f"warning: {AIMD}: sets a window of 0 bytes" in done.stderr
    done = longpipe("run", file, "--no-store", "--set", "tcp.congestion.parameters.misbehaves=3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"error: {AIMD}: the module crashed by SIGSEGV; the run is lost and is not repeated"
    )
