"""`longpipe plot`: one picture, of one run over time or of a study over its factors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from longpipe.cli.completers import among, field_and_level
from longpipe.cli.run import scenario_with
from longpipe.cli.storing import StoreOption, opened
from longpipe.errors import ScenarioError, nearest
from longpipe.files import check_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longpipe.pictures.recorded import Run
    from longpipe.scenario import Scenario

FORMATS: Final = (".svg", ".pdf", ".png")


class Kind(StrEnum):
    """Which picture."""

    WINDOW = "window"
    SEQUENCE = "sequence"
    QUEUE = "queue"
    THROUGHPUT = "throughput"
    RTT = "rtt"


NEEDS: Final = {
    Kind.WINDOW: "cwnd",
    Kind.SEQUENCE: "sequence",
    Kind.QUEUE: "vc_queue",
    Kind.THROUGHPUT: "sequence",
    Kind.RTT: "rtt",
}


def plot(
    source: Annotated[
        str,
        typer.Argument(metavar="FILE.toml|DIR|STUDY", help="Scenario to run, DIR of run --csv, or with --x a study."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Picture: .svg, .pdf or .png.")],
    name: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help=f"What to draw of a run: {', '.join(Kind)}.", autocompletion=among(Kind)),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Change a field before the run.", autocompletion=field_and_level
        ),
    ] = None,
    flow: Annotated[list[str] | None, typer.Option(help="Only this flow; more than once for several.")] = None,
    port: Annotated[
        str | None, typer.Option(metavar="A->B", help="For queue: a switch port; else the fullest.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Draw every flow, not the largest alone.")] = False,
    begin: Annotated[float | None, typer.Option("--from", metavar="S", help="Begin of the time shown \\[s].")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="End of the time shown \\[s].")] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="FACTOR", help="Of a study: the factor across.")] = None,
    y: Annotated[str, typer.Option("--y", metavar="MEASURE", help="Of a study: what was measured.")] = "efficiency",
    by: Annotated[
        str | None, typer.Option("--by", metavar="FACTOR", help="Of a study: a line for each level of this.")
    ] = None,
    heat: Annotated[bool, typer.Option("--map", help="Of a study: --x and --by as a map of colours.")] = False,
    store: StoreOption = None,
) -> None:
    """Draw a run over time, which is made or was recorded, or a study over its factors.

    longpipe plot geo.toml throughput -o geo.svg; longpipe plot STUDY --x buffer --y efficiency -o study.svg
    """
    # Other commands begin faster without them.
    from longpipe.analysis.limits import limits, told
    from longpipe.cli.progress import RunBar
    from longpipe.cli.warnings import warn
    from longpipe.pictures.recorded import Recorded, check_flows
    from longpipe.pictures.saving import save_as
    from longpipe.run import simulate

    if output.suffix not in FORMATS:
        raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, FORMATS)}")
    check_file("--output", output)
    if x is not None:
        if name is not None:
            raise ScenarioError(f"KIND: {name!r} is of a run; needs none with --x, which is of a study")
        save_as(_of_study(source, x, y, by, heat, store), output)
        return
    kinds = [kind.value for kind in Kind]
    if name not in kinds:
        raise ScenarioError(
            f"KIND: {'missing' if name is None else repr(name)}; {nearest(str(name), kinds)}, or --x FACTOR of a study"
        )
    kind = Kind(name)
    if everything and (flow or kind is Kind.SEQUENCE):
        raise ScenarioError(f"--all: not with {'--flow' if flow else 'sequence, which is of one flow'}")
    if not Path(source).exists():
        raise ScenarioError(f"{source}: not there; needs a TOML file, or a directory of run --csv")
    if Path(source).is_dir():
        if changes:
            raise ScenarioError(f"--set: {source} holds a run that is over; needs a scenario to run")
        run: Run = Recorded.from_directory(source)
    else:
        scenario = scenario_with(Path(source), [*(changes or []), f"traces.{NEEDS[kind]}=true"])
        check_flows(scenario, flow)
        warn(scenario)
        with RunBar(scenario.name) as bar:
            run = result = simulate(scenario, seed, bar.update)
        for line in told(limits(result.scenario, result.columns)):
            typer.echo(f"limited by {line}")
    figure = _draw(run, kind, flow, port, _span(run.scenario, begin, end), everything)
    save_as(figure, output)


def _of_study(name: str, x: str, y: str, by: str | None, heat: bool, url: str | None) -> Figure:
    from longpipe import pictures
    from longpipe.study import Study

    if heat and by is None:
        raise ScenarioError("--map: of one factor; needs --by FACTOR")
    with opened(url, readonly=True) as store:
        study = Study.open(name, store)
        return pictures.heat(study, x, by, y) if heat and by else pictures.sweep(study, x, y, by)


def _draw(
    run: Run, kind: Kind, flows: list[str] | None, port: str | None, span_s: tuple[float, float], everything: bool
) -> Figure:
    from longpipe import pictures

    # Each picture has a number of its own of flows that can be told apart.
    most: dict[str, Any] = {"most": None} if everything else {}
    if kind is Kind.QUEUE:
        return pictures.queue(run, port, span_s, **most)
    if port is not None:
        raise ScenarioError(f"--port: {kind.value} is by flow; needs --flow, or the picture queue")
    if kind is Kind.SEQUENCE:
        return pictures.sequence(run, flows, span_s)
    by_flow = {
        Kind.WINDOW: pictures.window,
        Kind.THROUGHPUT: pictures.throughput,
        Kind.RTT: pictures.rtt,
    }
    return by_flow[kind](run, flows, span_s, **most)


def _span(scenario: Scenario, begin: float | None, end: float | None) -> tuple[float, float]:
    from longpipe.result import duration_s

    last = duration_s(scenario)
    span = (0.0 if begin is None else begin, last if end is None else min(end, last))
    if not 0 <= span[0] < span[1]:
        raise ScenarioError(f"--from, --to: {span[0]:g} s to {span[1]:g} s; needs a time within 0 s and {last:g} s")
    return span
