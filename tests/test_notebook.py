"""Display of objects in notebooks, and progress bars."""

import sys
from collections.abc import Callable
from html.parser import HTMLParser
from io import StringIO
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from longpipe import Design, Factor, Scenario, Study, _core, notebook, simulate
from longpipe.cli.run.tables import show
from longpipe.cli.toolkit.safe import Console

SCENARIO = Scenario(defaults="1996", name="<lan> & co", duration="10 ms")
DESIGN = Design.full_factorial(SCENARIO, [Factor.over("tcp.recovery", ["reno", "sack"], "tcp")], replications=3)


class Text(HTMLParser):
    """Collects the text of HTML, and checks that every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.feed(html)
        self.close()
        assert not self.tags

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ANN401 - as in the base class
        if tag != "br":
            self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words(html: str) -> str:
    return " ".join(Text(html).words)


def test_notebook_shows_run_header_and_fields() -> None:
    shown = words(SCENARIO._repr_html_())
    text = StringIO()
    show(simulate(SCENARIO), Console(file=text, width=200))
    heads = text.getvalue().splitlines()[:3]
    assert heads[0].startswith("<lan> & co: 10 ms of simulated time")
    assert all(line.removesuffix(", seed 1") in shown for line in heads)
    assert SCENARIO.to_toml() in shown
    assert SCENARIO.digest()[:12] in shown


def test_a_design_shows_its_factors_and_levels() -> None:
    shown = words(DESIGN._repr_html_())
    assert "2 points, 3 replications" in shown
    assert "factor levels tcp reno, sack" in shown


def test_study_shows_its_progress() -> None:
    study = Study(DESIGN, name="notebook")
    assert "0 of 6 runs finished, 6 waiting" in words(study._repr_html_())
    study.run(workers=1)
    assert '<progress value="6" max="6">' in study._repr_html_()


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces IPython by a notebook kernel that records the displayed objects, and shows progress bars at once."""
    shown: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            shown.append(html)

    def display(html: str, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(html)
        return Handle()

    ipython, of_display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    of_display.HTML, of_display.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", of_display)
    monkeypatch.setattr(notebook, "PATIENCE_S", -1.0)
    monkeypatch.setattr(notebook, "_UPDATE_INTERVAL_S", 0.0)
    run = _core.run

    def half_way(resolved: str, seed: int, progress: Callable[[float], None] | None, *others: Any, **named: Any) -> Any:  # noqa: ANN401 - as in the core
        if progress is not None:
            progress(0.5)
        return run(resolved, seed, progress, *others, **named)

    # A short run reports no progress.
    monkeypatch.setattr(_core, "run", half_way)
    return shown


def test_notebook_progress_bars_disappear_at_the_end(displayed: list[str]) -> None:
    Study(DESIGN, name="bars").run(workers=1)
    assert "bars: 0 of 6 runs" in words(displayed[0])
    assert any("bars: 6 of 6 runs, 0 s left" in words(html) for html in displayed if html)
    assert displayed[-1] == ""
    displayed.clear()
    simulate(SCENARIO)
    assert ["<lan> & co: 50%" in words(html) for html in displayed if html] == [True]
    assert displayed[-1] == ""


def test_progress_bar_is_shown_only_by_default_in_notebooks(displayed: list[str]) -> None:
    told: list[float] = []
    simulate(SCENARIO, progress=told.append)
    assert told == [0.5]
    Study(DESIGN, name="own").run(workers=1, progress=lambda now: told.append(now.ended))
    del sys.modules["IPython"]
    assert not notebook.in_notebook()
    simulate(SCENARIO)
    assert not displayed
