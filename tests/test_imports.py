"""Import rules between modules, including imports for type checkers only."""

import ast
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import longpipe

PACKAGE = Path(longpipe.__file__).parent
CRATES = sorted(manifest.parent for manifest in Path(__file__).parents[1].glob("crates/*/Cargo.toml"))
USE = re.compile(r"^\s*(pub(?:\([a-z ]+\))? )?use ([^;]+);", re.MULTILINE)

Module: TypeAlias = tuple[str, ...]


def test_no_circle_of_imports_is_longer_than_two_modules() -> None:
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    imported = {name: _imported(path, modules) & modules.keys() for name, path in modules.items()}
    assert _longer_than_two(imported) == []


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_circle_of_a_crate_is_longer_than_two_files(crate: Path) -> None:
    modules = {_module(path.relative_to(crate / "src")): path for path in (crate / "src").rglob("*.rs")}
    uses = {module: _uses(path.read_text(encoding="utf-8")) for module, path in modules.items()}
    known = {
        module: [(public, found) for public, path in uses[module] if (found := _absolute(path, module, modules))]
        for module in modules
    }
    # A re-exported name belongs to the module that defines it.
    passed_on = {(module, found[-1]): found for module in known for public, found in known[module] if public}
    # The crate's root re-exports names for other crates.
    imported = {
        "::".join(module): {"::".join(_origin(found, modules, passed_on)) for _, found in known[module]}
        for module in modules
        if module
    }
    assert len(imported) >= len(modules) - 1
    assert _longer_than_two(imported) == []


def _longer_than_two(imported: Mapping[str, set[str]]) -> list[list[str]]:
    place = {name: i for i, name in enumerate(imported)}
    pairs = [(place[name], place[found]) for name in imported for found in imported[name] if found in place]
    rows, columns = np.array(sorted(set(pairs)), dtype=int).reshape(-1, 2).T
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(place), len(place)))
    _, circles = connected_components(graph, connection="strong")
    sizes = Counter(circles.tolist())
    return [[n for n in place if circles[place[n]] == circle] for circle in sizes if sizes[circle] > 2]


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, known: Container[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                # The core is a module, but not a Python file.
                found.add(whole if whole in known or alias.name == "_core" else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"lib", "main", "mod"} else parts


def _uses(text: str) -> list[tuple[bool, str]]:
    """Returns the paths that a file uses outside of its tests, and whether it re-exports them."""
    text = re.split(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod tests? \{", re.sub(r"//.*", "", text))[0]
    return [(bool(public), path) for public, tree in USE.findall(text) for path in _paths(tree)]


def _paths(tree: str) -> Iterator[str]:
    """Expands `a::{b, c::{d, e}}` to a::b, a::c::d and a::c::e."""
    before, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split(" as ")[0].strip()
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


def _absolute(path: str, module: Module, modules: Container[Module]) -> Module | None:
    """Returns a path from the crate's root; None for a path of another crate."""
    parts = tuple(part.strip() for part in path.split("::") if part.strip() != "self")
    if path.startswith("self"):
        return module + parts
    if parts[:1] == ("crate",):
        return parts[1:]
    ups = next((i for i, part in enumerate(parts) if part != "super"), len(parts))
    if ups:
        return module[:-ups] + parts[ups:]
    return module + parts if module + parts[:1] in modules else None


def _origin(found: Module, modules: Container[Module], passed_on: Mapping[tuple[Module, str], Module]) -> Module:
    """Returns the module that defines a path, following re-exports."""
    length = next(n for n in range(len(found), -1, -1) if found[:n] in modules)
    module, rest = found[:length], found[length:]
    if rest and (further := passed_on.get((module, rest[0]))) not in {None, found}:
        return _origin((*further, *rest[1:]), modules, passed_on)
    return module
