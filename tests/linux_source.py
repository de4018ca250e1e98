"""Sources of the congestion control modules in Debian's packages linux-source-*.

They are licensed under the GPL-2.0; the tests read and compile them, and longpipe contains none of them.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest
from platformdirs import user_cache_path

# Kernels whose modules are tested; the results of the first one are the reference of the others.
KERNELS: Final = ("6.1", "6.12")
# All modules that register a congestion controller; Reno's code is in tcp_cong.c.
NAMES: Final = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas",
    "veno", "westwood", "yeah",
)  # fmt: skip
_DOWNLOAD_S: Final = 300


def module(name: str, kernel: str = KERNELS[0]) -> Path:
    """Returns the source of a module, which is downloaded once; skips the test if the download is not possible."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    return _folder(kernel) / f"tcp_{name}.c"


def _folder(kernel: str) -> Path:
    kept, package = user_cache_path("longpipe") / "linux" / f"source-{kernel}", f"linux-source-{kernel}"
    if not all((kept / f"tcp_{name}.c").is_file() for name in NAMES):
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            pytest.skip(f"needs Debian's {package}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                _fetch(package, Path(folder), kept)
            except (OSError, subprocess.SubprocessError, StopIteration) as error:
                pytest.skip(f"needs Debian's {package}: {error}")
    return kept


def _fetch(package: str, folder: Path, kept: Path) -> None:
    def run(*command: object) -> None:
        subprocess.run([*map(str, command)], cwd=folder, check=True, capture_output=True, timeout=_DOWNLOAD_S)

    run("apt-get", "download", package)
    run("dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "package")
    archive = next(folder.glob("package/usr/src/*.tar.xz"))
    run("tar", "-xJf", archive, "--strip-components=3", "--wildcards", "*/net/ipv4/tcp_*.[ch]")
    kept.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("tcp_*.[ch]"):
        shutil.copy(path, kept)
