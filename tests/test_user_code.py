"""Code of the user that exits, loops, reads standard input or closes descriptors, when it is loaded and when it runs."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from longpipe import Control, RunError, Scenario, ScenarioError, simulate
from longpipe.controls import classes, isolation
from longpipe.measures.measure import parse
from longpipe.user_code import execution

PATH = Scenario.example("fiber").with_(**{"duration": "1 s", "network.sources": 1, "tcp.profile": "linux-6"})
CLASS = "from longpipe import Control\nclass A(Control):\n    def on_ack(self, ack):\n        {hook}\n"
MEASURE = "def share(result):\n    {body}\n"
# Statements that would end or block the process, and what the error says.
HOSTILE = {
    "import sys; sys.exit()": "SystemExit",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise GeneratorExit": "GeneratorExit",
    "while True: pass": "does not return within 0.3 s of processor time",
    "import os; input()": "EOFError",
    "import os; os._exit(0)": "os._exit; needs code that does not exit",
    "import os; os.abort()": "os.abort; needs code that does not exit",
    "import os; os.execl('/bin/true', 'true')": "os.execv; needs code that does not exit",
}

pytestmark = pytest.mark.usefixtures("short_limit")


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "CPU_S", 0.3)
    # Python's own handler of Ctrl-C leaves no trace in an error.
    monkeypatch.setattr(signal, "getsignal", lambda _: None)


def hostile(text: str, statement: str, place: str, tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    text = text.format(hook="pass", body="return 1.0")
    path.write_text({"first": f"{statement}\n{text}", "last": f"{text}\n{statement}\n"}[place], encoding="utf-8")
    return path


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("statement", HOSTILE)
def test_class_whose_file_does_not_return_is_rejected(statement: str, place: str, tmp_path: Path) -> None:
    path = hostile(CLASS, statement, place, tmp_path)
    with pytest.raises(ScenarioError, match=HOSTILE[statement]) as caught:
        classes.load(f"{path}:A")
    assert "code.py:" in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("statement", HOSTILE)
def test_measure_whose_file_does_not_return_is_rejected(statement: str, tmp_path: Path) -> None:
    path = hostile(MEASURE, statement, "last", tmp_path)
    with pytest.raises(ScenarioError, match=HOSTILE[statement]) as caught:
        parse(f"x={path}:share").check(PATH)
    assert "code.py" in str(caught.value)


@pytest.mark.parametrize("statement", HOSTILE)
def test_measure_that_does_not_return_is_rejected(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(MEASURE.format(body=statement.replace("; ", "\n    ")), encoding="utf-8")
    with pytest.raises(ScenarioError, match=HOSTILE[statement]):
        parse(f"x={path}:share")(simulate(PATH, seed=1))


def test_standard_input_is_restored_after_user_code() -> None:
    before = sys.stdin, os.fstat(0)
    assert execution.execute(lambda: os.read(0, 1)) == b""
    assert (sys.stdin, os.fstat(0)) == before


def test_forked_children_of_user_code_end_themselves() -> None:
    def fork() -> int:
        if (child := os.fork()) == 0:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    before = os._exit
    assert execution.execute(fork) == 7
    assert os._exit is before


def test_endless_code_of_another_thread_is_ended() -> None:
    caught: list[str] = []

    def work() -> None:
        try:
            execution.execute(lambda: [None for _ in iter(int, 1)])
        except execution.UserCodeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=30)
    assert "does not return" in caught[0]


def test_code_that_stops_the_error_of_the_limit_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(
        "for _ in range(2):\n    try:\n        while True: pass\n    except BaseException: pass\nwhile True: pass\n"
    )
    with pytest.raises(ScenarioError, match="does not return"):
        classes.load(f"{path}:A")


class Reads(Control):
    """Reads standard input in a hook."""

    def on_ack(self, _ack: object) -> None:
        if os.read(0, 1):
            raise ValueError("read the parent's orders")


class Exits(Control):
    def on_ack(self, _ack: object) -> None:
        sys.exit(0)


class ExitsAtOnce(Control):
    def on_ack(self, _ack: object) -> None:
        os._exit(0)


class Interrupts(Control):
    def on_ack(self, _ack: object) -> None:
        raise KeyboardInterrupt


class Closes(Control):
    def on_ack(self, _ack: object) -> None:
        os.closerange(0, 64)


def test_hook_that_reads_input_gets_the_end_of_file() -> None:
    assert simulate(PATH.with_(**{"tcp.congestion": Reads}), seed=1).efficiency > 0


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (Exits, "SystemExit"),
        (ExitsAtOnce, "exit status 0"),
        (Interrupts, "KeyboardInterrupt"),
        (Closes, "closed the descriptors"),
    ],
)
def test_hook_that_ends_its_process_is_one_error(
    cls: type[Control], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RunError, match=told):
        simulate(PATH.with_(**{"tcp.congestion": cls}), seed=1)
    assert "Traceback" not in capfd.readouterr().err


def test_module_that_never_initializes_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.3)
    source = (Path(__file__).parent / "data" / "modules" / "tcp_aimd.c").read_text(encoding="utf-8")
    path = tmp_path / "tcp_loop.c"
    path.write_text(source.replace("return tcp_register", 'for (;;) __asm__ volatile(""); return tcp_register'))
    with pytest.raises(ScenarioError, match=r"tcp_loop\.c: does not return while it is loaded"):
        simulate(PATH.with_(**{"tcp.congestion": {"kind": "module", "file": str(path)}}), seed=1)


@pytest.mark.parametrize("words", [["run", "s.toml"], ["design", "s.toml", "--factor", "duration=1 s,2 s"]])
def test_command_with_a_class_that_exits_has_status_2(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CLASS.format(hook="pass") + "__import__('os')._exit(0)\n", encoding="utf-8")
    text = PATH.with_(**{"tcp.congestion": "cubic"}).to_toml()
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    setting = ["--set", "tcp.congestion={kind='python',class='own.py:A'}"]
    done = subprocess.run(
        [sys.executable, "-m", "longpipe", *words, *setting], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "own.py:5: os._exit" in done.stderr
