"""Kernel functions and fields that a module of Linux uses, and those that longpipe's header lacks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from longpipe import _core
from longpipe.controls import isolation
from longpipe.controls.compiler import KERNELS, Problems, build, problems_of, refusal
from longpipe.controls.objects import find
from longpipe.controls.sources import LINUX, Source, check_module, read_source
from longpipe.errors import ScenarioError

# Structures whose fields are reported, in this order.
STRUCTURES: Final = (
    "tcp_sock", "inet_connection_sock", "sock", "tcp_options_received", "rate_sample", "ack_sample",
)  # fmt: skip
_OPERATIONS: Final = re.compile(r"struct\s+tcp_congestion_ops\s+\w+[^=;{]*=\s*\{(.*?)\n\s*\}", re.DOTALL)
_NO_OPERATIONS: Final = {"name", "owner", "flags", "key"}
_VARIABLE: Final = re.compile(r"struct\s+(\w+)\s*\*+\s*(?:const\s+)?(\w+)")
_ACCESS: Final = re.compile(r"(tcp_sk|inet_csk|\w+)\s*(?:\([^()]*\))?\s*(?:->|\.)\s*(\w+)")
_ACCESSORS: Final = {"tcp_sk": "tcp_sock", "inet_csk": "inet_connection_sock", "rx_opt": "tcp_options_received"}
# Keywords of C, and macros that every kernel source uses, which are not specific to a module.
_PLAIN: Final = {
    "min", "max", "min_t", "max_t", "clamp", "likely", "unlikely", "module_init", "module_exit", "module_param",
    "module_param_named", "module_param_cb", "READ_ONCE", "WRITE_ONCE", "BUILD_BUG_ON", "ARRAY_SIZE", "__aligned",
    "abs", "swap", "U32_C",
}  # fmt: skip


@dataclass(frozen=True)
class Usage:
    """The kernel interface that a file uses."""

    name: str
    # Kernel whose interface the module expects; "" for an object with another interface.
    linux: str
    operations: tuple[str, ...]
    # Fields by structure.
    fields: Mapping[str, tuple[str, ...]]
    helpers: tuple[str, ...]
    # Types by name.
    parameters: Mapping[str, str]
    # Names that the header lacks, each with its kind.
    missing: Mapping[str, str]


def usage(file: str) -> Usage:
    """Returns the kernel interface that a C source or a shared object uses. Raises ScenarioError for another file."""
    path = Path(file)
    return _of_source(path) if path.suffix == ".c" else _of_object(file)


def _of_object(file: str) -> Usage:
    module = find(file)
    name = isolation.run(file, _name_of, (str(module.path), file))
    return Usage(name, "", (), {}, (), module.facts.parameters, {})


def _name_of(path: str, file: str, _progress: object) -> str:
    try:
        return _core.module_name(path, file, [], 250)
    except _core.ScenarioError as error:
        raise ScenarioError(str(error).removeprefix("tcp.congestion.file: ")) from None


def _of_source(path: Path) -> Usage:
    """Returns what a source file of a Linux module uses of the kernel, and what longpipe lacks of it."""
    source = read_source(path)
    check_module(path, [source])
    linux, missing = _checked(path, source)
    text = source.text
    operations = {name for body in _OPERATIONS.findall(text) for name in re.findall(r"\.(\w+)\s*=", body)}
    names = re.search(r"\.name\s*=\s*\"([^\"]*)\"", text)
    header = (LINUX / "longpipe_linux.h").read_text(encoding="utf-8")
    defined = set(re.findall(r"^#define (\w+)\(", header, re.MULTILINE))
    defined |= set(re.findall(r"^(?:static inline )?[\w *]+?\b(\w+)\([^;{]*\)\s*(?:;|\{|\n\{)", header, re.MULTILINE))
    called = set(re.findall(r"\b(\w+)\s*\(", text))
    parameters = dict(re.findall(r"\bmodule_param\s*\(\s*(\w+)\s*,\s*(\w+)", text))
    return Usage(
        names[1] if names else "",
        linux,
        tuple(sorted(operations - _NO_OPERATIONS)),
        _fields(text, header, missing),
        tuple(sorted(name for name in (called & defined) - _PLAIN if not name.isupper())),
        parameters,
        missing,
    )


def _checked(path: Path, source: Source) -> tuple[str, Mapping[str, str]]:
    """Returns the kernel whose interface a source expects, and the names that the header lacks for this kernel."""
    try:
        return build([path]).linux, {}
    except ScenarioError:
        problems: dict[str, Problems] = {linux: problems_of(source, linux) for linux in KERNELS}
    linux = min(problems, key=lambda kernel: len(problems[kernel].missing))
    if not problems[linux].missing:
        raise ScenarioError(refusal(path, problems[linux]))
    return linux, problems[linux].missing


def _fields(text: str, header: str, missing: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Returns the fields that a source accesses, by the kernel structure that contains them."""
    names_of = {structure: _names_in(header, structure) for structure in STRUCTURES}
    variables: dict[str, set[str]] = {name: {of} for name, of in _ACCESSORS.items()}
    for of, name in _VARIABLE.findall(text):
        variables.setdefault(name, set()).add(of)
    fields: dict[str, set[str]] = {}
    for name, field in _ACCESS.findall(text):
        for of in variables.get(name, set()) & names_of.keys():
            if field in names_of[of] or field in missing:
                fields.setdefault(of, set()).add(field)
    return {of: tuple(sorted(fields[of])) for of in STRUCTURES if of in fields}


def _names_in(header: str, structure: str) -> set[str]:
    body = re.search(rf"^struct {structure} \{{\n(.*?)^\}};", header, re.MULTILINE | re.DOTALL)
    without = re.sub(r"/\*.*?\*/", "", body[1] if body else "", flags=re.DOTALL)
    return {name for line in without.split(";") for name in re.findall(r"(\w+)(?:\[[^\]]*\])?\s*(?:,|$)", line.strip())}
