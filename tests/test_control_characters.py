"""Names that contain control characters or Rich's markup are displayed as text."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from commands import run
from live_programs import IDLE, live
from longpipe import Scenario, pictures, simulate
from longpipe.cli.toolkit.safe import Console, echo
from longpipe.design import Design, Factor
from longpipe.errors import plain
from longpipe.export import write_table
from longpipe.pictures.figure import unescaped
from longpipe.pictures.saving import save_as, to_svg
from longpipe.report.page import render
from longpipe.report.parts import Report
from longpipe.report.svg import Palette
from longpipe.store import Store
from longpipe.study import Study

NAME = "\x1b[31mred\x9b2J\u202e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[2Jb", r"a\x1b[2Jb"), ("\x00\x7f\x9b", r"\x00\x7f\x9b"), ("\u202e", r"\u202e"), ("é 東 µs", "é 東 µs")],
)
def test_control_characters_are_escapes(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_console_escapes_control_characters_but_keeps_styles() -> None:
    console = Console(force_terminal=True, color_system="standard", highlight=False, width=80)
    with console.capture() as captured:
        console.print(f"[bold]{NAME}[/]", end="\n")
    assert captured.get().replace("\x1b[1m", "").replace("\x1b[0m", "") == f"{plain(NAME)}\n"


def test_errors_show_control_characters_as_escapes(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('"\\u001b[31mduration" = "1 s"\n')
    done = run("run", tmp_path / "a.toml")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\x1b[31mduration" in done.stderr


@pytest.mark.usefixtures("namespaces")
def test_names_are_not_interpreted_as_markup(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "[/x]\\u001b[2J"\n' + IDLE)
    done = live(str(tmp_path / "a.toml"), "--", "true")
    assert (done.returncode, done.stderr.partition(", ")[0]) == (0, r"live: [/x]\x1b[2J")


# Text that Matplotlib would parse as a formula and reject.
FORMULA = "$\\frac{$ \x1b[31m"
SCENARIO = Scenario(defaults="1996", name=FORMULA, duration="20 ms", network={"kind": "dumbbell", "sources": 2})


def test_commands_write_lines_by_one_function_that_shows_controls(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"a\tb\n{NAME}")
    assert capsys.readouterr().out == f"a\tb\n{plain(NAME)}\n"
    sources = Path(__file__).parent.parent / "python/longpipe/cli"
    direct = {
        str(file.relative_to(sources)): re.findall(r"typer\.echo\((.*?)[,)]", file.read_text())
        for file in sources.rglob("*.py")
        if file.name != "safe.py" and "typer.echo(" in file.read_text()
    }
    # Texts of the package itself.
    assert direct == {
        "__init__.py": [
            'f"longpipe {_core.__version__}\\nengine {_core.__engine__}\\nscenario schema {schema_version('
        ],
        "init.py": ["text"],
        "lab.py": ["page"],
    }


@pytest.mark.parametrize("kind", ["window", "sequence", "queue", "throughput", "rtt", "network"])
def test_pictures_show_names_as_they_are(tmp_path: Path, kind: str) -> None:
    shown = f"$\\frac{{$ {plain(chr(27))}[31m"
    traced = SCENARIO.with_(**{f"traces.{one}": True for one in ("cwnd", "sequence", "vc_queue", "rtt", "arrivals")})
    figure = pictures.network(traced) if kind == "network" else getattr(pictures, kind)(simulate(traced))
    svg = to_svg(figure, kind)
    assert "\x1b" not in svg
    assert shown in svg
    save_as(figure, tmp_path / "a.pdf")


def test_title_in_own_axes_is_not_a_formula() -> None:
    figure, ax = plt.subplots()
    pictures.window(simulate(SCENARIO.with_(**{"traces.cwnd": True})), flows=["flow1"], ax=ax)
    figure.canvas.draw()
    assert unescaped(ax.get_title()).startswith(f"$\\frac{{$ {plain(chr(27))}[31m")
    # An axis's numbers remain formulas if Matplotlib formats them as formulas.
    ax.set_yscale("log")
    figure.canvas.draw()
    plt.close(figure)


@pytest.mark.parametrize("kind", ["window", "throughput", "rtt"])
@pytest.mark.parametrize("own_axes", [False, True])
def test_texts_of_the_user_may_be_formulas(kind: str, own_axes: bool) -> None:
    result = simulate(SCENARIO.with_(**{f"traces.{one}": True for one in ("cwnd", "arrivals", "rtt")}))
    figure, ax = plt.subplots()
    before = ax.text(0, 1, "$W_{max}$")
    drawn = getattr(pictures, kind)(result, flows=["flow1"], ax=ax if own_axes else None)
    panel = ax if own_axes else drawn.axes[0]
    panel.set_yscale("log")
    panel.set_title("$W_{max}$")
    panel.set_ylabel("$W$")
    (figure if own_axes else drawn).canvas.draw()
    texts = [before, panel.title, panel.yaxis.label, *panel.get_yticklabels()]
    assert all(text.get_parse_math() for text in texts)
    assert [text.get_text() for text in texts[:3]] == ["$W_{max}$", "$W_{max}$", "$W$"]
    plt.close(figure)


def test_the_option_title_may_be_a_formula(tmp_path: Path) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(Scenario(defaults="1996", duration="2 ms").to_toml())
    for title, is_formula in (("$W_{max}$", True), (r"\$5 or \$6", False)):
        assert run("plot", str(scenario), "throughput", "--title", title, "-o", str(tmp_path / "a.svg")).returncode == 0
        words = re.findall("<!-- (.*) -->", (tmp_path / "a.svg").read_text())
        assert (title in words) == is_formula
        assert is_formula or "$5 or $6" in words
    failed = run("plot", str(scenario), "throughput", "--title", "$\\frac{$", "-o", str(tmp_path / "a.svg"))
    assert failed.returncode != 0
    assert re.fullmatch(
        r"error: --title: '\$.*'; needs a formula of Matplotlib, or \\\$ for each dollar sign\n", failed.stderr
    )


def test_levels_are_not_interpreted_as_formulas(tmp_path: Path) -> None:
    base = Scenario(defaults="1996", duration="2 ms")
    levels = {"$a": "900 cells", "$\\frac{$": "500 cells"}
    with closing(Store(tmp_path / "runs.db")) as store:
        study = Study(Design.full_factorial(base, [Factor.over("switch.buffer", levels, "kind")]), store, FORMULA)
        study.run(workers=1)
        figure = pictures.sweep(study, "kind", "efficiency")
    assert r"$\frac{$" in to_svg(figure, "sweep")


def test_pages_show_controls_as_escapes() -> None:
    page = render(Report("t", (f"<b>{NAME}\x00",), ()), Palette())
    assert not {"\x1b", "\x00"} & set(page)
    assert f"&lt;b&gt;{plain(NAME)}" in page


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_export_can_neutralize_cells_that_resemble_formulas(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"=name": ["=1+1", "+1", "-1", "@a", "\ta", "a=1", None], "n": [-1.5, 2, 3, 4, 5, 6, 7]})
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": pd.read_csv,
        ".json": pd.read_json,
        ".parquet": pd.read_parquet,
    }
    read = readers[suffix]
    write_table(frame, tmp_path / f"a{suffix}")
    assert list(read(tmp_path / f"a{suffix}")["=name"])[:6] == list(frame["=name"])[:6]
    write_table(frame, tmp_path / f"a{suffix}", neutral=True)
    found = read(tmp_path / f"a{suffix}")
    assert list(found["'=name"])[:6] == ["'=1+1", "'+1", "'-1", "'@a", "'\ta", "a=1"]
    assert list(found["n"]) == list(frame["n"])
