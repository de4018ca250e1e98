"""`longpipe plot`: one picture of one run over time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from longpipe.cli.run import scenario_with
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
    source: Annotated[str, typer.Argument(metavar="FILE.toml|DIR", help="Scenario to run, or DIR of run --csv.")],
    name: Annotated[str, typer.Argument(metavar="KIND", help=f"What to draw: {', '.join(Kind)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Picture: .svg, .pdf or .png.")],
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 1,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field before the run.")
    ] = None,
    flow: Annotated[list[str] | None, typer.Option(help="Only this flow; more than once for several.")] = None,
    port: Annotated[
        str | None, typer.Option(metavar="A->B", help="For queue: a switch port; else the fullest.")
    ] = None,
    begin: Annotated[float | None, typer.Option("--from", metavar="S", help="Begin of the time shown \\[s].")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="End of the time shown \\[s].")] = None,
) -> None:
    """Run a scenario and draw it over time, or draw what an earlier run recorded."""
    # Other commands begin faster without them.
    from longpipe.cli.progress import RunBar
    from longpipe.pictures.recorded import Recorded, chosen
    from longpipe.pictures.style import save
    from longpipe.run import simulate

    kinds = [kind.value for kind in Kind]
    if name not in kinds:
        raise ScenarioError(f"KIND: {name!r}; {nearest(name, kinds)}")
    kind = Kind(name)
    if output.suffix not in FORMATS:
        raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, FORMATS)}")
    if not Path(source).exists():
        raise ScenarioError(f"{source}: not there; needs a TOML file, or a directory of run --csv")
    check_file("--output", output)
    if Path(source).is_dir():
        if changes:
            raise ScenarioError(f"--set: {source} holds a run that is over; needs a scenario to run")
        run: Run = Recorded.from_directory(source)
    else:
        scenario = scenario_with(Path(source), [*(changes or []), f"traces.{NEEDS[kind]}=true"])
        chosen(Recorded(scenario, {}), flow, 1)
        with RunBar(scenario.name) as bar:
            run = simulate(scenario, seed, bar.update)
    figure = _draw(run, kind, flow, port, _span(run.scenario, begin, end))
    save(figure, output)


def _draw(run: Run, kind: Kind, flows: list[str] | None, port: str | None, span_s: tuple[float, float]) -> Figure:
    from longpipe import pictures

    if kind is Kind.QUEUE:
        return pictures.queue(run, port, span_s)
    if port is not None:
        raise ScenarioError(f"--port: {kind.value} is by flow; needs --flow, or the picture queue")
    by_flow = {
        Kind.WINDOW: pictures.window,
        Kind.SEQUENCE: pictures.sequence,
        Kind.THROUGHPUT: pictures.throughput,
        Kind.RTT: pictures.rtt,
    }
    return by_flow[kind](run, flows, span_s)


def _span(scenario: Scenario, begin: float | None, end: float | None) -> tuple[float, float]:
    from longpipe.result import duration_s

    last = duration_s(scenario)
    span = (0.0 if begin is None else begin, last if end is None else min(end, last))
    if not 0 <= span[0] < span[1]:
        raise ScenarioError(f"--from, --to: {span[0]:g} s to {span[1]:g} s; needs a time within 0 s and {last:g} s")
    return span
