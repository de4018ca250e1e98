from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
MODELS = ("tcp", "atm", "ip", "classes", "sources", "web", "links", "paths", "satellites", "simulation")


@pytest.mark.parametrize("model", MODELS)
def test_a_models_page_ends_with_its_validation_and_its_limits(model: str) -> None:
    lines = (DOCS / f"{model}.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings[:-2]
    assert headings[-2:] == ["Validated against", "Limits"]


def test_every_model_has_its_place_in_the_contents() -> None:
    contents = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    assert set(MODELS) <= set(contents)
