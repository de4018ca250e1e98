"""Output folders of reproductions, written simultaneously by several processes."""

import json
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from longpipe.system.locks import locked, taken
from longpipe_evidence.papers.report.folder import RECORD, Folder, Part, in_use, is_current, records

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

ROUNDS = 12
WRITER = """
import sys
from pathlib import Path
from longpipe_evidence.papers.report.folder import Folder, Part

path, who, rounds, begun = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
for i in range(rounds):
    folder = Folder(path, Part.REPRODUCTION, "frr-96", 2, 10)
    for name in ("report.txt", "tables.csv", f"only-{who}.csv"):
        folder.text(name, f"{who} {i}")
    folder.close()
    begun.touch()
"""


def start(path: Path, who: str, rounds: int = ROUNDS) -> subprocess.Popen[bytes]:
    """Starts a writer."""
    begun = path.with_name(f"begun-{uuid.uuid4().hex}")
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), who, str(rounds), str(begun)])
    while not begun.exists():
        assert writer.poll() is None
        time.sleep(0.01)
    return writer


def made(path: Path) -> Path:
    (path / "out").mkdir()
    return path / "out"


def assert_whole(path: Path) -> set[str]:
    """Checks that the folder contains exactly the recorded files, all from one writer. Returns this writer."""
    with in_use(path):
        assert is_current(path, Part.REPRODUCTION, "frr-96", 2)
        texts = {name: (path / name).read_text() for name in records(path)[Part.REPRODUCTION]["files"]}
        present = {file.name for file in path.iterdir() if not file.name.startswith(".")}
    assert present == {RECORD, *texts}
    assert len(set(texts.values())) == 1
    return {text.split()[0] for text in texts.values()}


def test_two_concurrent_writers_leave_the_files_of_one(tmp_path: Path) -> None:
    tmp_path = made(tmp_path)
    writers = [start(tmp_path, who) for who in ("a", "b")]
    seen: set[str] = set()
    while any(writer.poll() is None for writer in writers):
        seen |= assert_whole(tmp_path)
        time.sleep(0.02)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen | assert_whole(tmp_path) <= {"a", "b"}
    assert not list(tmp_path.glob(".*"))


def test_killed_writer_leaves_neither_locks_nor_files(tmp_path: Path) -> None:
    tmp_path = made(tmp_path)
    for after_s in (0.0, 0.003, 0.01, 0.02):
        writer = start(tmp_path, "killed", 10_000)
        time.sleep(after_s)
        writer.kill()
        assert writer.wait() == -signal.SIGKILL
        # The files of the killed writer are complete, or have no record.
        if Part.REPRODUCTION in records(tmp_path):
            assert_whole(tmp_path)
        folder = Folder(tmp_path, Part.REPRODUCTION, "frr-96", 2, 10)
        folder.text("report.txt", "next 0")
        folder.close()
        assert is_current(tmp_path, Part.REPRODUCTION, "frr-96", 2)
        assert not list(tmp_path.glob(".*"))


def test_partial_record_of_a_killed_writer_is_removed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    dies = "import os, signal\nfrom pathlib import Path\nreplace = Path.replace\n"
    dies += "Path.replace = lambda half, whole: (\n"
    dies += " os.kill(os.getpid(), signal.SIGKILL) if whole.name == 'provenance.json' else replace(half, whole))\n"
    arguments = [str(tmp_path / "out"), "killed", "1", str(tmp_path / "begun")]
    assert subprocess.run([sys.executable, "-c", dies + WRITER, *arguments], check=False).returncode == -signal.SIGKILL
    folder = Folder(tmp_path / "out", Part.REPRODUCTION, "frr-96", 2, 10)
    folder.text("report.txt", "next 0")
    folder.close()
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"report.txt", RECORD}
    assert not list((tmp_path / "out").glob(".*"))


def test_part_keeps_the_files_of_other_parts(tmp_path: Path) -> None:
    for part, names in ((Part.REPRODUCTION, "ab"), (Part.SENSITIVITY, "bc"), (Part.REPRODUCTION, "d")):
        folder = Folder(tmp_path, part, "frr-96", 2, 10)
        for name in names:
            folder.text(name, f"{part} {name}")
        folder.close()
    assert {path.name for path in tmp_path.iterdir()} == {RECORD, "b", "c", "d"}
    assert json.loads((tmp_path / RECORD).read_text()).keys() == {"reproduction", "sensitivity"}


def test_aborted_writer_leaves_no_files(tmp_path: Path) -> None:
    folder = Folder(tmp_path, Part.BEYOND, "frr-96", 2, 10)
    folder.text("beyond.csv", "")
    del folder
    assert not list(tmp_path.iterdir())


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    lock, script = (
        tmp_path / "lock",
        "import sys, time\nfrom pathlib import Path\nfrom longpipe.system.locks import locked\n",
    )
    script += "with locked(Path(sys.argv[1])):\n Path(sys.argv[2]).touch()\n time.sleep(60)\n"
    holder = subprocess.Popen([sys.executable, "-c", script, str(lock), str(tmp_path / "in")])
    while not (tmp_path / "in").exists():
        time.sleep(0.01)
    # A stopped process still holds the lock, but a killed one does not.
    holder.send_signal(signal.SIGSTOP)
    assert taken(lock) is None
    holder.kill()
    with locked(lock):
        assert taken(lock) is None
    holder.wait()
    assert not lock.exists()
