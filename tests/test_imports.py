"""Rules for dependencies between the parts of the Rust core."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
CRATES: Final = {manifest.parent.name: manifest.parent for manifest in sorted(ROOT.glob("crates/*/Cargo.toml"))}
USE: Final = re.compile(r"^\s*(pub(?:\([a-z ]+\))? )?use ([^;]+);", re.MULTILINE)
TYPE: Final = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|union) (\w+)", re.MULTILINE)
# An inherent impl block does not contain ` for `.
IMPL: Final = re.compile(r"^impl(?:<[^{]*?>)? (\w+)(?:<[^{]*>)? (?:where [^{]*)?\{", re.MULTILINE)

Module: TypeAlias = tuple[str, ...]


def test_folders_of_the_network_crate_use_only_what_the_architecture_page_lists() -> None:
    table = _dependencies((DOCS / "architecture.md").read_text(encoding="utf-8"))
    found = _used(CRATES["network"])
    assert len(found) > 100
    unlisted = [
        f"{'/'.join(module)} uses {'/'.join(used)}"
        for module, used in sorted(found)
        if not any("/".join(used).startswith(entry) for entry in table[module[0]])
    ]
    assert unlisted == []
    # The page lists no dependency that no file uses.
    needless = [
        f"{folder} may use {entry}"
        for folder, entries in table.items()
        for entry in entries
        if not any(module[0] == folder and "/".join(used).startswith(entry) for module, used in found)
    ]
    assert needless == []


@pytest.mark.parametrize("crate", CRATES.values(), ids=CRATES)
def test_a_type_has_its_impl_blocks_in_its_own_folder(crate: Path) -> None:
    """Inherent methods need no `use`, so that code in another folder would depend on both parts without an import."""
    defined: dict[str, set[Path]] = defaultdict(set)
    for path in (crate / "src").rglob("*.rs"):
        for name in TYPE.findall(_text(path)):
            defined[name] |= {path.parent, path.with_suffix("")}
    elsewhere = [
        f"{path.relative_to(crate)}: impl {name}"
        for path in sorted((crate / "src").rglob("*.rs"))
        for name in IMPL.findall(_text(path))
        if name in defined and not any(path.is_relative_to(folder) for folder in defined[name])
    ]
    assert defined
    assert elsewhere == []


def _dependencies(page: str) -> dict[str, list[str]]:
    """Returns the last column of the table of folders, by the names in the first column."""
    _, _, section = page.partition("## Folders of `crates/network`")
    rows = [line.split("|")[1:-1] for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    name = re.compile(r"`([^`]+?)(?:/|\.rs)?`")
    return {name.findall(row[0])[0]: name.findall(row[2]) for row in rows}


def _used(crate: Path) -> set[tuple[Module, Module]]:
    """Returns pairs of modules in different folders, the first of which uses the second."""
    modules = {_module(path.relative_to(crate / "src")): path for path in (crate / "src").rglob("*.rs")}
    uses = {module: _uses(path.read_text(encoding="utf-8")) for module, path in modules.items()}
    known = {
        module: [(public, found) for public, path in uses[module] if (found := _absolute(path, module, modules))]
        for module in modules
    }
    # A re-exported name belongs to the module that defines it.
    passed_on = {(module, found[-1]): found for module in known for public, found in known[module] if public}
    pairs = {(module, _origin(found, modules, passed_on)) for module in modules for _, found in known[module]}
    # The crate's root re-exports names for other crates.
    return {(module, used) for module, used in pairs if module and used and module[0] != used[0]}


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"lib", "main", "mod"} else parts


def _text(path: Path) -> str:
    """Returns a file without comments and tests."""
    return _without_tests(path.read_text(encoding="utf-8"))


def _without_tests(text: str) -> str:
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod tests? \{", re.sub(r"//.*", "", text))[0]


def _uses(text: str) -> list[tuple[bool, str]]:
    """Returns the paths that a file uses outside of its tests, and whether it re-exports them."""
    text = _without_tests(text)
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
