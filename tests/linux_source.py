"""Sources of the congestion control modules in Debian's linux-source-6.1: GPL-2.0, read and compiled, not distributed."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest
from platformdirs import user_cache_path

PACKAGE: Final = "linux-source-6.1"
# All modules that register a congestion controller; Reno's code is in tcp_cong.c.
NAMES: Final = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas",
    "veno", "westwood", "yeah",
)  # fmt: skip
_DOWNLOAD_S: Final = 300


def module(name: str) -> Path:
    """Returns the source of a module, which is downloaded once; skips the test if the download is not possible."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    return _folder() / f"tcp_{name}.c"


def _folder() -> Path:
    kept = user_cache_path("longpipe") / "linux" / "source-6.1"
    if not all((kept / f"tcp_{name}.c").is_file() for name in NAMES):
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            pytest.skip(f"needs Debian's {PACKAGE}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                _fetch(Path(folder), kept)
            except (OSError, subprocess.SubprocessError, StopIteration) as error:
                pytest.skip(f"needs Debian's {PACKAGE}: {error}")
    return kept


def _fetch(folder: Path, kept: Path) -> None:
    def run(*command: object) -> None:
        subprocess.run([*map(str, command)], cwd=folder, check=True, capture_output=True, timeout=_DOWNLOAD_S)

    run("apt-get", "download", PACKAGE)
    run("dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "package")
    archive = next(folder.glob("package/usr/src/*.tar.xz"))
    run("tar", "-xJf", archive, "--strip-components=3", "--wildcards", "*/net/ipv4/tcp_*.[ch]")
    kept.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("tcp_*.[ch]"):
        shutil.copy(path, kept)
