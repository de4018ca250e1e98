"""Runs the snippets of README.md and docs/: Python and console sessions, whose output must be as shown.

The snippets of a page run in order, in a separate folder that contains the repository's `scenarios`. A `toml`, `c` or
`python` block that begins with a comment such as `# lan.toml`, `/* tcp_mine.c */` or `# mine.py` is written to that
file, a `text` block is what the Python before it prints, and `...` stands for any output.
"""

import doctest
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.myst import CodeBlockParser, SkipParser

from commands import run

ROOT: Final = Path(__file__).parent
OUTPUT: Final = doctest.OutputChecker()
LOOSELY: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PYTHON: Final = PythonEvaluator()
OPERATORS: Final = frozenset("();<>|&")


def _enter(namespace: dict[str, Any]) -> None:
    folder = tempfile.TemporaryDirectory(prefix="longpipe-docs-")
    (Path(folder.name) / "scenarios").symlink_to(ROOT / "scenarios")
    namespace.update(_folder=folder, _before=Path.cwd(), shutil=shutil, importlib=importlib)
    os.chdir(folder.name)


def _leave(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


def _write_file(example: Example) -> bool:
    """Writes a block that names its file; returns whether it does."""
    first, _, _ = example.parsed.partition("\n")
    name = first.removeprefix("# ").removeprefix("/* ").removesuffix(" */")
    if name.endswith((".toml", ".c", ".py")) and " " not in name:
        Path(name).write_text(example.parsed, encoding="utf-8")
        return True
    return False


def _keep_file(example: Example) -> None:
    _write_file(example)


def _run_python(example: Example) -> None:
    if _write_file(example):
        return
    printed = io.StringIO()
    with redirect_stdout(printed):
        PYTHON(example)
    example.namespace["_printed"] = printed.getvalue()


def _compare_printed(example: Example) -> str | None:
    return _difference("Python", example.parsed, example.namespace.get("_printed", ""))


def _difference(of: str, shown: str, printed: str) -> str | None:
    if OUTPUT.check_output(shown, printed, LOOSELY):
        return None
    return f"{of} is shown to print:\n{shown}\nbut prints:\n{printed}"


def _run_session(example: Example) -> str | None:
    """Runs each command after a `$ `; the lines up to the next command are its output, if any is shown."""
    for command, wanted in _commands(example.parsed):
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "88",
            "XDG_DATA_HOME": str(Path("data").absolute()),
            "NO_COLOR": "1",
        }
        ran = _ran(command, environment)
        printed = ran.stdout + ran.stderr
        if ran.returncode != 0 and "error:" not in wanted:
            return f"$ {command}\nexit status {ran.returncode}:\n{printed}"
        if wanted.strip() and (difference := _difference(f"$ {command}", wanted, printed)):
            return difference
    return None


def _ran(command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a `longpipe` command in this process (tests/commands.py), and any other command line in a shell."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    if words[0] == "longpipe" and "$" not in command and not any(OPERATORS.issuperset(word) for word in words):
        return run(*words[1:], environment=environment)
    line = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


def _commands(text: str) -> list[tuple[str, str]]:
    commands: list[tuple[str, str]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            command, output = commands[-1]
            commands[-1] = (command, f"{output}{line}\n")
            continue
        command = line.removeprefix("$ ")
        while command.endswith("\\"):
            command = command.removesuffix("\\") + next(lines).strip()
        commands.append((command, ""))
    return commands


pytest_collect_file = Sybil(
    parsers=[
        SkipParser(),
        CodeBlockParser(language="python", evaluator=_run_python),
        CodeBlockParser(language="text", evaluator=_compare_printed),
        CodeBlockParser(language="console", evaluator=_run_session),
        CodeBlockParser(language="toml", evaluator=_keep_file),
        CodeBlockParser(language="c", evaluator=_keep_file),
    ],
    patterns=["README.md", "docs/*.md", "docs/how-to/*.md", "docs/validation/*.md"],
    setup=_enter,
    teardown=_leave,
).pytest()
