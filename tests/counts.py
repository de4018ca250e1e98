"""Prints how much of each kind of test the repository has: python tests/counts.py.

The numbers are those of docs/validation/how-longpipe-is-tested.md, which `tests/test_docs.py` compares with this output.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"
RUST_TEST: Final = re.compile(r"^\s*#\[test\]", re.MULTILINE)
LAB_TEST: Final = re.compile(r"^\s*test\(", re.MULTILINE)
SNIPPET: Final = re.compile(r"^```(?:python|console|text)$", re.MULTILINE)
COMPRESSED: Final = ".gz"


def counts() -> dict[str, int]:
    """Returns the counts by kind."""
    from formats import FORMATS

    golden = ROOT / "crates" / "network" / "tests" / "golden" / "results.jsonl"
    papers = ROOT / "python" / "longpipe_evidence" / "papers"
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    return {
        "test functions in Python": sum(map(_functions, TESTS.glob("test_*.py"))),
        "test functions in Rust": sum(_matches(RUST_TEST, path) for path in _rust()),
        "tests of the browser page": sum(_matches(LAB_TEST, path) for path in (ROOT / "lab" / "tests").glob("*.mjs")),
        # The first line is the engine number.
        "golden scenarios": len(golden.read_text(encoding="utf-8").splitlines()) - 1,
        "minimized failures of random scenarios": len(_files(ROOT / "crates" / "network" / "tests" / "regressions")),
        "rows recorded from Linux": sum(map(_rows, _files(TESTS / "data" / "linux"))),
        "rows of published tables": sum(map(_rows, papers.glob("*/published.csv"))),
        "statements of papers": sum(map(_rows, papers.glob("*/statements.csv"))),
        "packetdrill scripts": len([*TESTS.rglob("*.pkt")]),
        "file formats that are mutated": len(FORMATS),
        "examples in the documentation that are run": sum(_matches(SNIPPET, page) for page in pages),
    }


def _functions(path: Path) -> int:
    """Returns the number of test functions of a module, each of which may run with many parameters."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in ast.walk(tree))


def _matches(pattern: re.Pattern[str], path: Path) -> int:
    return len(pattern.findall(path.read_text(encoding="utf-8")))


def _rust() -> Iterator[Path]:
    return (path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


def _rows(path: Path) -> int:
    """Returns the number of rows of a CSV file without its header; 0 for time series, which are compressed."""
    return 0 if path.suffix == COMPRESSED else len(path.read_text(encoding="utf-8").splitlines()) - 1


if __name__ == "__main__":
    for kind, count in counts().items():
        print(f"{count:6}  {kind}")  # noqa: T201 - this is the output
