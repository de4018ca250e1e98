"""User-mode Linux: finds or fetches the kernel, and compiles the programs that it needs.

The kernel is Debian's package `user-mode-linux` (Linux 6.1 in Debian 12): a process that uses the host's file system
read-only. The kernel is GPL-2.0: longpipe runs it but does not link to it or contain it.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from longpipe.errors import RunError, ScenarioError
from longpipe.user_code.object_cache import cache_folder

PROGRAM: Final = "linux.uml"
PACKAGE: Final = "user-mode-linux"
# Library that the kernel preloads: it replaces the clock and the random numbers of the host.
SHIM: Final = Path(__file__).parent / "shim.c"
MACHINE: Final = "x86_64"
# Other programs that the host needs: a compiler for the shim, and tools that set up the path.
TOOLS: Final = {"cc": "gcc libc6-dev", "ip": "iproute2", "tc": "iproute2", "mount": "mount", "sysctl": "procps"}
SYSTEM_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Kernel:
    """The kernel's program, and the folder that contains its modules in one subfolder per version."""

    program: Path
    modules: Path

    @property
    def version(self) -> str:
        """Returns the kernel's version, as in 6.1.176.

        Raises RunError if there are modules for several versions and the program does not report its own version.
        """
        versions = sorted(folder.name for folder in self.modules.iterdir())
        if len(versions) == 1:
            return versions[0]
        # An upgrade leaves the modules of the previous kernel if they were changed.
        done = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
        release = done.stdout.strip()
        if release not in versions:
            raise RunError(
                f"{self.program}: version {release!r}; needs its modules in {self.modules}, which has {versions}"
            )
        return release


def home() -> Path:
    """Returns the folder, within the user's cache, for the unpacked package and the shim."""
    return cache_folder("linux")


def find() -> Kernel | None:
    """Returns the installed or previously unpacked kernel, or None."""
    installed = shutil.which(PROGRAM)
    for program in (Path(installed) if installed else None, home() / "usr" / "bin" / PROGRAM):
        if program is not None and program.exists():
            modules = program.parent.parent / "lib" / "uml" / "modules"
            if modules.is_dir():
                return Kernel(program, modules)
    return None


def problem() -> str | None:
    """Returns the reason why the guest cannot run here, and the packages to install; None if it can."""
    unfit = _unfit()
    if unfit is not None:
        return unfit
    return None if find() is not None else f"not installed; get it: apt install {PACKAGE} (Debian)"


def get() -> Kernel:
    """Returns the kernel, fetched by `apt-get download` if necessary. Raises ScenarioError if it is unavailable."""
    unfit = _unfit()
    kernel = (find() or _fetch()) if unfit is None else None
    if kernel is None:
        raise ScenarioError(f"{PROGRAM}: {unfit or problem()}")
    return kernel


def _unfit() -> str | None:
    if sys.platform != "linux" or platform.machine() != MACHINE:
        return f"needs Linux on {MACHINE}; this is {sys.platform} on {platform.machine()}"
    lacks = {tool: package for tool, package in TOOLS.items() if shutil.which(tool, path=SYSTEM_PATH) is None}
    if lacks:
        packages = " ".join(dict.fromkeys(lacks.values()))
        return f"needs {', '.join(lacks)}; get it: apt install {packages} (Debian)"
    return None


def _fetch() -> Kernel | None:
    """Unpacks the package into the cache without installing it; returns None if apt cannot fetch it."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    home().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home().parent) as name:
        folder = Path(name)
        # If apt runs as root, it downloads files as another user, who needs access to the folder.
        folder.chmod(0o755)
        got = subprocess.run(  # noqa: S603 - a fixed command
            ["apt-get", "download", "-qq", PACKAGE],  # noqa: S607
            cwd=folder,
            capture_output=True,
            check=False,
        )
        packages = list(folder.glob("*.deb"))
        if got.returncode != 0 or not packages:
            return None
        subprocess.run(["dpkg-deb", "-x", packages[0].name, "new"], cwd=folder, check=True)  # noqa: S603, S607
        home().mkdir(exist_ok=True)
        with suppress(OSError):
            # Another process may have moved its own copy there first.
            (folder / "new" / "usr").rename(home() / "usr")
    return find()


def shim() -> Path:
    """Returns the compiled shim."""
    return compiled("shim.so", (SHIM,), ("-O2", "-shared", "-fPIC"), libraries=("-ldl",))


def compiled(name: str, sources: Sequence[Path], options: Sequence[str], libraries: Sequence[str] = ()) -> Path:
    """Returns a program or library, built once per version of its sources, in its own folder in the user's cache.

    Raises RunError if the compiler rejects it.
    """
    digest = hashlib.sha256(repr((name, options)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    path = home() / digest.hexdigest()[:16] / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            built = Path(folder) / name
            compiler = shutil.which("cc", path=SYSTEM_PATH) or "cc"
            command = [compiler, *options, "-o", str(built), *map(str, sources), *libraries]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode != 0:
                reason = (done.stderr.strip().splitlines() or ["without a word"])[0]
                raise RunError(f"cc: cannot build {sources[0]}: {reason}")
            built.replace(path)
    return path
