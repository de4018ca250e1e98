"""Imports between the top-level files and folders of each Python package."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from circles import circles

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = sorted(path.parent for path in (ROOT / "python").glob("*/__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_package_files_and_folders_have_no_import_cycles(package: Path) -> None:
    assert circles(imports_between_parts(package)) == []


def test_parts_of_the_package_import_only_parts_below_them() -> None:
    parts = _floors()
    graph = imports_between_parts(ROOT / "python" / "longpipe")
    assert sorted(parts) == sorted({*graph, *(part for parts in graph.values() for part in parts)})
    places = {part: place for place, part in enumerate(parts)}
    upwards = [
        f"{part} imports {imported}" for part in graph for imported in graph[part] if places[imported] < places[part]
    ]
    assert upwards == []


def test_cycles_are_strongly_connected_components() -> None:
    assert circles({"a": "b", "b": "c", "c": "a", "d": "ae"}) == [["a", "b", "c"]]
    assert circles({"a": "bc", "b": "a", "c": "d", "d": "c"}) == [["a", "b"], ["c", "d"]]
    assert circles({"a": "bc", "b": "d", "c": "d"}) == []


def test_lazy_imports_count_and_imports_of_type_checkers_do_not(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "a": "def f():\n    from package.b import g",
        "b": "import package.c.d\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package import a",
        "c/__init__": "",
        "c/d": "from package import e",
        "e": 'import_module("package.b")',
    }.items():
        path = tmp_path / "package" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert circles(imports_between_parts(tmp_path / "package")) == [["b", "c", "e"]]


def _floors() -> list[str]:
    """Returns the files and folders in the page's table of floors, from the top."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Floors of `python/longpipe`")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)(?:/|\.py)?`", row)]


def imports_between_parts(package: Path) -> dict[str, set[str]]:
    """Returns the top-level files and folders that each top-level file or folder of a package imports."""
    modules = {_module(path, package): path for path in sorted(package.rglob("*.py"))}
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for imported in _imports(ast.parse(path.read_text(encoding="utf-8")), modules):
            if imported.partition(".")[0] == package.name and _part(imported) != _part(module):
                graph[_part(module)].add(_part(imported))
    return graph


def _module(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _part(module: str) -> str:
    """Returns the top-level file or folder of a module; `__init__` for the package itself."""
    return [*module.split("."), "__init__"][1]


def _imports(tree: ast.Module, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yields the modules that a file imports, also in functions or by their names in strings."""
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                yield member if member in modules or alias.name == "_core" else node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in modules:
            # Lazy imports state the name of a module. The package's own name is a word of many texts.
            yield from [node.value] if "." in node.value else []


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes below a node, except those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield other
                yield from _executed(other)
            continue
        yield child
        yield from _executed(child)
