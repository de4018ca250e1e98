"""Compares longpipe with ns-2 and ns-3: `python benches/rivals compare`. `scaling` measures longpipe alone."""

import json
from pathlib import Path
from typing import Annotated, Any

import compare as comparison
import instructions as counting
import scaling as scale
import simulators
import typer
from rich.console import Console
from works import STARTS_S, WORKS

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)
errors = Console(stderr=True)

Runs = Annotated[int, typer.Option(min=1, help="Number of runs of each simulator; the median is reported.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write the records to this file.")]
SHARE = "Share of the time that ns-3 simulates; rates are per CPU second."


def _chosen(field: str, asked: list[str], known: list[str]) -> list[str]:
    for name in asked:
        if name not in known:
            raise simulators.RivalError(f"{field}: {name!r}; accepts {', '.join(known)}")
    return asked or known


def _write(path: Path | None, records: list[dict[str, Any]]) -> None:
    if path is not None:
        try:
            path.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise simulators.RivalError(f"json: {path} cannot be written, {error.strerror}") from None


@app.command()
def compare(
    json_file: Json = None,
    runs: Runs = 5,
    work: Annotated[list[str] | None, typer.Option(help="A, B or C; all if absent.")] = None,
    simulator: Annotated[list[str] | None, typer.Option(help="longpipe, ns-2 or ns-3; all if absent.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time, if not the work's own [s].")] = None,
    ns3_share: Annotated[float, typer.Option(min=0.01, max=1, help=SHARE)] = 0.2,
    install: Annotated[bool, typer.Option("--install", help="Install ns2, libns3-dev and g++ from Debian.")] = False,
) -> None:
    """Run equal works in longpipe, ns-2 and ns-3; print data packets delivered per second of user CPU."""
    works = _chosen("work", work or [], list(WORKS))
    names = _chosen("simulator", simulator or [], list(simulators.MODES))
    if seconds is not None and seconds <= STARTS_S:
        raise simulators.RivalError(f"seconds: {seconds:g}; needs more than {STARTS_S:g}, within which flows start")
    if install:
        simulators.install()
    console = Console()
    absent = {name: why for name in names if (why := simulators.missing(name))}
    for why in absent.values():
        console.print(why, highlight=False)
    names = [name for name in names if name not in absent]
    todo = comparison.tasks(works, names, seconds, ns3_share)
    if not todo:
        raise simulators.RivalError("simulator: none is left to run")
    with errors.status("") as status:

        def told(task: comparison.Task) -> None:
            status.update(f"{task.simulator}, work {task.work.name}, {task.mode}")

        records = comparison.records(comparison.interleaved(todo, runs, told))
    _write(json_file, records)
    comparison.show(records, console)


@app.command()
def kinds(
    json_file: Json = None,
    runs: Runs = 5,
    seconds: Annotated[float | None, typer.Option(help="Simulated time, if not the work's own [s].")] = None,
    ns3_share: Annotated[float, typer.Option(min=0.01, max=1, help=SHARE)] = 0.2,
) -> None:
    """Run work A with AQM and with Linux's senders in longpipe and ns-3; print the cost of a packet."""
    console = Console()
    names = list(simulators.KINDS)
    if (why := simulators.missing("ns-3")) is not None:
        console.print(why, highlight=False)
        names.remove("ns-3")
    with errors.status("") as status:

        def told(task: comparison.Task) -> None:
            status.update(f"{task.simulator}, {task.mode}")

        todo = comparison.tasks(["A"], names, seconds, ns3_share, simulators.KINDS)
        records = comparison.records(comparison.interleaved(todo, runs, told))
    _write(json_file, records)
    comparison.show_kinds(records, console)
    idle_s = simulators.run("longpipe", WORKS["A"], simulators.IDLE_BEAM).cpu_s
    console.print(f"an hour of an idle beam with 500 terminals: {idle_s:.2f} CPU s", highlight=False)


@app.command()
def instructions(
    program: Annotated[Path, typer.Option(help="The example `run` of crates/network.")],
    json_file: Json = None,
) -> None:
    """Count instructions per packet of work A, with each queue and control, from 10 to 20 s (needs valgrind)."""
    with errors.status("") as status:
        counts = counting.count(program, status.update)
    _write(json_file, counting.records(counts))
    counting.show(counts, Console())


@app.command()
def scaling(
    json_file: Json = None,
    runs: Runs = 3,
    out: Annotated[Path | None, typer.Option(help="Folder of the figure, scaling.png and scaling.svg.")] = None,
) -> None:
    """Measure longpipe, and ns-2 if installed, over the number of flows, the rate of the trunk and its delay."""
    console = Console()
    with errors.status("") as status:
        frame = scale.measure(runs, lambda text: status.update(text))
    _write(json_file, [{str(name): value for name, value in row.items()} for row in frame.to_dict(orient="records")])
    scale.show(frame, console)
    if out is not None:
        scale.draw(frame, out)


if __name__ == "__main__":
    try:
        app()
    except simulators.RivalError as error:
        errors.print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(2) from None
