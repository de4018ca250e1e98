"""Counts lines of code: Rust outside tests, and the Python packages, without comments, blank lines and docstrings.

Usage: python tests/lines.py [REVISION ...]; without a revision, counts the files of the working tree. A line counts
if it has a token of code. Generated files, which have a line that begins with `# @generated`, are not counted. Rust files in folders `tests`, `benches` and `examples`, files `tests.rs`, and items under
`#[cfg(test)]` are tests. The packages are the folders `python/*`.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
RUST: Final = re.compile(r"crates/.*\.rs")
PYTHON: Final = re.compile(r"python/.*\.py")
NOT_PRODUCT: Final = re.compile(r"/(tests|benches|examples)/|/tests?\.rs$|_tests?\.rs$")
# Comments, which nest in Rust, and literals of characters and strings, which may contain the signs of comments.
TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*|\*/|b?'(?:\\.[^']*|[^\\'\n])'|b?"(?:\\.|[^"\\])*"|b?r(?P<hashes>\#*)".*?"(?P=hashes)""",
    re.DOTALL | re.VERBOSE,
)
GENERATED: Final = re.compile(r"^# @generated", re.MULTILINE)
IGNORED: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_rust(text: str) -> int:
    """Returns the number of lines with code outside of tests."""
    return sum(bool(line.strip()) for line in _without_tests(_without_comments(text)).splitlines())


def _without_comments(text: str) -> str:
    """Returns the text with comments removed, and with strings replaced by as many lines of a letter."""
    parts, depth, end = [], 0, 0
    for found in TOKEN.finditer(text):
        sign = found[0]
        if depth == 0:
            parts.append(text[end : found.start()])
        end = found.end()
        if sign == "/*":
            depth += 1
        elif sign == "*/":
            depth -= 1
        elif depth == 0 and not sign.startswith("//"):
            parts.append("\n".join("s" * (sign.count("\n") + 1)))
    return "".join([*parts, text[end:]])


def _without_tests(text: str) -> str:
    """Returns the text without items under `#[cfg(test)]`, of which the body may be in braces."""
    while (found := re.search(r"#\[cfg\(test\)\]", text)) is not None:
        place, depth = found.end(), 0
        for place in range(found.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0 and text[place] in ";}":
                break
        text = text[: found.start()] + text[place + 1 :].removeprefix(";")
    return text


def lines_of_python(text: str) -> int:
    """Returns the number of lines with code."""
    strings = {
        node.body[0].value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
        and isinstance(node.body[0].value.value, str)
    }
    docstrings = {line for one in strings for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in IGNORED
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings)


def counted(files: Mapping[str, str]) -> dict[str, int]:
    """Returns the lines of code by crate or package."""
    found: dict[str, int] = {}
    for name, text in sorted(files.items()):
        if RUST.fullmatch(name) and not NOT_PRODUCT.search(name):
            part, lines = "/".join(name.split("/")[:2]), lines_of_rust(text)
        elif PYTHON.fullmatch(name) and not GENERATED.search(text):
            part, lines = "/".join(name.split("/")[:2]), lines_of_python(text)
        else:
            continue
        found[part] = found.get(part, 0) + lines
    return found


def _files(revision: str | None) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of every file of a revision, or of the working tree."""
    listing = ["ls-tree", "-r", "--name-only", revision] if revision else ["ls-files", "-co", "--exclude-standard"]
    for name in _git(*listing).splitlines():
        if not (RUST.fullmatch(name) or PYTHON.fullmatch(name)):
            continue
        if revision:
            yield name, _git("show", f"{revision}:{name}")
        elif (ROOT / name).exists():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Prints the number of lines by crate and package, and their sums, for each revision."""
    parser = argparse.ArgumentParser(description="Counts lines of code by crate and package.")
    parser.add_argument("revisions", metavar="REVISION", nargs="*")
    for revision in parser.parse_args().revisions or [None]:
        found = counted(dict(_files(revision)))
        rust = sum(lines for part, lines in found.items() if part.startswith("crates/"))
        total = sum(found.values())
        for part, lines in [*found.items(), ("Rust", rust), ("Python", total - rust), ("together", total)]:
            sys.stdout.write(f"{revision or 'working tree'} {part:<28} {lines:7}\n")


if __name__ == "__main__":
    main()
