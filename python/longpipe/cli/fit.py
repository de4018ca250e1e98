"""`longpipe fit`: the path and the sender behind a capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longpipe.cli.progress import RunBar
from longpipe.cli.safe import Console, echo
from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.files import check_file

if TYPE_CHECKING:
    from longpipe.fit import PathFit


def fit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="pcap or pcapng of a TCP transfer at its sender.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH.toml", help="Scenario of the fitted path.")
    ] = Path("path.toml"),
    flow: Annotated[int, typer.Option("--flow", help="Number of the flow in `longpipe read`, from 0.")] = 0,
    controls: Annotated[
        str,
        typer.Option("--controls", help="Candidates, separated by commas.", show_default="Linux's"),
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="What is known, such as tcp.hz=1000.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the estimates and the observed series as JSON.")] = False,
) -> None:
    """Fit a path and a congestion control to a capture, and write them as a scenario.

    longpipe fit monday.pcapng -o monday.toml; longpipe whatif monday.toml --set tcp.congestion=bbr3
    """
    from longpipe.cli.run import change
    from longpipe.fit import CONTROLS, observe
    from longpipe.fit import fit as search
    from longpipe.fit.path_file import SUFFIX, as_json, write

    check_file("--output", output)
    check_file("--output", output.with_suffix(SUFFIX))
    known = dict(change(text) for text in changes or [])
    wanted = tuple(one.strip() for one in controls.split(",")) if controls else CONTROLS
    # Linux 6.1 has no BBR version 3, so it is a candidate only if it is named.
    accepted = (*CONTROLS, "bbr3")
    unknown = next((one for one in wanted if one not in accepted), None)
    if unknown is not None:
        raise ScenarioError(f"--controls: {shortened(unknown)!r}; {nearest(unknown, accepted)}")
    seen = observe(file, flow)
    with RunBar("simulating candidates") as bar:
        found = search(seen, wanted, known, bar.update)
    beside = write(found, output)
    if json:
        import orjson

        echo(orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2).decode())
    else:
        _show(found)
    if found.left:
        echo(f"interrupted: {found.left} candidates were not simulated", err=True)
    echo(f"Path: {output}; estimates and observed series: {beside}", err=json)


def _show(found: PathFit) -> None:
    from rich.table import Table

    from longpipe.fit.path_file import LISTED, cannot_tell, estimates, flow_and_file, with_interval

    echo(flow_and_file(found))
    table = Table(box=None, pad_edge=False)
    for head in ("", "estimate (95 % interval)", "known from"):
        table.add_column(head)
    for name, row in estimates(found).items():
        table.add_row(name, with_interval(row), row["known"])
    for name, shares in (("sender", found.control_shares()), ("queue", found.queue_shares())):
        listed = ", ".join(f"{one} {share:.0%}" for one, share in shares.items() if share >= LISTED)
        table.add_row(name, listed, "simulated candidates")
    Console().print(table, markup=False)
    echo(f"mean distance of the best simulation's data in flight: {found.best.distance:.1%}")
    for text in found.seen.notes:
        echo(f"note: {text}")
    for text in cannot_tell(found):
        echo(f"cannot tell {text}")
