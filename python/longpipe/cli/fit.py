"""`longpipe fit`: the path and the sender behind a capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_json
from longpipe.cli.toolkit.progress import RunBar, Waiting
from longpipe.cli.toolkit.safe import Console, echo
from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.system.files import check_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longpipe.fit.report import FitReport

# Maximum number of rates over time that are printed.
MAX_STEPS = 12
# Models of --model.
_MODELS = ("starlink",)


def fit(
    files: list[str] = typer.Argument(
        metavar="FILE...",
        help="Capture of a TCP transfer at its sender, or a file of ss, iperf, flent, qlog, ndt7 or Starlink; "
        "with --model, all files of a site.",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="PATH.toml", help="Write the scenario of the fitted path to this file."
    ),
    flow: int = typer.Option(0, "--flow", help="Number of the flow in `longpipe read`, from 0."),
    controls: str = typer.Option(
        "", "--controls", help="Candidate congestion controls, separated by commas.", show_default="Linux's"
    ),
    changes: list[str] | None = typer.Option(
        None, "--set", metavar="FIELD=VALUE", help="Known value of a field, such as tcp.hz=1000."
    ),
    json: str | None = json_option("the estimates and the observed series"),
    model: str = typer.Option(
        "", "--model", help="Fit this model: starlink, from speed tests and pings of a site over hours or days."
    ),
) -> None:
    """Fit a path and a congestion control to a capture, and write them as a scenario.

    longpipe fit monday.pcapng -o monday.toml && longpipe whatif monday.toml --set tcp.congestion=bbr3

    Files of ss -tin, iperf3, iperf 2, flent, qlog, ndt7 and Starlink contain no packets: only rate, base RTT and loss
    are estimated. --model starlink fits the distributions of rates, delays and losses of a Starlink site instead, from
    iperf3 -J, ping -D, irtt, or files of WetLinks, LENS, StarNet and a dish (docs/starlink.md).
    """
    from longpipe.cli.toolkit.naming import change
    from longpipe.fit import CONTROLS
    from longpipe.fit.check import checked
    from longpipe.fit.path_file import SUFFIX, as_json, write

    if output is not None:
        check_file("--output", output)
        check_file("--output", output.with_suffix(SUFFIX))
    check_output("--json", json)
    fixed = dict(change(text) for text in changes or [])
    control_names = tuple(control.strip() for control in controls.split(",")) if controls else ()
    # Linux 6.1 has no BBR version 3, so it is a candidate only if it is named.
    accepted = (*CONTROLS, "bbr3")
    unknown = next((control for control in control_names if control not in accepted), None)
    if unknown is not None:
        raise ScenarioError(f"--controls: {shortened(unknown)!r}; {nearest(unknown, accepted)}")
    if model:
        fit_report, left = _of_site(model, files, flow, control_names, fixed), 0
    elif len(files) > 1:
        raise ScenarioError(f"FILE: {len(files)} files; needs one, or --model {_MODELS[0]}")
    else:
        fit_report, left = _fitted(files[0], flow, control_names, fixed)
    with Waiting("running the fitted scenario"):
        fit_report = checked(fit_report)
    beside = write(fit_report, output) if output is not None else None
    if json is not None:
        write_json(json, as_json(fit_report))
    if not is_stdout(json):
        _show(fit_report)
    if left:
        echo(f"interrupted: {left} candidates were not simulated", err=True)
    if beside is not None:
        echo(f"Path: {output}; estimates and observed series: {beside}", err=is_stdout(json))
    elif not is_stdout(json):
        echo("no file was written; add -o PATH.toml to write the path for run, live and whatif")


def _of_site(
    model: str, files: Sequence[str], flow: int, controls: Sequence[str], fixed: dict[str, object]
) -> FitReport:
    """Returns the fit of the model of a site."""
    if model not in _MODELS:
        raise ScenarioError(f"--model: {shortened(model)!r}; {nearest(model, _MODELS)}")
    for option, is_given in (("--flow", flow), ("--controls", controls)):
        if is_given:
            raise ScenarioError(f"{option}: together with --model; needs a fit of one transfer")
    from longpipe.fit.starlink import fit_starlink

    with Waiting("fitting the path"):
        return fit_starlink(files, fixed)


def _fitted(file: str, flow: int, controls: Sequence[str], fixed: dict[str, object]) -> tuple[FitReport, int]:
    """Returns the fit of a file, and the number of candidates that were not tried because the search was interrupted.

    Without `controls`, the candidates are those of Linux.
    """
    from longpipe.fit import CONTROLS, observe
    from longpipe.fit import fit as search
    from longpipe.fit.recorded import fit_recorded
    from longpipe.fit.reported import report
    from longpipe.inputs.capture_magic import is_capture
    from longpipe.measured import read
    from longpipe.measured.content import Content

    if not is_capture(Content.of(file).data):
        if controls:
            raise ScenarioError(f"--controls: {','.join(controls)}; needs a capture, and {file} has no packets")
        return fit_recorded(read(file), flow, fixed), 0
    observed = observe(file, flow)
    with RunBar("simulating candidates") as bar:
        path_fit = search(observed, controls or CONTROLS, fixed, bar.update)
    return report(path_fit), path_fit.left


def _show(fit_report: FitReport) -> None:
    """Prints a fit: warnings, estimates with intervals, and the probabilities of senders and queues."""
    from rich.table import Table

    from longpipe.fit.report import listed, with_interval

    echo("\n".join([fit_report.head, *(f"warning: {text}" for text in fit_report.warnings)]))
    table = Table(box=None, pad_edge=False)
    for head in ("", "estimate (95 % interval)", "known from"):
        table.add_column(head)
    for name, row in fit_report.estimates.items():
        table.add_row(name, with_interval(row), row["known"])
    source = "simulated candidates" if fit_report.distance is not None else "named in the file"
    for name, shares in (("sender", fit_report.controls), ("queue", fit_report.queues)):
        if shares:
            table.add_row(name, listed(shares), source)
    Console().print(table, markup=False)
    lines = fit_report.step_lines()
    for text in lines[:MAX_STEPS]:
        echo(text)
    if len(lines) > MAX_STEPS:
        echo(f"and {len(lines) - MAX_STEPS} more rates, which are in the scenario")
    if fit_report.distance is not None:
        echo(f"mean distance of the best simulation's data in flight: {fit_report.distance:.1%}")
    notes = (f"note: {text}" for text in fit_report.notes)
    for text in (*fit_report.findings, *notes, *(f"cannot tell {text}" for text in fit_report.undetermined)):
        echo(text)
