"""Modules from the user's files that import other modules of their folder."""

import multiprocessing
import random
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from longpipe import Control, Scenario, ScenarioError, simulate
from longpipe.controls import classes
from longpipe.controls.class_pickles import unpickle_class
from longpipe.measures.functions import FunctionMeasure
from longpipe.user_code import file_modules

CONTROL = """
from longpipe import Control, Grant
import random
import helper
import package.inner
from helper import GAIN


class Own(Control):
    def on_ack(self, ack):
        import late
        from package.inner import gain

        assert helper.GAIN == GAIN == package.inner.here == gain()
        if ack.grows:
            return Grant(window=ack.window + late.rule(GAIN) * ack.mss * ack.acked / ack.window)


class Twice(Own):
    version = "1"
"""
PACKAGE = """
import helper
from .deeper import gain

here = helper.GAIN
"""
SHORT = Scenario.from_toml("""
duration = "1 s"
framing = "ip"
tcp.profile = "linux-6"
switch.buffer = "20 packets"
network = { kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s", trunk_delay = "10 ms" }
""")


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    path, names = list(sys.path), {"helper", "late", "package"}
    yield
    assert sys.path == path
    assert not names & sys.modules.keys()


def folder(path: Path, gain: float = 1.0, *, rule: str = "2 * gain") -> Path:
    (path / "package").mkdir(parents=True)
    files = {
        "own.py": CONTROL,
        "helper.py": f"GAIN = {gain}\n",
        "late.py": f"def rule(gain):\n    return {rule}\n",
        "random.py": "raise RuntimeError('hides the standard library')\n",
        "package/__init__.py": "",
        "package/inner.py": PACKAGE,
        "package/deeper.py": "def gain():\n    from helper import GAIN\n\n    return GAIN\n",
        "measure.py": "import helper\n\n\ndef gain(result):\n    import late\n\n    return late.rule(helper.GAIN)\n",
    }
    for name, text in files.items():
        (path / name).write_text(text)
    return path / "own.py"


def digest(file: Path, name: str = "Own") -> str:
    return classes.load(f"{file}:{name}").digest


def acked(cls: Any) -> float | None:  # noqa: ANN401 - a class of the user
    class _Ack:
        window, mss, acked, grows = 10.0, 1.0, 10.0, True

    control: Control = cls.__new__(cls)
    grant = control.on_ack(_Ack())  # type: ignore[arg-type]
    return None if grant is None else grant.window


def test_files_of_equal_names_in_two_folders_import_their_own_siblings(tmp_path: Path) -> None:
    first, second = folder(tmp_path / "a"), folder(tmp_path / "b", gain=3.0)
    own = [classes.load(f"{file}:Own").cls for file in (first, second, first)]
    assert [acked(cls) for cls in own] == [12.0, 16.0, 12.0]
    assert own[0] is own[2]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_every_process_that_runs_the_class_finds_its_siblings(tmp_path: Path) -> None:
    files = [folder(tmp_path / "a"), folder(tmp_path / "b", gain=30.0)]
    jobs = [
        (SHORT.with_(**{"tcp.congestion": {"kind": "python", "class": f"{file}:Own"}}), seed)
        for file in files
        for seed in (1, 2)
    ]
    here = [simulate(scenario, seed).state_hash for scenario, seed in jobs]
    assert here[0] != here[2]
    for pool in (ThreadPoolExecutor(2), ProcessPoolExecutor(2, multiprocessing.get_context("fork"))):
        with pool:
            found = [future.result().state_hash for future in [pool.submit(simulate, *job) for job in jobs]]
        assert found == here


def test_a_machine_without_the_folder_gets_the_siblings_with_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder(tmp_path / "a", gain=3.0)
    content = classes.content(digest(file))
    assert content is not None
    shutil.rmtree(tmp_path / "a")
    monkeypatch.setattr(file_modules, "_known", {})
    for name in [name for name in sys.modules if name.startswith("longpipe_file_")]:
        monkeypatch.delitem(sys.modules, name)
    assert acked(unpickle_class(content)) == 16.0


def test_a_machine_without_the_modules_gets_them_with_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_base.py").write_text(
        CONTROL.split("import random")[0] + "class Base(Control):\n    base = 'cubic'\n"
    )
    (tmp_path / "mine_faster.py").write_text("from mine_base import Base\n\n\nclass Faster(Base):\n    paces = True\n")
    monkeypatch.chdir(tmp_path)
    content = classes.content(classes.load("mine_faster:Faster").digest)
    assert content is not None
    for name in ("mine_base", "mine_faster"):
        monkeypatch.delitem(sys.modules, name)
    assert unpickle_class(content).base == "cubic"


def test_digest_depends_on_siblings_but_not_on_the_folder(tmp_path: Path) -> None:
    first = digest(folder(tmp_path / "a"))
    assert digest(folder(tmp_path / "b")) == first
    edits = {
        "helper.py": "GAIN = 2.0\n",
        "late.py": "def rule(gain):\n    return 3 * gain\n",
        "package/deeper.py": "def gain():\n    return 1.0\n",
    }
    for i, (name, text) in enumerate(edits.items()):
        file = folder(tmp_path / f"c{i}")
        assert digest(file) == first
        (file.parent / name).write_text(text)
        assert digest(file) != first
    commented = folder(tmp_path / "d")
    commented.write_text(f"# A comment.\n{CONTROL}")
    assert digest(commented) == first


def test_the_digest_of_a_class_with_a_version_follows_only_its_name(tmp_path: Path) -> None:
    file = folder(tmp_path / "a")
    first = digest(file, "Twice")
    file.write_text(CONTROL.replace("ack.acked /", "2 * ack.acked /"))
    assert digest(file, "Twice") == first == digest(folder(tmp_path / "b", gain=9.0), "Twice")


def test_a_measure_of_a_file_imports_its_siblings(tmp_path: Path) -> None:
    files = [folder(tmp_path / "a"), folder(tmp_path / "b", gain=5.0)]
    targets = [f"{file.parent / 'measure.py'}:gain" for file in files]
    result: Any = None
    assert [FunctionMeasure.parse("", target)(result) for target in targets] == [2.0, 10.0]


def test_import_error_names_sibling_and_line(tmp_path: Path) -> None:
    file = folder(tmp_path / "a")
    file.write_text("from helper import Nothing\n")
    with pytest.raises(ScenarioError, match=r"own\.py:1: ImportError: cannot import name 'Nothing' from 'helper' \("):
        classes.load(f"{file}:Own")


def test_the_standard_library_is_not_hidden_by_a_file(tmp_path: Path) -> None:
    module = file_modules.load(folder(tmp_path / "a"))
    assert module.random is random
