"""Compiles modules of Linux with the user's C compiler against longpipe's own header."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from longpipe.controls.facts import Facts, facts
from longpipe.controls.sources import INCLUDE, LINUX, Source, check_module, exporting_modules, identity, read_source
from longpipe.errors import RunError, ScenarioError

COMPILERS: Final = ("cc", "gcc", "clang")
# Kernels whose interface a module may expect, with the value of LONGPIPE_LINUX; the first one that accepts a source is
# used.
KERNELS: Final = {"6.1": "601", "6.10": "610"}
TIMEOUT_S: Final = 120

# The kernel's C dialect: integers wrap, and pointers may alias. Floating-point operations are not contracted, so that
# results are equal on every machine.
_FLAGS: Final = (
    "-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
)  # fmt: skip
_ERRORS: Final = (
    "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types", "-Werror=int-conversion",
)  # fmt: skip
# Diagnostics of gcc and clang about a name that the header does not define, with the kind of the name.
_MISSING: Final = (
    (re.compile(r"implicit declaration of function '(\w+)'"), "function"),
    (re.compile(r"(?:call to )?undeclared (?:library )?function '(\w+)'"), "function"),
    (re.compile(r"no member named '(\w+)'"), "field"),
    (re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?_?(\w+)"), "function"),
    (re.compile(r"unknown type name '(\w+)'"), "type"),
    (re.compile(r"'(\w+)' undeclared"), "name"),
    (re.compile(r"undeclared identifier '(\w+)'"), "name"),
    (re.compile(r"field designator '(\w+)' does not refer"), "field"),
    (re.compile(r"has incomplete type '?(?:struct (\w+))"), "structure"),
)


@dataclass(frozen=True)
class Built:
    """A shared object in memory."""

    content: bytes
    facts: Facts
    # The kernel whose interface it uses.
    linux: str
    # The C files that it contains.
    sources: list[Source]


@dataclass
class Problems:
    """The compiler's error messages for a source."""

    # Names that the header does not define, each with its kind.
    missing: dict[str, str] = field(default_factory=dict)
    # The first lines of the errors.
    lines: list[str] = field(default_factory=list)


def build(paths: Sequence[Path], linux: str | None = None) -> Built:
    """Compiles a module, together with modules in its folder that it needs.

    Raises ScenarioError, which lists what is missing, if this fails.
    """
    sources = [read_source(path) for path in paths]
    check_module(paths[0], sources)
    first: Problems | None = None
    for kernel in KERNELS if linux is None else [linux]:
        content, problems = _object(sources, kernel)
        if content is None and (exporting := _exporting(sources, problems)):
            sources = [*sources, *exporting]
            content, problems = _object(sources, kernel)
        if content is not None:
            return Built(content, facts(content), kernel, sources)
        first = first or problems
    raise ScenarioError(refusal(paths[0], first or Problems()))


def problems_of(source: Source, linux: str) -> Problems:
    """Compiles a source without linking and returns the compiler's messages."""
    return _object([source], linux)[1]


def refusal(path: Path, problems: Problems) -> str:
    """Returns a line that explains why a source does not compile."""
    if problems.missing:
        names = ", ".join(f"{name} ({kind})" for name, kind in sorted(problems.missing.items()))
        return f"{path}: needs names that longpipe's header for modules lacks: {names}"
    first = problems.lines[0] if problems.lines else "the compiler fails without a message"
    # The compiler reports the file with its line and column.
    location, _, why = first.partition(" error: ")
    line = re.search(r":(\d+)(?::\d+)?:$", location)
    return f"{path}{':' + line[1] if line else ''}: does not compile: {why or first}"


def compiler() -> str:
    """Returns the user's C compiler: $CC, cc, gcc or clang. Raises RunError if there is none."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        if name and (path := shutil.which(name)):
            return path
    raise RunError("no C compiler: needs cc, gcc or clang on the PATH, or in CC (Debian: apt install gcc libc6-dev)")


def _exporting(sources: list[Source], problems: Problems) -> list[Source]:
    """Returns the modules beside the sources that export a function which the compiler misses."""
    missing = {name for name, kind in problems.missing.items() if kind == "function"}
    names = {source.path.name for source in sources}
    modules = (module for source in sources for module in exporting_modules(source.path, missing))
    return [module for module in modules if module.path.name not in names]


def _object(sources: Sequence[Source], linux: str) -> tuple[bytes | None, Problems]:
    """Compiles sources for a kernel of `KERNELS`; returns the shared object, or None and the problems."""
    with tempfile.TemporaryDirectory(prefix="longpipe-cc-") as folder:
        temporary = Path(folder)
        # Paths of sources are absolute, because the compiler would read a name such as -fplugin=x.c as an option.
        _write_headers(temporary / "headers", {name for source in sources for name in source.system_headers})
        target = temporary / "module.so"
        command = [
            compiler(), *_FLAGS, *_ERRORS, "-shared", f"-DLONGPIPE_LINUX={KERNELS[linux]}", *_uses(sources),
            f'-DLONGPIPE_SOURCE="{identity(list(sources), linux)}"',
            "-I", str(temporary / "headers"), "-I", str(INCLUDE), "-I", str(LINUX),
            *(str(source.path.absolute()) for source in sources), str(LINUX / "longpipe_linux.c"),
            "-o", str(target), "-lm", *(() if sys.platform == "darwin" else ("-Wl,-z,defs",)),
        ]  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603 - the user's compiler
                command, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"},
                timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, Problems(lines=[f"{command[0]} takes more than {TIMEOUT_S} s"])
        except OSError as error:
            raise RunError(f"{command[0]}: {error.strerror}; needs a C compiler that runs") from None
        if done.returncode == 0:
            return target.read_bytes(), Problems()
        return None, _problems(done.stderr)


def _uses(sources: Sequence[Source]) -> list[str]:
    """Returns flags for inputs that are slow to compute and that a source seems to need."""
    text = "\n".join(source.text for source in sources)
    flags = []
    if re.search(r"\brcv_ts(val|ecr)\b", text):
        flags.append("-DLONGPIPE_USES_TIMESTAMPS")
    if re.search(r"->in_flight\b", text):
        flags.append("-DLONGPIPE_USES_IN_FLIGHT")
    return flags


def _write_headers(folder: Path, names: set[str]) -> None:
    """Writes a header under each kernel header's name; each includes longpipe's own header."""
    for name in names:
        path = (folder / name).resolve()
        # Headers of the C library are not replaced.
        if "/" in name and path.is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#include "longpipe_linux.h"\n', encoding="ascii")


def _problems(output: str) -> Problems:
    """Returns the problems that a compiler's or linker's output reports."""
    problems = Problems()
    for line in output.replace("has no member named", "no member named").splitlines():
        if "error" not in line and "undefined" not in line:
            continue
        if "error:" in line and "ld returned" not in line and "linker command" not in line:
            problems.lines.append(line.strip())
        for pattern, kind in _MISSING:
            if hit := pattern.search(line):
                problems.missing.setdefault(hit[1], kind)
                break
    return problems
