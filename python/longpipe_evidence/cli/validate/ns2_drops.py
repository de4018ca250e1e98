"""`longpipe validate ns2-drops`: compares how longpipe and ns-2 send a file of which given packets are dropped."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console

from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.quantities import PACKETS, whole_number_of
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError
from longpipe.system.files import check_file
from longpipe_evidence.validate.ns2_drops import Comparison, DropCase, compare
from longpipe_evidence.validate.ns2_rules import explain

DIFFERENT = 1
# Larger time differences are due to a different rule, not to rounding or to the bytes of SACK blocks.
LAG_S = 0.01

_DEFAULTS = {name: field.default for name, field in DropCase.model_fields.items()}


def _help(field: str) -> str:
    return f"{DropCase.model_fields[field].description}."


def ns2_drops(
    tcp: Annotated[str, typer.Option(metavar="FLAVOR", help=f"{_help('tcp')} vanilla, tahoe, reno, newreno, sack.")],
    drop: Annotated[str, typer.Option(metavar="N,N,...", help=_help("drop"))] = "",
    segments: Annotated[int, typer.Option(help=_help("segments"))] = _DEFAULTS["segments"],
    window: Annotated[int, typer.Option(help=_help("window"))] = _DEFAULTS["window"],
    queue: Annotated[
        int | None,
        typer.Option(
            metavar="PACKETS",
            parser=whole_number_of(PACKETS),
            help=f"{_help('queue')} \\[default: unlimited]",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[str, typer.Option(help=_help("rate"))] = _DEFAULTS["rate"],
    round_trip: Annotated[str, typer.Option(help=_help("round_trip"))] = _DEFAULTS["round_trip"],
    mss: Annotated[str, typer.Option(help=_help("mss"))] = _DEFAULTS["mss"],
    tick: Annotated[str, typer.Option(help=_help("tick"))] = _DEFAULTS["tick"],
    guard: Annotated[bool | None, typer.Option(help=_help("guard"), rich_help_panel=MORE)] = None,
    hoe: Annotated[bool, typer.Option(help=_help("hoe"), rich_help_panel=MORE)] = _DEFAULTS["hoe"],
    deflation: Annotated[bool, typer.Option(help=_help("deflation"), rich_help_panel=MORE)] = _DEFAULTS["deflation"],
    timer_restart: Annotated[
        str, typer.Option(metavar="first|every", help=_help("timer_restart"), rich_help_panel=MORE)
    ] = _DEFAULTS["timer_restart"],
    pipe: Annotated[
        str, typer.Option(metavar="window|outstanding", help=_help("pipe"), rich_help_panel=MORE)
    ] = _DEFAULTS["pipe"],
    csv: str | None = typer.Option(None, metavar="FILE|-", help="Write both sequences as CSV; - is stdout."),
    figure: str | None = typer.Option(None, metavar="FILE", help="Draw both sequences, as PNG and SVG."),
) -> None:
    """Send a file over a bottleneck that drops given packets, in longpipe and in ns-2; print both send sequences.

    At the first difference, the rule of ns-2 that longpipe does not share is named. The exit status is 0 if both send
    the same segments in the same order, otherwise 1. Needs ns-2 (Debian's package ns2).
    """
    options: dict[str, Any] = dict(locals())
    for output in ("csv", "figure"):
        options.pop(output)
    check_output("--csv", csv)
    if figure is not None:
        check_file("--figure", Path(figure))
    comparison = compare(DropCase(**options | {"drop": _numbers(drop)}))
    text = comparison.sent.to_csv(index_label="order")
    if csv is not None:
        write_output(csv, text)
    if not is_stdout(csv):
        _show(comparison, terminal())
        if csv is not None:
            echo(f"Sequences: {csv}")
    if figure is not None:
        for file in _draw(comparison, Path(figure)):
            echo(f"Figure: {file}", err=is_stdout(csv))
    if not comparison.same_order:
        raise typer.Exit(DIFFERENT)


def _draw(comparison: Comparison, path: Path) -> list[Path]:
    # Imported here because Matplotlib takes a second to load.
    from longpipe.pictures.saving import save
    from longpipe_evidence.validate import ns2_figures

    return save(ns2_figures.drops(comparison), path.with_suffix(""))


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.replace(",", " ").split()]
    except ValueError:
        raise ScenarioError(f"--drop: {text!r}; needs packet numbers, as in 14,28") from None


def _show(comparison: Comparison, console: Console) -> None:
    """Prints the order of transmissions in both simulators, and where it differs."""
    heads = ("order", "longpipe\n[s]", "longpipe\nsegment", "ns-2\n[s]", "ns-2\nsegment", "")
    table = terminal_table(*heads, left=0, no_wrap=False)
    sent = comparison.sent
    columns = pd.DataFrame(index=sent.index)
    for side in ("longpipe", "ns2"):
        segment = sent[f"{side}_segment"]
        repeat_mark = segment.duplicated().map({True: "*", False: " "})
        columns[f"{side}_s"] = sent[f"{side}_s"].map("{:.4f}".format)
        columns[f"{side}_segment"] = segment.astype("string") + repeat_mark
        columns.loc[segment.isna(), [f"{side}_s", f"{side}_segment"]] = ""
    columns["differs"] = comparison.differs.map({True: "[red]differs[/]", False: ""})
    for order, row in columns.iterrows():
        table.add_row(str(order), *row)
    show_table(console, table)
    console.print("[dim]* retransmitted[/]")
    first = comparison.first_difference
    if first is None:
        console.print(f"[bold]same order[/]: {len(comparison.sent)} segments", end="")
    else:
        console.print(f"[bold red]order differs[/] from number {first} on", end="")
    console.print(
        f", instants up to there within {1000 * comparison.largest_lag_s:.1f} ms, {comparison.timeouts} timeouts"
    )
    if first is not None or comparison.largest_lag_s > LAG_S:
        rule = explain(comparison)
        if rule is not None:
            console.print(f"ns-2: {rule.text}" + (f"; not with {rule.remedy}" if rule.remedy else ""))
