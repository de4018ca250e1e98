"""The product, longpipe, and the evidence beside it, longpipe_evidence."""

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from longpipe.cli import app
from longpipe.extensions import COMMANDS, CONFIGURATIONS, REPLAYS, extensions, load

PYTHON: Final = Path(__file__).parents[1] / "python"


def test_product_names_no_module_of_the_evidence() -> None:
    files = sorted((PYTHON / "longpipe").rglob("*.py"))
    named = re.compile(r"\blongpipe_evidence\b")
    assert len(files) > 400
    assert [str(file) for file in files if named.search(file.read_text(encoding="utf-8"))] == []


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
