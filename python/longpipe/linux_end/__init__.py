"""User-mode Linux as flows' ends: finds the kernel, builds the programs that run in it, and registers both in the core.

The kernel is GPL-2.0: longpipe runs it but does not link to it or contain it.
"""

import platform
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longpipe.errors import RunError, ScenarioError

if TYPE_CHECKING:
    from longpipe.linux_end.kernel import Kernel

_HERE: Final = Path(__file__).parent
_GET: Final = "`apt install user-mode-linux gcc libc6-dev` (Debian 12, x86-64)"


@cache
def _installed() -> "Kernel | None":
    from longpipe.linux_end import kernel as linux_kernel

    if sys.platform != "linux" or platform.machine() != linux_kernel.MACHINE:
        return None
    return linux_kernel.find()


def version() -> str | None:
    """Returns the version of the installed kernel, as in 6.1.176, or None if there is none."""
    kernel = _installed()
    return None if kernel is None else kernel.version


def register(name: str) -> None:
    """Registers the kernel with the wanted version in this process's core. Raises ScenarioError if it is missing."""
    kernel = _installed()
    if kernel is None:
        raise ScenarioError(f"traffic.stack: linux is not installed; needs {_GET}")
    if kernel.version != name:
        needs = f"needs a machine with that kernel; this one has {kernel.version}"
        raise ScenarioError(f"traffic.stack: linux {name}; {needs}")
    from longpipe import _core
    from longpipe.linux_end.programs import environment

    init = _first_process()
    _core.register_linux(kernel.program, _preload(), init.parent, kernel.modules / kernel.version, environment())


def _preload() -> Path:
    """Returns the library that is preloaded into the kernel."""
    from longpipe.linux_end import kernel as linux_kernel

    sources = (linux_kernel.SHIM, _HERE / "lockstep.c")
    return _built("lockstep.so", sources, ("-O2", "-shared", "-fPIC"), ("-ldl",))


def _first_process() -> Path:
    """Returns the guest's first process, linked statically, so that the host's libraries do not affect its times."""
    return _built("init", (_HERE / "guest.c",), ("-O2", "-static"))


def _built(name: str, sources: tuple[Path, ...], options: tuple[str, ...], libraries: tuple[str, ...] = ()) -> Path:
    from longpipe.linux_end import kernel as linux_kernel

    if shutil.which("cc", path=linux_kernel.SYSTEM_PATH) is None:
        raise ScenarioError(f"traffic.stack: linux needs the compiler cc; needs {_GET}")
    try:
        return linux_kernel.compiled(name, sources, options, libraries)
    except RunError as error:
        raise ScenarioError(f"traffic.stack: linux: {error}; needs {_GET}") from None
