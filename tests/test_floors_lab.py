"""Imports between the files of the lab's page."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from circles import circles

SOURCES: Final = Path(__file__).parents[1] / "lab" / "src"
# Static and dynamic imports of files of the lab, and re-exports.
IMPORT: Final = re.compile(r'(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"')


def test_lab_files_have_no_import_cycles() -> None:
    graph = imports_between_files()
    assert "scenario/part" in graph["page/main"]
    assert circles(graph) == []


def imports_between_files() -> dict[str, set[str]]:
    """Returns the files, without suffix, that each file of the lab imports; imports of types count, too."""
    graph: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCES.rglob("*.ts")):
        for target in IMPORT.findall(path.read_text(encoding="utf-8")):
            imported = (path.parent / target).resolve()
            if imported.is_relative_to(SOURCES):
                graph[path.relative_to(SOURCES).with_suffix("").as_posix()].add(
                    imported.relative_to(SOURCES).as_posix().removesuffix(".ts")
                )
    return graph
