import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from commands import run
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.store import Store
from longpipe.study import Progress, Study
from longpipe.system.interrupts import TerminatedError, deferred, terminable


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_waits_until_the_block_has_ended() -> None:
    did: list[str] = []

    def work() -> None:
        with deferred():
            interrupt()
            did.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert did == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait() -> None:
    did: list[str] = []

    def work() -> None:
        with deferred():
            interrupt()
            did.append("some")
            interrupt()
            did.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert did == ["some"]


def test_an_error_in_the_block_is_reported_without_an_interrupt() -> None:
    with pytest.raises(ValueError, match="wrong"), deferred():
        raise ValueError("wrong")


def test_other_threads_and_ignored_ctrl_c_have_no_effect() -> None:
    did: list[str] = []

    def work() -> None:
        with deferred():
            did.append("work")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred():
            interrupt()
            did.append("ignored")
    finally:
        signal.signal(signal.SIGINT, before)
    assert did == ["work", "ignored"]


def test_transactions_are_atomic_under_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"

    def work(store: Store) -> None:
        with store.writing() as connection:
            connection.exec_driver_sql("create table half (number integer)")
            interrupt()
            connection.exec_driver_sql("insert into half values (1)")

    with closing(Store(path)) as store:
        with pytest.raises(KeyboardInterrupt):
            work(store)
        with closing(sqlite3.connect(path, timeout=0)) as other:
            other.execute("begin immediate")
            assert other.execute("select number from half").fetchall() == [(1,)]


def test_transactions_are_atomic_under_sigterm(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"

    def work(store: Store) -> None:
        with terminable(), store.writing() as connection:
            connection.exec_driver_sql("create table half (number integer)")
            os.kill(os.getpid(), signal.SIGTERM)
            connection.exec_driver_sql("insert into half values (1)")

    with closing(Store(path)) as store:
        with pytest.raises(TerminatedError):
            work(store)
        with closing(sqlite3.connect(path, timeout=0)) as other:
            other.execute("begin immediate")
            assert other.execute("select number from half").fetchall() == [(1,)]


def test_a_sigterm_after_a_ctrl_c_does_not_wait() -> None:
    did: list[str] = []

    def work() -> None:
        with terminable(), deferred():
            interrupt()
            did.append("some")
            os.kill(os.getpid(), signal.SIGTERM)
            did.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert did == ["some"]


def test_sigterm_ends_a_block_and_is_restored_after_it() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(TerminatedError), terminable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def finished(path: Path) -> int:
    with closing(sqlite3.connect(path, timeout=60)) as database:
        try:
            return int(database.execute("select count(*) from runs").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_a_sigterm_of_a_study_shows_how_to_continue(tmp_path: Path) -> None:
    toml = 'duration = "200 ms"\nframing = "ip"\nswitch.buffer = "100 packets"\n'
    (tmp_path / "many.toml").write_text(toml, encoding="utf-8")
    design = ["design", "many.toml", "--factor", "switch.buffer=100 packets,200 packets", "--replications", "2000"]
    command = [sys.executable, "-m", "longpipe", *design, "--run", "many", "--store", "runs.db", "--workers", "1"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 120
        while not finished(tmp_path / "runs.db") and time.monotonic() < deadline:
            time.sleep(0.05)
        process.terminate()
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 143, errors
    assert "finished runs are stored; continue with: longpipe design many.toml" in errors


TWICE = """
import atexit, sys, time
from pathlib import Path
import longpipe.cli
from longpipe.__main__ import main

def wait(name):
    Path(name).touch()
    time.sleep(60)

# The second Ctrl-C comes while the first one ends the process.
atexit.register(wait, "second")
longpipe.cli._command = lambda: lambda **_: wait("first")
main()
"""


def test_a_second_ctrl_c_is_status_130_without_a_traceback(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", TWICE], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            for name in ("first", "second"):
                deadline = time.monotonic() + 60
                while not (tmp_path / name).exists():
                    assert time.monotonic() < deadline
                    assert process.poll() is None
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, set(errors.splitlines())) == (130, {"interrupted"})


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6])
def test_ctrl_c_during_start_causes_no_traceback(after_s: float) -> None:
    # Before Python has started, longpipe cannot handle Ctrl-C.
    begun = (
        "from longpipe.system.interrupts import exit_on_interrupt; exit_on_interrupt(); print('up', end='', flush=True)"
    )
    code = f"{begun}; from longpipe.__main__ import main; main()"
    command = [sys.executable, "-c", code, "run", "no.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(2) == b"up"
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    answer = b"error: no.toml: cannot be read, no such file or directory; needs a TOML file\n"
    assert (process.returncode, errors) in {
        (130, b"interrupted\n"),
        # The command had ended, or Python was about to end, which restores the default handler.
        (2, answer),
        (-signal.SIGINT, answer),
    }


def test_ctrl_c_notes_the_number_of_kept_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longpipe.executors.batches.LARGEST", 1)
    design = Design.full_factorial(
        Scenario(defaults="1996", duration="10 ms"),
        [Factor.over("switch.buffer", ["100 cells", "200 cells"])],
        replications=2,
    )
    study = Study(design, name="lan")

    def stop(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        study.run(workers=1, progress=stop)
    note = "study 'lan': 1 of 4 runs finished and kept (store: in memory); the same call continues"
    assert stopped.value.__notes__ == [note]
    assert study.run(workers=1).complete


def test_interruption_of_one_command_does_not_change_the_next() -> None:
    with pytest.raises(TerminatedError), terminable():
        os.kill(os.getpid(), signal.SIGTERM)
    done = run("run", "no.toml")
    assert (done.returncode, done.stderr.split(":")[0]) == (2, "error")
