"""Which modules import which, type checkers' imports included."""

import ast
from collections import Counter
from collections.abc import Container
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import longpipe

PACKAGE = Path(longpipe.__file__).parent


def test_no_circle_of_imports_is_longer_than_two_modules() -> None:
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    place = {name: i for i, name in enumerate(modules)}
    imported = {name: _imported(path, place) & place.keys() for name, path in modules.items()}
    pairs = {(place[name], place[found]) for name, all_found in imported.items() for found in all_found}
    rows, columns = np.array(sorted(pairs)).T
    graph = csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(place), len(place)))
    _, circles = connected_components(graph, connection="strong")
    sizes = Counter(circles.tolist())
    assert [[n for n in place if circles[place[n]] == circle] for circle in sizes if sizes[circle] > 2] == []


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, known: Container[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                # The core is a module too, but no file of Python.
                found.add(whole if whole in known or alias.name == "_core" else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found
