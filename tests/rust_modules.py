"""Modules of a Rust crate, and which modules each of them uses by `use` declarations and by paths in its code."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).parents[1]
CRATES: Final = {manifest.parent.name: manifest.parent for manifest in sorted(ROOT.glob("crates/*/Cargo.toml"))}
USE: Final = re.compile(r"^\s*(pub(?:\([a-z ]+\))? )?use ([^;]+);", re.MULTILINE)
PATH: Final = re.compile(r"(?<![\w:$])\w+(?:::\w+)+")
TYPE: Final = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|union) (\w+)", re.MULTILINE)
# An inherent impl block does not contain ` for `.
IMPL: Final = re.compile(r"^impl(?:<[^{]*?>)? (\w+)(?:<[^{]*>)? (?:where [^{]*)?\{", re.MULTILINE)
MODULE_OF_TESTS: Final = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod (\w+);")
MODULE_WITH_PATH: Final = re.compile(r'#\[path = "([^"]+)"\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);')
INLINE_MODULE: Final = re.compile(r"^(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\}", re.MULTILINE | re.DOTALL)

Module: TypeAlias = tuple[str, ...]


def floors(crate: Path) -> dict[str, set[str]]:
    """Returns the top-level modules of a crate, each with the other top-level modules that it uses; the root is `lib`.

    A type whose inherent methods are in another module uses that module, because methods need no `use`.
    """
    files = _modules(crate)
    graph: dict[str, set[str]] = {_top(module): set() for module in files}
    for module, used in uses(crate):
        graph[_top(module)].add(_top(used))
    for module, implementing in _impl_blocks(crate):
        graph[_top(module)].add(_top(implementing))
    return {part: used - {part} for part, used in graph.items()}


def uses(crate: Path) -> set[tuple[Module, Module]]:
    """Returns pairs of a module and a module that it uses; a re-exported name belongs to the module that defines it."""
    files = _modules(crate)
    imports = {module: list(_imports(_code(path), module, files)) for module, path in files.items()}
    passed_on = {(module, name): found for module, names in imports.items() for public, name, found in names if public}
    pairs = set()
    for module, path in files.items():
        known = {name: found for _, name, found in imports[module]}
        # The crate's root re-exports names for other crates.
        used = [found for public, _, found in imports[module] if module or not public]
        for text in PATH.findall(USE.sub("", _code(path))):
            first, _, rest = text.partition("::")
            if first in known:
                used.append((*known[first], *rest.split("::")))
            elif found := _absolute(text, module, files):
                used.append(found)
        pairs |= {(module, _origin(found, files, passed_on)) for found in used}
    return pairs


def _impl_blocks(crate: Path) -> Iterator[tuple[Module, Module]]:
    """Yields the module of a type and each module with inherent methods of the type; names are compared without paths."""
    files = _modules(crate)
    defining: dict[str, list[Module]] = defaultdict(list)
    for module, path in files.items():
        for name in TYPE.findall(_code(path)):
            defining[name].append(module)
    for module, path in files.items():
        for name in IMPL.findall(_code(path)):
            if not any(_top(module) == _top(owner) for owner in defining[name]):
                yield from ((owner, module) for owner in defining[name])


def _modules(crate: Path) -> dict[Module, Path]:
    """Returns the files of a crate by their modules, without the modules that exist only in tests."""
    source = crate / "src"
    files = {_module(path.relative_to(source)): path for path in sorted(source.rglob("*.rs"))}
    tests = set()
    for module, path in list(files.items()):
        text = path.read_text(encoding="utf-8")
        tests |= {(*module, name) for name in MODULE_OF_TESTS.findall(text)}
        for other, name in MODULE_WITH_PATH.findall(text):
            files.pop(_module((path.parent / other).relative_to(source)), None)
            files[*module, name] = path.parent / other
    return {module: path for module, path in files.items() if not any(module[: len(test)] == test for test in tests)}


def _top(module: Module) -> str:
    return module[0] if module else "lib"


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"lib", "main", "mod"} else parts


def _code(path: Path) -> str:
    """Returns the text of a file without comments and the tests at its end, and with paths from the file's module."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    text = re.split(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod \w+ \{", text)[0]
    # In a module within the file, the first `super` is the file's module.
    return INLINE_MODULE.sub(lambda inline: re.sub(r"(?<!::)\bsuper::", "self::", inline[0]), text)


def _imports(text: str, module: Module, files: Container[Module]) -> Iterator[tuple[bool, str, Module]]:
    """Yields each name that a file imports from its own crate: whether it is re-exported, the name, its path."""
    for public, tree in USE.findall(text):
        for path in _paths(tree):
            path, _, alias = path.partition(" as ")
            if found := _absolute(path, module, files):
                yield bool(public), alias.strip() or found[-1], found


def _paths(tree: str) -> Iterator[str]:
    """Expands `a::{b, c::{d, e}}` to a::b, a::c::d and a::c::e."""
    before, brace, rest = tree.partition("{")
    if not brace:
        yield tree.strip()
        return
    depth, part = 0, ""
    for sign in rest[: rest.rindex("}")] + ",":
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            if part.strip():
                yield from _paths(before.strip() + part.strip())
            part = ""
        else:
            part += sign


def _absolute(path: str, module: Module, files: Container[Module]) -> Module | None:
    """Returns a path from the crate's root; None for a path of another crate."""
    parts = tuple(part.strip() for part in path.split("::") if part.strip() != "self")
    if parts[:1] == ("crate",):
        return parts[1:]
    ups = next((i for i, part in enumerate(parts) if part != "super"), len(parts))
    if ups:
        return module[: len(module) - ups] + parts[ups:]
    return module + parts if path.startswith("self") or module + parts[:1] in files else None


def _origin(found: Module, files: Container[Module], passed_on: Mapping[tuple[Module, str], Module]) -> Module:
    """Returns the module that defines a path, following re-exports."""
    length = next(n for n in range(len(found), -1, -1) if found[:n] in files)
    module, rest = found[:length], found[length:]
    if rest and (further := passed_on.get((module, rest[0]))) not in {None, found}:
        return _origin((*further, *rest[1:]), files, passed_on)
    return module
