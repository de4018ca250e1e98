"""Actions of `longpipe validate ns2`: transfers of lbd-01 in longpipe and in ns-2."""

import json as json_text
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
from longpipe.cli.toolkit.outputs import is_stdout, write_output
from longpipe.cli.toolkit.progress import RunBar
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import check_file
from longpipe_evidence.papers.lbd_01.transfers import BUFFERS, FLAVORS, W_STARS, Transfer
from longpipe_evidence.papers.lbd_01.transfers import transfers as all_transfers
from longpipe_evidence.validate.ns2_transfers import TransferComparison, compare

# Criteria for completion times: difference, share of the transfers within it, and maximum difference.
CLOSE, SHARE, FURTHEST = 0.02, 0.9, 0.05


def run(transfers: Sequence[Transfer], *, guard: bool, json: str | None, figure: str | None) -> bool:
    """Runs and prints transfers in both simulators, and returns whether they agree.

    `json` is a file, or - for stdout only.
    """
    if figure is not None:
        if len(transfers) > 1:
            raise ScenarioError("--figure: draws one transfer; needs --tcp, --w-star and --buffer")
        check_file("--figure", Path(figure))
    comparisons = []
    with RunBar("ns-2") as bar:
        for transfer in transfers:
            comparisons.append(compare(transfer, guard=guard))
            bar.update(len(comparisons) / len(transfers))
    table = pd.DataFrame([comparison.row() for comparison in comparisons])
    agree = _agree(table)
    text = json_text.dumps({"guard": guard, "agree": agree, "rows": table.to_dict("records")}, indent=2) + "\n"
    if json is not None:
        write_output(json, text)
    if not is_stdout(json):
        _show(table, terminal())
        if json is not None:
            echo(f"JSON: {json}")
    if figure is not None:
        for file in _draw(comparisons[0], Path(figure)):
            echo(f"Figure: {file}", err=is_stdout(json))
    return agree


def chosen(tcp: str | None, w_star: int | None, buffer: float | None) -> list[Transfer]:
    """Returns the transfers with these levels (None for any). Raises ScenarioError for a level that no transfer has."""
    if tcp is not None and tcp not in FLAVORS:
        raise ScenarioError(f"--tcp: {tcp!r}; {nearest(tcp, FLAVORS)}")
    _check("--w-star", w_star, W_STARS)
    _check("--buffer", buffer, BUFFERS)
    return [
        transfer
        for transfer in all_transfers()
        if tcp in (None, transfer.tcp)
        and w_star in (None, transfer.w_star_packets)
        and buffer in (None, transfer.buffer_bdp)
    ]


def _check(field: str, value: float | None, accepted: Sequence[float]) -> None:
    if value is not None and value not in accepted:
        raise ScenarioError(f"{field}: {value:g}; accepts {', '.join(f'{number:g}' for number in accepted)}")


def _agree(table: pd.DataFrame) -> bool:
    difference = table["difference"].abs()
    same_start = table["first_losses_longpipe"] == table["first_losses_ns2"]
    return bool((difference <= CLOSE).mean() >= SHARE and (difference <= FURTHEST).all() and same_start.all())


def _draw(comparison: TransferComparison, path: Path) -> list[Path]:
    # Imported here because Matplotlib takes a second to load.
    from longpipe.pictures.saving import save
    from longpipe_evidence.validate import ns2_figures

    return save(ns2_figures.sequence(comparison), path.with_suffix(""))


def _show(table: pd.DataFrame, console: Console) -> None:
    """Prints the transfers beside those of ns-2."""
    heads = (
        "TCP",
        "W*",
        "B/W*",
        "complete\n[s]",
        "ns-2\n[s]",
        "differ-\nence",
        "lost",
        "in slow\nstart",
        "time-\nouts",
    )
    rich_table = terminal_table(*heads, "sent\nagain", no_wrap=False)
    for row in table.sort_values("tcp", key=lambda tcp: tcp.map(FLAVORS.index), kind="stable").to_dict("records"):
        pairs = [
            _pair(row[f"{name}_longpipe"], row[f"{name}_ns2"])
            for name in ("losses", "first_losses", "timeouts", "retransmissions")
        ]
        close = abs(row["difference"]) <= CLOSE
        shift = f"{100 * row['difference']:z.3f} %"
        rich_table.add_row(
            row["tcp"],
            str(row["w_star_packets"]),
            f"{row['buffer_bdp']:g}",
            f"{row['completion_time_s_longpipe']:.3f}",
            f"{row['completion_time_s_ns2']:.3f}",
            shift if close else f"[red]{shift}[/]",
            *pairs,
        )
    show_table(console, rich_table)
    difference = table["difference"].abs()
    console.print("[dim]one number where both have the same, else longpipe's | ns-2's[/]")
    console.print(
        f"completion within 2 % in {(difference <= CLOSE).sum()} of {len(table)} transfers, "
        f"largest difference {100 * difference.max():.3f} %"
    )


def _pair(longpipe: int, ns2: int) -> str:
    return str(longpipe) if longpipe == ns2 else f"[yellow]{longpipe} | {ns2}[/]"
