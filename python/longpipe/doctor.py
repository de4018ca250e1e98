"""Required and optional parts of longpipe: what is installed, in which version, and how to install the rest."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

NAME: Final = "longpipe"
ANSWER_S: Final = 10


@dataclass(frozen=True)
class Part:
    """A required or optional part; `problem` explains why it does not work and how to install it."""

    name: str
    version: str
    use: str
    required: bool
    problem: str | None = None


@dataclass(frozen=True)
class Program:
    """An external program: the command and the pattern that find its version, its purpose, and its Debian package."""

    name: str
    command: Sequence[str]
    pattern: str
    use: str
    package: str
    input: str = ""


PROGRAMS: Final = (
    Program("ns", ("ns", "-"), r"^([\d.]+)$", "comparison with ns-2: longpipe validate", "ns2", "puts [ns-version]\n"),
    Program("tshark", ("tshark", "--version"), r"TShark .*?([\d.]+\d)", "reading packet captures", "tshark"),
    Program("tcptrace", ("tcptrace", "-v"), r"version ([\d.]+\d)", "analyzing packet captures", "tcptrace"),
)
# Extras of the package, with their purpose.
EXTRAS: Final = {
    "dask": "runs on a cluster: --executor dask://HOST:PORT",
    "gym": "environments for reinforcement learning: longpipe.gym",
    "live": "real programs through a path: longpipe live",
    "orbits": "paths over satellites: longpipe satellites",
    "postgres": "stores on a PostgreSQL server",
    "stacks": "real QUIC and WebRTC stacks as ends of flows: traffic.kind = 'stack'",
    "widget": "the lab in notebooks, with its scenario in Python: longpipe.lab.widget",
}


def examine() -> list[Part]:
    """Returns the state of all parts, required ones first."""
    return [
        _python(),
        *_core(),
        *_libraries(),
        _simulation(),
        _store(),
        *_extras(),
        *map(_program, PROGRAMS),
        _lab(),
        _linux(),
        _live(),
    ]


def _python() -> Part:
    return Part("Python", platform.python_version(), sys.executable, required=True)


def _core() -> list[Part]:
    """Returns the versions of the engine and of the scenario schema."""
    try:
        from longpipe import _core
        from longpipe.scenario.schema import schema_version

        versions = {"engine": _core.__engine__, "scenario schema": schema_version()}
    except Exception as error:
        problem = f"{_line(error)}; get it: pip install --force-reinstall . in a clone of {NAME}, or its wheel"
        return [Part("engine", "-", "simulates", True, problem)]
    uses = {
        "engine": "equal engine versions give bit-identical results",
        "scenario schema": "the fields that scenarios may have",
    }
    return [Part(name, installed, uses[name], required=True) for name, installed in versions.items()]


def _simulation() -> Part:
    """Checks that a short run gives the same result when it is repeated."""
    use = "ten simulated milliseconds, twice"
    try:
        from longpipe import Scenario, simulate

        scenario = Scenario(name="doctor", duration="10 ms")
        hashes = {simulate(scenario).state_hash for _ in range(2)}
    except Exception as error:
        return Part("a run", "-", use, True, _line(error))
    problem = "two equal runs differ; needs another machine, or a memory test" if len(hashes) > 1 else None
    return Part("a run", next(iter(hashes))[:12], use, True, problem)


def _store() -> Part:
    """Returns the location and the size of the default store."""
    try:
        from longpipe.store import Store, default_url

        url = os.environ.get("LONGPIPE_STORE") or default_url()
        path = Path(url.removeprefix("sqlite:///"))
        if ("://" not in url or url.startswith("sqlite")) and not path.exists():
            return Part("store", "none yet", f"the first run creates it: {path}", required=False)
        store = Store(url, readonly=True)
        with closing(store):
            runs = f"{store.count()} runs"
        size = f", {path.stat().st_size / 1e6:.1f} MB" if path.is_file() else ""
    except Exception as error:
        return Part(
            "store",
            "-",
            "place where runs are stored",
            False,
            f"{_line(error)}; get it: --store FILE, or LONGPIPE_STORE",
        )
    return Part("store", runs, f"{store.name}{size}", required=False)


def _libraries() -> list[Part]:
    return [
        _library(requirement, "", NAME)
        for requirement in _requirements()
        if not requirement.marker or requirement.marker.evaluate()
    ]


def _extras() -> list[Part]:
    """Returns the libraries of the optional features."""
    extras = []
    for extra, use in EXTRAS.items():
        wanted = [
            requirement
            for requirement in _requirements()
            if requirement.marker and requirement.marker.evaluate({"extra": extra})
        ]
        # The package of the stacks is part of the repository and not on PyPI.
        get = "./crates/stacks in a clone of longpipe" if extra == "stacks" else f"'{NAME}[{extra}]'"
        extras += [_library(requirement, use, get, required=False) for requirement in wanted]
    return extras


def _requirements() -> list[Requirement]:
    return [Requirement(text) for text in requires(NAME) or []]


def _library(requirement: Requirement, use: str, get: str, *, required: bool = True) -> Part:
    """Checks that a distribution is installed in an accepted version and can be imported."""
    get = f"get it: pip install {get}"
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return Part(requirement.name, "-", use, required, f"not installed; {get}")
    if not requirement.specifier.contains(installed, prereleases=True):
        return Part(requirement.name, installed, use, required, f"needs {requirement.specifier}; {get}")
    try:
        import_module(requirement.name.replace("-", "_"))
    except Exception as error:
        get = f"get it: pip install --force-reinstall '{requirement.name}{requirement.specifier}'"
        return Part(requirement.name, installed, use, required, f"cannot be imported, {_line(error)}; {get}")
    return Part(requirement.name, installed, use, required)


def _program(program: Program) -> Part:
    """Returns the version of an external program, or why it does not run."""
    get = f"get it: apt install {program.package} (Debian, Ubuntu)"
    if shutil.which(program.name) is None:
        return Part(program.name, "-", program.use, False, f"not installed; {get}")
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            program.command, input=program.input, capture_output=True, text=True, timeout=ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Part(program.name, "-", program.use, False, f"does not run, {_line(error)}; {get}")
    match = re.search(program.pattern, done.stdout + done.stderr, re.MULTILINE)
    return Part(program.name, match[1] if match else "?", program.use, required=False)


def _lab() -> Part:
    """Checks whether the browser page has been built, with the engine of this longpipe."""
    from longpipe.lab import PAGE, outdated

    use = "the engine in a browser page: longpipe lab"
    if PAGE.exists():
        size = f"{PAGE.stat().st_size / 1e6:.1f} MB"
        why = outdated()
        return Part("lab", size, use, False, why) if why else Part("lab", size, use, required=False)
    return Part("lab", "-", use, False, "not built; get it: make lab (node 18.19, npm; docs/lab.md)")


def _linux() -> Part:
    """Checks the guest kernel, installed or fetched earlier, and its requirements."""
    from longpipe.linux_end import kernel as linux_kernel

    use = "Linux's TCP: longpipe validate linux, traffic.stack = 'linux'"
    kernel, problem = linux_kernel.find(), linux_kernel.problem()
    shown_version = "-" if kernel is None else kernel.version
    return Part(linux_kernel.PROGRAM, shown_version, use, required=False, problem=problem)


def _live() -> Part:
    """Checks which kinds of namespaces and devices of a live path are permitted."""
    name, use = "live paths", "real programs through a path: longpipe live"
    code = "from longpipe.live import calls; calls.unshare({} | calls.NEW_NETWORK)"
    ways = {"root": "calls.NEW_MOUNTS", "user namespaces": "calls.NEW_USER"}
    tried = {
        way: subprocess.run([sys.executable, "-c", code.format(flag)], capture_output=True, check=False).returncode  # noqa: S603
        for way, flag in ways.items()
        if sys.platform == "linux"
    }
    permitted = [way for way, status in tried.items() if status == 0]
    if not permitted:
        return Part(name, "-", use, False, "no namespaces; needs Linux, as root or with user namespaces")
    device = "TUN" if os.access("/dev/net/tun", os.R_OK | os.W_OK) else "packet sockets"
    return Part(name, device, f"{use}; by {' or '.join(permitted)}", required=False)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
