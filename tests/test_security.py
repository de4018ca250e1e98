"""Files of other users, names of files that resemble options, and outputs that are links."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from longpipe.controls.compiler import build
from longpipe.errors import ScenarioError
from longpipe.system.files import check_file, write_text
from longpipe.user_code import object_cache

AIMD = Path(__file__).parent / "data" / "modules" / "tcp_aimd.c"
needs_users = pytest.mark.skipif(
    not hasattr(os, "chown") or os.getuid() != 0, reason="needs the right to change owners"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(object_cache, "user_cache_path", lambda _: tmp_path / "longpipe")
    return tmp_path / "longpipe" / "modules"


def test_cache_folder_is_private(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert object_cache.cache_folder("modules") == cache
    assert not stat.S_IMODE(cache.stat().st_mode) & 0o022


def test_cache_folder_that_is_a_link_is_not_used(cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    assert object_cache.cache_folder("modules") not in (cache, tmp_path / "elsewhere")


@needs_users
@pytest.mark.parametrize("level", ["folder", "parent"])
def test_cache_folder_of_another_user_is_not_used(level: str, cache: Path) -> None:
    cache.mkdir(parents=True)
    os.chown(cache if level == "folder" else cache.parent, 65534, 65534)
    found = object_cache.cache_folder("modules")
    assert found != cache
    assert stat.S_IMODE(found.stat().st_mode) == 0o700


@needs_users
def test_cached_code_of_another_user_is_replaced(cache: Path) -> None:
    path = object_cache.cached("modules", b"\x7fELF ours")
    path.write_bytes(b"theirs")
    os.chown(path, 65534, 65534)
    assert object_cache.cached("modules", b"\x7fELF ours").read_bytes() == b"\x7fELF ours"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["-fplugin=evil.c", "@arguments.c", "-o.c", "a b.c"])
def test_source_names_are_not_compiler_options(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(AIMD, Path(name))
    assert build([Path(name)]).content.startswith(object_cache.MAGIC)


def test_output_that_is_a_link_is_written_through(tmp_path: Path) -> None:
    link, target = tmp_path / "link.csv", tmp_path / "folder" / "target.csv"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("first", "second"):
        check_file("--csv", link)
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == text


def test_output_that_is_a_loop_of_links_is_rejected(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(link)
    with pytest.raises(ScenarioError, match=r"--csv: .*loop of symbolic links"):
        check_file("--csv", link)
