"""Representation of objects in a terminal, a notebook and `help()`."""

import inspect
import json
import pydoc
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from longpipe import Design, Factor, Result, Scenario, ScenarioError, Study, Tcp, pictures, simulate
from longpipe.analysis.intervals import estimate

ROOT = Path(__file__).parent.parent


@cache
def run() -> Result:
    traces = {f"traces.{name}": True for name in ("cwnd", "vc_queue", "sequence", "rtt", "arrivals", "events")}
    return simulate(
        Scenario(defaults="1996", name="lan", duration="500 ms").with_(**{"switch.policy": "epd", **traces})
    )


@cache
def study() -> Study:
    buffers = Factor.over("switch.buffer", ["500 cells", "1000 cells"], "buffer")
    base = Scenario(defaults="1996", name="lan", duration="50 ms", start={"kind": "random", "over": "10 ms"})
    design = Design.full_factorial(base, [buffers], replications=3, measures=["first=flow:flow1.throughput"])
    found = Study(design)
    found.run(workers=1)
    return found


def test_representation_of_a_scenario_shows_changed_fields() -> None:
    assert repr(Scenario(defaults="1996")) == "Scenario(defaults='1996')"
    shown = repr(Scenario(defaults="1996", name="a").with_(**{"tcp.recovery": "sack", "switch.policy": "epd"}))
    assert shown == "Scenario(name='a', defaults='1996', switch=Switch(policy=Epd()), tcp=Tcp(recovery=Sack()))"
    assert "duration='120 s'" in str(Scenario.example("geo"))


def test_representation_of_a_result_shows_its_measures() -> None:
    shown = repr(run())
    assert shown.startswith("Result of 'lan', seed 1: 500 ms, 5 flows, ")
    assert f"efficiency {run().efficiency:.3f}" in shown
    assert "\nlimited by " in shown
    assert "<table" in run()._repr_html_()


def test_designs_studies_and_analyses_have_representations() -> None:
    assert repr(study().design) == (
        "Design over 'lan': buffer (2), 2 points, 3 replications from seed 1, measuring first=flow:flow1.throughput"
    )
    assert repr(study()).startswith("Study 'lan': 6 of 6 runs finished; store: ")
    found = study().design.anova(study().frame(), "throughput_bps")
    assert repr(found).startswith("Anova of 'throughput_bps' over buffer\n")
    assert re.search(r"\n +buffer +[\d.]+ +1 +", repr(found))
    assert "<table" in found._repr_html_()


def test_printed_means_equal_those_of_the_frame() -> None:
    means, frame = study().means(level=0.9), study().frame()
    assert list(study().means("timeouts", "fairness").columns)[-6:] == [
        f"{name}{end}" for name in ("timeouts", "fairness") for end in ("", "_low", "_high")
    ]
    with pytest.raises(ScenarioError, match="measure: 'timeout'; did you mean 'timeouts'"):
        study().means("timeout")
    assert list(means["runs"]) == [3, 3]
    for row in means.to_dict("records"):
        values = frame.loc[frame["buffer"] == row["buffer"], "first"]
        wanted = estimate(values, level=0.9)
        assert (row["first"], row["first_low"], row["first_high"]) == (wanted.mean, wanted.mean_low, wanted.mean_high)
    wider = study().means()
    assert (wider["first_low"] < means["first_low"]).all()
    with pytest.raises(ScenarioError, match="level: 95; needs more than 0 and less than 1"):
        study().means(level=95)


@pytest.mark.parametrize("kind", ["window", "sequence", "queue", "throughput", "rtt"])
def test_a_picture_is_drawn_in_a_notebook_and_into_axes_of_others(kind: str) -> None:
    draw = getattr(pictures, kind)
    assert draw(run())._repr_png_().startswith(b"\x89PNG")
    figure = Figure()
    axes: Axes = figure.add_subplot()
    options = {} if kind == "queue" else {"flows": ["flow1"]}
    assert draw(run(), ax=axes, **options) is figure
    assert axes.get_title().startswith("lan: ")
    assert axes.get_legend() is not None
    assert mpl.get_backend()


def test_axes_take_one_panel() -> None:
    with pytest.raises(ScenarioError, match=r"ax: a single one for 5 panels; needs flows=\[...\] with one flow"):
        pictures.window(run(), ax=Figure().add_subplot())


def test_help_shows_fields_with_units_defaults_and_sources() -> None:
    text = pydoc.plain(pydoc.render_doc(Tcp))
    assert "mss: default '512 B'" in text
    assert "Payload of a full segment [bytes]; ATM Forum/96-1761 section 3.1" in text
    assert "Annotated" not in text.split("Methods")[0]
    assert str(inspect.signature(Scenario)).startswith(
        "(*, name='unnamed', defaults='modern', duration='10 s', engine='trains'"
    )


def test_snippets_of_the_pages_are_strictly_typed(tmp_path: Path) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    for page in pages:
        # Blocks that are not executed may need packages that are not installed.
        text = re.sub(
            r"^<!--- skip: next -->\s*```python\n.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
        )
        if blocks := re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            (tmp_path / f"of_{page.stem.replace('-', '_').lower()}.py").write_text("\n".join(blocks))
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        lines = [line for cell in cells for line in ["\n", *cell["source"], "\n"] if not line.startswith("%")]
        (tmp_path / f"notebook_{notebook.stem.replace('-', '_')}.py").write_text("".join(lines))
    config = ["--strict", "--explicit-package-bases", "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *config, *map(str, tmp_path.glob("*.py"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Success"), done.stdout
