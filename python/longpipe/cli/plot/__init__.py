"""`longpipe plot`: one picture, of one run over time or of a study over its factors."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from longpipe.cli.plot.options import of_picture
from longpipe.cli.run import scenario_with
from longpipe.cli.toolkit import completers
from longpipe.cli.toolkit.completers import among, field_and_level
from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.progress import Waiting
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import SeedOption, SetOption, StoreOption, factors_of_study, opened
from longpipe.errors import ScenarioError, nearest
from longpipe.pictures import KINDS, kind_of
from longpipe.system.files import PICTURES, check_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longpipe.cli.plot.runs import Runs

# Options of simulations; those of pictures of a run, of which a picture of paths uses some; and those of studies.
OF_SIMULATIONS: Final = ("--seed", "--set", "--compare")
OF_RUNS: Final = (
    *OF_SIMULATIONS, "--flow", "--port", "--all", "--unit", "--overlay", "--rto", "--from", "--to",
)  # fmt: skip
OF_PATH: Final = ("--set", "--from", "--to")
OF_STUDIES: Final = ("--y", "--by", "--map", "--where", "--y-from-data", "--store")


class Unit(StrEnum):
    """Unit of windows and sequence numbers."""

    BYTES = "bytes"
    SEGMENTS = "segments"


def plot(
    context: typer.Context,
    source: str = typer.Argument(
        ...,
        metavar="FILE.toml|DIR|STUDY",
        help="Scenario to run, directory written by run --csv, or (with --x) a study.",
        autocompletion=completers.source,
    ),
    name: str | None = typer.Argument(
        None,
        metavar="[KIND]",
        help=f"Picture: {', '.join(KINDS)}. path shows the links of a scenario over time, without a run.",
        autocompletion=among([*KINDS]),
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE",
        help="Output file: .svg, .pdf or .png.  \\[default: named after source and kind, as in geo-window.png]",
    ),
    seed: SeedOption = 1,
    changes: SetOption = None,
    flow: list[str] | None = typer.Option(None, help="Show only this flow. Repeat for more."),
    port: str | None = typer.Option(
        None,
        metavar="A->B",
        help="Port, for pictures of ports such as queue. \\[default: the port with the longest queue, with --flow of "
        "those that the flows use]",
        rich_help_panel=MORE,
    ),
    everything: bool = typer.Option(False, "--all", help="Draw all flows instead of the largest."),
    unit: Unit | None = typer.Option(
        None, help="Unit for window and sequence.  \\[default: bytes; with --compare segments]", rich_help_panel=MORE
    ),
    compared: str | None = typer.Option(
        None,
        "--compare",
        metavar="FIELD=LEVEL,...",
        help="Compare one run per level in one figure: tcp.recovery=reno,sack",
        autocompletion=field_and_level,
    ),
    overlay: bool = typer.Option(
        False,
        "--overlay",
        help="Draw all flows (window, sequence, rtt), or with --compare all runs, on the same axes.",
        rich_help_panel=MORE,
    ),
    log: bool = typer.Option(
        False,
        "--log",
        help="Logarithmic axis for delays: of rtt, delay and delay-cdf, or of the measure of a study.",
        rich_help_panel=MORE,
    ),
    rto: bool = typer.Option(
        False, "--rto", help="For rtt: always draw the retransmission timeout.", rich_help_panel=MORE
    ),
    title: str | None = typer.Option(None, help="Title of the picture.", rich_help_panel=MORE),
    begin: float | None = typer.Option(
        None, "--from", metavar="TIME", parser=seconds, help="Start of the time span to draw \\[s]."
    ),
    end: float | None = typer.Option(
        None,
        "--to",
        metavar="TIME",
        parser=seconds,
        help="End of the time span to draw \\[s]; a run is simulated until then.",
    ),
    x: str | None = typer.Option(
        None, "--x", metavar="FACTOR", help="Study: factor on the horizontal axis.", autocompletion=completers.factor
    ),
    y: str | None = typer.Option(
        None,
        "--y",
        metavar="MEASURE",
        help="Study: measure on the vertical axis, also an expression as for design --measure.  \\[default: "
        "efficiency, else throughput]",
        autocompletion=completers.measure,
    ),
    by: str | None = typer.Option(
        None, "--by", metavar="FACTOR", help="Study: factor with one line per level.", autocompletion=completers.factor
    ),
    heat: bool = typer.Option(False, "--map", help="Study: draw --x and --by as a heat map.", rich_help_panel=MORE),
    where: list[str] | None = typer.Option(
        None,
        "--where",
        metavar="FACTOR=LEVEL",
        help="Study: use only these runs; also accepts conditions such as 'seed<3'. Repeat for more.",
        rich_help_panel=MORE,
    ),
    y_from_data: bool = typer.Option(
        False,
        "--y-from-data",
        help="Study: start the vertical axis at the smallest value instead of 0.",
        rich_help_panel=MORE,
    ),
    store: StoreOption = None,
) -> None:
    """Plot one run over time, or a study over its factors.

    longpipe plot geo.toml throughput

    longpipe plot geo.toml window --compare tcp.congestion=cubic,bbr -o window.svg

    longpipe plot STUDY --x buffer --y efficiency -o study.svg

    The run is simulated, or read from a directory of `longpipe run --csv`.
    """
    output = _output(output, source, name, x, y, by)
    changes = changes or []
    if x is not None:
        if name is not None:
            raise ScenarioError(f"KIND: {name!r} is a picture of a run; omit it with --x, which draws a study")
        refuse(context, OF_RUNS, "not with --x, which draws a study; needs a scenario and a KIND")
        with Waiting(f"reading {source}"):
            of_study = _of_study(source, store, x, y, by, where or [], heat=heat, from_zero=not y_from_data, log=log)
            _save(of_study, title, output)
        return
    if not Path(source).exists() and (factors := factors_of_study(source, store)):
        raise ScenarioError(f"{source}: a study; needs --x FACTOR instead of a KIND, as in --x {factors[0]}")
    refuse(context, OF_STUDIES, "only for studies; needs --x FACTOR")
    if name not in KINDS:
        written = "missing" if name is None else repr(name)
        raise ScenarioError(f"KIND: {written}; {nearest(str(name), KINDS)}, or --x FACTOR of a study")
    if not Path(source).exists():
        raise ScenarioError(f"{source}: does not exist; needs a TOML file, or a directory that run --csv wrote")
    from longpipe.cli.plot.runs import runs_of, span_s, title_of

    kind = kind_of(name)
    if kind.of == "links":
        unused = {*OF_RUNS, "--log"}.difference(OF_PATH)
        refuse(context, unused, f"not with {name}, which draws the links of a scenario without a run")
        scenario = scenario_with(Path(source), changes)
        _save(kind.draw(scenario, span_s(scenario, begin, end), title_of(scenario, changes)), title, output)
        return
    if Path(source).is_dir():
        refuse(context, OF_SIMULATIONS, f"{source} contains a finished run; needs a scenario to run")
    options = of_picture(name, {**context.params, "unit": unit and unit.value})
    _check_port(Path(source), changes, port)
    runs = runs_of(Path(source), kind, seed, changes, compared, flow, (begin, end))
    with Waiting("drawing"):
        if name == "window":
            runs.print_waiting(flow)
        options |= {"flows": flow, "span_s": runs.span_s(begin, end), **({"most": None} if everything else {})}
        _save(_draw(runs, name, options, overlay=overlay), title, output)


def _output(output: Path | None, source: str, kind: str | None, x: str | None, y: str | None, by: str | None) -> Path:
    """Returns the output file, by default named after its source and its picture.

    Raises ScenarioError if it cannot be written.
    """
    if output is None:
        parts = [Path(source).stem, *([kind] if kind else [y or "", f"over-{x}", by or ""])]
        output = Path("-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part) + ".png")
    if output.suffix not in PICTURES:
        raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, PICTURES)}")
    check_file("--output", output)
    return output


def _save(figure: Figure, title: str | None, output: Path) -> None:
    # Imported here so that other commands start faster.
    from longpipe.pictures.saving import save_as
    from longpipe.pictures.style import title_with_formulas

    if title is not None:
        title_with_formulas(figure, title)
    try:
        save_as(figure, output)
    except ValueError as error:
        # Matplotlib's error about a formula that it cannot read.
        if title is None or "Parse" not in str(error):
            raise
        raise ScenarioError(rf"--title: {title!r}; needs a formula of Matplotlib, or \$ for each dollar sign") from None
    echo(f"Picture: {output}")


def _check_port(source: Path, changes: list[str], port: str | None) -> None:
    """Raises ScenarioError, before the run, for a port that the network of a scenario file does not have."""
    if port is not None and source.is_file():
        from longpipe.pictures.recorded import check_port
        from longpipe.scenario import Scenario

        # Warnings of the scenario are printed when it is read for the run.
        check_port(Scenario.from_toml(source, dict(map(change, changes))), port)


def _of_study(
    name: str,
    url: str | None,
    x: str,
    y: str | None,
    by: str | None,
    where: list[str],
    *,
    heat: bool,
    from_zero: bool,
    log: bool,
) -> Figure:
    from longpipe import pictures
    from longpipe.study import Study

    if heat and log:
        raise ScenarioError("--log: not with --map, which has colors; needs a line picture")
    if heat and by is None:
        raise ScenarioError("--map: has only one factor; needs --by FACTOR")
    with opened(url, readonly=True) as store:
        study = Study.open(name, store)
        if heat:
            return pictures.heat(study, x, y, by, where=where)
        return pictures.sweep(study, x, y, by, where=where, from_zero=from_zero, log=log)


def _draw(runs: Runs, name: str, options: dict[str, Any], *, overlay: bool) -> Figure:
    from longpipe import pictures

    kind, several = kind_of(name), len(runs.by_label) > 1
    drawn_runs = runs.by_label if several else runs.first
    # Some pictures always draw several runs, or all flows, as lines on the same axes.
    if overlay and (not kind.draws_runs if several else kind.line is not None):
        return pictures.overlay(drawn_runs, name, **options)
    if several and not kind.draws_runs:
        return pictures.compare(runs.by_label, name, **options)
    if not kind.selects_flows:
        del options["flows"]
    return kind.draw(drawn_runs, **options)
