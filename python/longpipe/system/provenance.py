"""Provenance of results: engine, libraries and machine."""

import os
import platform
from pathlib import Path
from typing import Any, Final

from longpipe import _core

# Libraries that affect numbers or figures.
LIBRARIES: Final = ("numpy", "pandas", "scipy", "matplotlib")


def engine_version() -> str:
    """Returns the engine's number as text: only runs of the same engine are used, whatever the package's version."""
    return _core.__engine__


def software() -> dict[str, str]:
    """Returns the versions of longpipe, Python, and the libraries that affect results."""
    # Imported here because it loads the e-mail parser.
    from importlib.metadata import version

    versions = {"longpipe": version("longpipe"), "Python": platform.python_version()}
    return versions | {name: version(name) for name in LIBRARIES}


def machine() -> dict[str, Any]:
    """Returns the machine: `system`, `processor`, `cores` (those this process may use), `memory_gb`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    properties: dict[str, Any] = {"system": platform.platform(), "processor": _processor(), "cores": cores}
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        properties["memory_gb"] = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
    return properties


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())
