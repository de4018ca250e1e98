"""`longpipe validate ns2`: compares the transfers of lbd-01 in longpipe and in ns-2."""

from typing import Annotated

import typer

from longpipe.cli.toolkit.outputs import check_output, json_option
from longpipe.cli.toolkit.quantities import PACKETS, whole_number_of

DIFFERENT = 1


def ns2(
    tcp: str | None = typer.Option(None, metavar="FLAVOR", help="Only this flavor: reno, newreno or sack."),
    w_star: Annotated[
        int | None,
        typer.Option(
            metavar="PACKETS",
            parser=whole_number_of(PACKETS),
            help="Only this bandwidth-delay product: 20, 40, ... or 640.",
        ),
    ] = None,
    buffer: float | None = typer.Option(
        None, metavar="PART", help="Only this buffer: 0.25, 0.5, 0.75 or 1 times the bandwidth-delay product."
    ),
    guard: bool = typer.Option(
        True, help="Reno and NewReno: no second fast retransmit in one window (bugFix_ of ns-2)."
    ),
    json: str | None = json_option("the table"),
    figure: str | None = typer.Option(
        None, metavar="FILE", help="Draw both send sequences of one transfer as PNG and SVG."
    ),
) -> None:
    """Run the 72 transfers of lbd-01, or some of them, in longpipe and in ns-2; print the results side by side.

    The exit status is 0 if completion times are within 2 % in 90 % of them and within 5 % in all, and the losses that
    end slow start are equal in number; otherwise 1. Needs ns-2 (Debian's package ns2).
    """
    check_output("--json", json)
    # Imported here because SciPy and Matplotlib take a second to load.
    from longpipe_evidence.cli.validate import transfers

    selected = transfers.chosen(tcp, w_star, buffer)
    if not transfers.run(selected, guard=guard, json=json, figure=figure):
        raise typer.Exit(DIFFERENT)
