"""Lists of kinds outside of the models that define them: facts about a kind belong to its model."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from longpipe.scenario.base import kinds
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.loss import Loss
from longpipe.scenario.policies import Policy
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.traffic import Traffic

ROOT: Final = Path(__file__).parents[1] / "python" / "longpipe"
REGISTRIES: Final = {
    "policy": kinds(Policy),
    "congestion": kinds(Congestion),
    "recovery": kinds(Recovery),
    "traffic": kinds(Traffic),
    "conditioner": kinds(Conditioner),
    "loss": kinds(Loss),
}
# The estimators of `fit` know their candidates. Controls of real stacks and limits of flows have registries of their own,
# some of whose names are also kinds.
EXEMPT: Final = ("fit/", "examples/", "scenario/stack.py", "verdicts/limits/causes.py")


@pytest.mark.parametrize("registry", REGISTRIES)
def test_lists_of_kinds_stand_with_their_models(registry: str) -> None:
    lists = [
        f"{file.relative_to(ROOT)}:{line}: {', '.join(names)}"
        for file in sorted(ROOT.rglob("*.py"))
        if not str(file.relative_to(ROOT)).startswith(EXEMPT)
        for line, names in listed(file.read_text(encoding="utf-8"), REGISTRIES[registry])
    ]
    assert not lists


def test_collections_of_two_kinds_are_lists_of_kinds() -> None:
    text = 'A = ("red", "pie")\nB = {"red": 1, "pie": 2}\nC = ["red", "blue"]\nD = "red"\n'
    assert list(listed(text, ("red", "pie", "codel"))) == [(1, ["red", "pie"]), (2, ["red", "pie"])]


def listed(text: str, known: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yields the line and the kinds of each literal collection that has at least two of the known kinds."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple):
            continue
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        names = [str(item.value) for item in items if isinstance(item, ast.Constant) and item.value in known]
        if len(set(names)) > 1:
            yield node.lineno, names
