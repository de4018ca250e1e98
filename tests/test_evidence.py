"""The product, longpipe, and the evidence beside it, longpipe_evidence."""

import ast
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, cast

import pytest
from api_pages import public
from typer.core import TyperGroup
from typer.main import get_command

import longpipe
from longpipe.cli import app
from longpipe.extensions import COMMANDS, CONFIGURATIONS, REPLAYS, extensions, load

PYTHON: Final = Path(__file__).parents[1] / "python"


def test_product_does_not_import_the_evidence_package() -> None:
    files = sorted((PYTHON / "longpipe").rglob("*.py"))
    named = re.compile(r"\blongpipe_evidence\b")
    assert len(files) > 400
    assert [str(file) for file in files if named.search(file.read_text(encoding="utf-8"))] == []


def test_evidence_imports_only_documented_modules_and_public_names() -> None:
    documented = tuple(f"longpipe.{name}" for name in public())
    files = sorted((PYTHON / "longpipe_evidence").rglob("*.py"))
    imported = {
        (str(file.relative_to(PYTHON)), module, name) for file in files for module, name in imports(file.read_text())
    }
    assert len(imported) > 500
    private = {
        (file, f"{module}.{name}")
        for file, module, name in imported
        if not (
            (module == "longpipe" and (name in longpipe.__all__ or f"longpipe.{name}".startswith(documented)))
            or any(f"{module}.".startswith(f"{one}.") for one in documented)
        )
        or any(part.startswith("_") for part in (*module.split("."), name))
    }
    assert private == set()


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Yields the modules of longpipe that a file imports, each with an imported name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "longpipe":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("longpipe."))


@pytest.mark.parametrize("group", [COMMANDS, CONFIGURATIONS, REPLAYS])
def test_extensions_equal_the_entry_points_of_python(group: str) -> None:
    found = extensions(group)
    assert found == {point.name: point.value for point in entry_points(group=group)}
    assert all(load(target) is not None for target in found.values())


def test_first_distribution_on_the_path_provides_an_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "a": "[console_scripts]\nx = y:z\n\n[example.group]\none = first:member\n\n[other]\ntwo = no:member\n",
        "b": "[example.group]\none=second:member\nthree=third\n",
    }
    for name, text in texts.items():
        (tmp_path / name / f"{name}-1.dist-info").mkdir(parents=True)
        (tmp_path / name / f"{name}-1.dist-info" / "entry_points.txt").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path / name))
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert extensions("example.group") == {"one": "first:member", "three": "third"}


def test_commands_of_the_evidence_follow_those_of_the_product() -> None:
    names = list(cast(TyperGroup, get_command(app)).commands)
    assert names[0] == "run"
    assert names[-4:] == ["report", "reproduce", "suite", "validate"]
