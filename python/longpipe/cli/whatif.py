"""`longpipe whatif`: the effect of a change to a scenario, with its interval."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from longpipe.cli.progress import RunBar
from longpipe.cli.safe import Console, echo
from longpipe.errors import ScenarioError, nearest
from longpipe.files import PICTURES, check_file

if TYPE_CHECKING:
    from longpipe.fit.whatif import ComparedMeasure, WhatIf

_SCALES: Final = {
    "bit/s": (1e-6, "Mbit/s"),
    "s": (1e3, "ms"),
    "packets": (1.0, "packets"),
    "cells": (1.0, "cells"),
}


def whatif(
    path: Annotated[Path, typer.Argument(metavar="PATH.toml", help="Scenario, for example from `longpipe fit`.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="The change: tcp.congestion=bbr3")
    ] = None,
    seeds: Annotated[
        int,
        typer.Option("--seeds", help="Number of pairs of runs; for a fitted path, of draws with two pairs each."),
    ] = 40,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME=WHAT", help="Additional measure, as for longpipe design."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Picture: .svg, .pdf or .png.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON instead.")] = False,
) -> None:
    """Run a scenario with and without a change, and print the difference with its interval.

    longpipe whatif monday.toml --set tcp.congestion=bbr3 --set switch.policy=fq-codel -o bbr3.png
    """
    if output is not None:
        if output.suffix not in PICTURES:
            raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, PICTURES)}")
        check_file("--output", output)
    from longpipe.cli.run import change
    from longpipe.fit.whatif import doubts
    from longpipe.fit.whatif import whatif as compare
    from longpipe.scenario.overrides import overridden_fields

    with RunBar("simulating") as bar:
        found = compare(path, dict(change(text) for text in changes or []), seeds, measures or (), bar.update)
    for line in overridden_fields(found.scenario.with_(**found.changes), found.changes):
        echo(f"warning: --set {line}", err=True)
    for line in doubts(found):
        echo(f"warning: {line}", err=True)
    if json:
        import orjson

        echo(orjson.dumps(found.measures, option=orjson.OPT_INDENT_2).decode())
    else:
        _show(found, path)
    if output is not None:
        from longpipe.pictures.saving import save_as
        from longpipe.pictures.whatif import whatif as draw

        save_as(draw(found), output)
        echo(f"Picture: {output}", err=json)


def _show(found: WhatIf, path: Path) -> None:
    from rich.table import Table

    from longpipe.analysis.cautions import seedless

    changes_text = ", ".join(f"{field}={value}" for field, value in found.changes.items())
    runs = "draws of the path, two pairs of runs each" if found.estimates else "pairs of runs"
    echo(f"{path}: {changes_text}; {found.seeds} {runs}; goodput and RTT without the first third of each run")
    table = Table(box=None, pad_edge=False)
    for head in ("", *(_head(one) for one in found.measures)):
        table.add_column(head, justify="right" if head else "left")
    if found.estimates:
        table.add_row("observed", *(_observed(one) for one in found.measures))
    table.add_row("fitted" if found.estimates else "unchanged", *(_cell(one, one.baseline) for one in found.measures))
    table.add_row("changed", *(_cell(one, one.changed) for one in found.measures))
    table.add_row("difference", *(_cell(one, one.difference, "+") for one in found.measures))
    table.add_row("95 % of single changed runs", *(_interval(one) for one in found.measures))
    Console().print(table, markup=False)
    if found.estimates is None and (problem := seedless(found.scenario)):
        echo(f"warning: {problem}", err=True)
    elif found.estimates is None:
        echo("intervals include only random numbers: there are no estimates of `longpipe fit` next to the scenario")
    else:
        echo("95 % intervals include random numbers, the fit's uncertainty of rate, RTT, buffer and losses, and the")
        echo("errors of longpipe relative to Linux")
        if found.estimates["estimates"].get("rate", {}).get("high") is None:
            echo("the rate is a lower bound: a control that sends faster than the captured flow may reach more")


def _shown(one: ComparedMeasure) -> tuple[float, str]:
    """Returns the factor and the unit with which a measure is shown."""
    return _SCALES.get(one.unit, (1.0, one.unit))


def _head(one: ComparedMeasure) -> str:
    unit = _shown(one)[1]
    return f"{one.name} [{unit}]" if unit else one.name


def _observed(one: ComparedMeasure) -> str:
    return "" if one.observed is None else f"{_shown(one)[0] * one.observed:.4g}"


def _cell(one: ComparedMeasure, found: tuple[float, float], sign: str = "") -> str:
    """Returns a mean with the half-width of its interval, or as a lower bound; "-" if a run has no value."""
    if math.isnan(found[0]):
        return "-"
    scale = _shown(one)[0]
    mean = f"{scale * found[0]:{sign}.4g}"
    return f"{mean} ± {scale * found[1]:.2g}" if math.isfinite(found[1]) else f"at least {mean}"


def _interval(one: ComparedMeasure) -> str:
    if math.isnan(one.runs[0]):
        return "-"
    low, high = (format(_shown(one)[0] * number, ".4g") for number in one.runs)
    return f"{low} to {high}" if math.isfinite(one.runs[1]) else f"at least {low}"
