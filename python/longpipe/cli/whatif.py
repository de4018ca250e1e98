"""`longpipe whatif`: the effect of a change to a scenario, with its interval."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_json
from longpipe.cli.toolkit.progress import RunBar
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest
from longpipe.measures.readable import decimals_of, form_of, written
from longpipe.system.files import PICTURES, check_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from longpipe.fit.whatif import ComparedMeasure, WhatIf

# Maximum number of flows that are named.
_MAX_NAMED: Final = 3
_SCALES: Final = {
    "bit/s": (1e-6, "Mbit/s"),
    "s": (1e3, "ms"),
    "packets": (1.0, "packets"),
    "cells": (1.0, "cells"),
}


def whatif(
    path: Path = typer.Argument(metavar="PATH.toml", help="Scenario, for example from `longpipe fit`."),
    changes: list[str] | None = typer.Option(
        None,
        "--set",
        metavar="FIELD=VALUE",
        help="Change whose effect is predicted, such as tcp.congestion=bbr3. Repeat for more.",
    ),
    seeds: int = typer.Option(
        40, "--seeds", help="Number of pairs of runs; for a fitted path, number of sampled paths, with two pairs each."
    ),
    measures: list[str] | None = typer.Option(
        None, "--measure", metavar="NAME=WHAT", help="Additional measure, as for longpipe design."
    ),
    output: Path | None = typer.Option(None, "--output", "-o", metavar="FILE", help="Picture: .svg, .pdf or .png."),
    json: str | None = json_option("the measures"),
) -> None:
    """Run a scenario with and without a change, and print the difference and its interval.

    longpipe whatif monday.toml --set tcp.congestion=bbr3 --set switch.policy=fq-codel -o bbr3.png

    Goodput is the sum over the TCP flows other than flow arrivals and web clients, and the median RTT that of all of
    these flows; the picture shows the first of them. Both are measured from the scenario's warm_up on, by default from
    a third of the run.
    """
    if output is not None:
        if output.suffix not in PICTURES:
            raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, PICTURES)}")
        check_file("--output", output)
    check_output("--json", json)
    # Imported here because the engine and NumPy take a second to load.
    from longpipe.cli.run import completed
    from longpipe.cli.toolkit.naming import change
    from longpipe.fit.whatif import doubts
    from longpipe.fit.whatif import whatif as compare
    from longpipe.scenario import Scenario
    from longpipe.scenario.overrides import overridden_fields

    _, changed = completed(partial(Scenario.from_toml, path), dict(change(text) for text in changes or []))
    with RunBar("simulating") as bar:
        comparison = compare(path, changed, seeds, measures or (), bar.update)
    for line in overridden_fields(comparison.scenario.with_(**comparison.changes), comparison.changes):
        echo(f"warning: --set {line}", err=True)
    for line in doubts(comparison):
        echo(f"warning: {line}", err=True)
    if json is not None:
        write_json(json, comparison.measures)
    if not is_stdout(json):
        _show(comparison, path)
    if output is not None:
        from longpipe.pictures.saving import save_as
        from longpipe.pictures.whatif import whatif as draw

        save_as(draw(comparison), output)
        echo(f"Picture: {output}", err=is_stdout(json))


def _show(comparison: WhatIf, path: Path) -> None:
    """Prints the measured values and the predicted changes with their intervals."""
    from longpipe.cautions.cautions import seedless
    from longpipe.cli.toolkit.console import show_table, terminal

    changes_text = ", ".join(f"{field}={value}" for field, value in comparison.changes.items())
    runs = "draws of the path, two pairs of runs each" if comparison.estimates else "pairs of runs"
    echo(f"{path}: {changes_text}; {comparison.seeds} {runs}; goodput and RTT without the {_left_out(comparison)}")
    for line in _measured(comparison):
        echo(line)
    show_table(terminal(), _table(comparison))
    for line in _notes(comparison):
        echo(line)
    if comparison.estimates is None and (problem := seedless(comparison.scenario)):
        echo(f"warning: {problem}", err=True)


def _table(comparison: WhatIf) -> Table:
    """Returns a table with a column per measure, and rows for the settings, the difference and single runs."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for head in ("", *(_head(measure) for measure in comparison.measures)):
        table.add_column(Text(head), justify="right" if head else "left", no_wrap=bool(head))
    rows = [("observed", [_observed(measure) for measure in comparison.measures])] if comparison.estimates else []
    rows.append(
        (
            "fitted" if comparison.estimates else "unchanged",
            [_cell(measure, measure.baseline) for measure in comparison.measures],
        )
    )
    rows.append(("changed", [_cell(measure, measure.changed) for measure in comparison.measures]))
    rows.append(
        (
            "difference",
            [_cell(measure, measure.difference, "+") for measure in comparison.measures],
        )
    )
    rows.append(("95 % of single changed runs", [_interval(measure) for measure in comparison.measures]))
    for name, cells in rows:
        table.add_row(name, *map(Text, cells))
    return table


def _notes(comparison: WhatIf) -> Iterator[str]:
    """Yields lines about what the intervals include."""
    from longpipe.cautions.cautions import seedless
    from longpipe.fit.whatif import MIN_WITHOUT_DISTRIBUTION
    from longpipe.scenario.starlink_paths import has_starlink

    if comparison.seeds < MIN_WITHOUT_DISTRIBUTION:
        yield (
            "single changed runs: Student's t interval, which may exceed a link's rate; needs --seeds "
            f"{MIN_WITHOUT_DISTRIBUTION} or more for one without an assumed distribution"
        )
    if comparison.estimates is None and seedless(comparison.scenario):
        # The warning says that all pairs are equal.
        return
    if comparison.estimates is None and has_starlink(comparison.scenario):
        yield "each pair has other draws of satellites, rates and losses (seed of the path), and other random numbers;"
        yield "intervals do not include those of a fit"
    elif comparison.estimates is None:
        yield "intervals include only random numbers: there are no estimates of `longpipe fit` next to the scenario"
    elif not comparison.estimates.get("is_bounded", True):
        yield "no intervals: connections in the capture that the fitted path lacks may have changed the flow"
    else:
        yield "95 % intervals include random numbers, the fit's uncertainty of rate, RTT, buffer and losses, and the"
        yield "errors of longpipe relative to Linux"
        if comparison.estimates["estimates"].get("rate", {}).get("high") is None:
            yield "the rate is a lower bound: a control that sends faster than the captured flow may reach more"


def _left_out(comparison: WhatIf) -> str:
    """Returns the part of each run that is not measured."""
    if comparison.begin_s is None:
        return "first third of each run"
    return (
        f"warm-up of {comparison.scenario.warm_up}"
        if comparison.scenario.warm_up != "automatic"
        else "automatic warm-up"
    )


def _measured(comparison: WhatIf) -> Iterator[str]:
    """Yields lines about the flows and the parts of the runs that are measured."""
    if line := _flows(comparison):
        yield line
    if not comparison.flows:
        yield (
            "goodput and RTT: -, because only senders of longpipe have them, not real stacks, arriving flows, pages or "
            "datagrams; needs --measure, as in goodput=flow:*.throughput"
        )
    added_measures = [measure.name for measure in comparison.added_measures]
    if added_measures and comparison.begin_s is None and comparison.flows:
        yield f"{', '.join(added_measures)} of whole runs; with warm_up in the scenario, all measures begin there"


def _flows(comparison: WhatIf) -> str:
    """Returns which flows goodput and RTT are of, if the scenario has several; otherwise an empty text."""
    all_flows = [flow["name"] for flow in comparison.scenario.resolved["flows"]]
    if len(all_flows) < 2:
        return ""
    untraced = [name for name in all_flows if name not in comparison.flows]
    measured = (
        f"{len(comparison.flows)} flows ({_listed(comparison.flows)})"
        if len(comparison.flows) > 1
        else _listed(comparison.flows) or "-"
    )
    return f"goodput and RTT of {measured}" + (f", without {_listed(untraced)}" if untraced else "")


def _listed(names: Sequence[str]) -> str:
    """Returns the first names of flows, and the number of further ones."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _scale_and_unit(measure: ComparedMeasure) -> tuple[float, str]:
    """Returns the factor and the unit with which a measure is shown."""
    return _SCALES.get(measure.unit, (1.0, measure.unit))


def _head(measure: ComparedMeasure) -> str:
    """Returns the heading of a measure's column."""
    _, unit = _scale_and_unit(measure)
    return f"{measure.name}\n[{unit}]" if unit else measure.name


def _observed(measure: ComparedMeasure) -> str:
    """Returns the captured flow's value; empty if there is none."""
    if measure.observed is None:
        return ""
    scale, _ = _scale_and_unit(measure)
    value = scale * measure.observed
    return written(value, None, decimals_of(value))


def _cell(measure: ComparedMeasure, estimate: tuple[float, float], sign: str = "") -> str:
    """Returns a mean with the half-width of its interval; "-" if a run has no value.

    The half-width is infinite if the mean is a lower bound, and nan if its error is unknown; see `ComparedMeasure`.
    """
    mean, half_width = estimate
    if math.isnan(mean):
        return "-"
    scale, _ = _scale_and_unit(measure)
    # A difference has the decimals of the changed mean.
    decimals = decimals_of(scale * measure.changed[0])
    if math.isfinite(half_width):
        return written(scale * mean, scale * half_width, decimals, sign)
    bound = "about" if math.isnan(half_width) else "at least"
    return f"{bound} {written(scale * mean, None, decimals, sign)}"


def _interval(measure: ComparedMeasure) -> str:
    """Returns the 95 % interval of single changed runs; "-" if a run has no value."""
    if math.isnan(measure.runs[0]):
        return "-"
    scale, _ = _scale_and_unit(measure)
    low, high = (scale * number for number in measure.runs)
    decimals = decimals_of(scale * measure.changed[0])
    if not math.isfinite(high):
        return f"at least {written(low, None, decimals)}"
    form = form_of(low, high - low, decimals)
    return f"{low:{form}} to {high:{form}}"
