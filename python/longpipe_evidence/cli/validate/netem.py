"""`longpipe validate netem`: compares a live path with Linux's netem."""

import math
from typing import Final

import typer

from longpipe.cli.toolkit.console import terminal_table
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import Console

# Exit status if the path and netem differ.
DIFFERENT: Final = 1


def netem(
    cases: list[str] | None = typer.Argument(
        None, metavar="[CASE ...]", help="delay, uniform, normal, loss, bursts or rate; default: all."
    ),
    datagrams: int = typer.Option(10_000, min=1000, help="Number of datagrams in each case, at about 1000 per second."),
    within: float = typer.Option(
        0.2e-3, metavar="TIME", parser=seconds, show_default="0.2 ms", help="Delays that differ by less count as equal."
    ),
) -> None:
    """Send the same datagrams over a live path in real time, and through netem of a Linux guest in virtual time.

    The exit status is 1 if delays or losses of a case differ by more than chance. Needs Debian's package
    user-mode-linux, and the rights that `longpipe live` needs.
    """
    # Imported here because NumPy and the engine take a second to load.
    from longpipe.errors import ScenarioError, nearest
    from longpipe.live.machine import check_machine
    from longpipe_evidence.validate.netem import CASES, compare, lost_share, spread_ms

    for name in cases or []:
        if name not in CASES:
            raise ScenarioError(f"CASE: {name!r}; {nearest(name, CASES)}")
    within_ms = 1e3 * within
    # Written so that it also rejects nan.
    if not within_ms >= 0:
        raise ScenarioError(f"--within: {within_ms:g} ms; needs at least 0 ms")
    check_machine()
    console = Console(highlight=False, soft_wrap=True)
    heads = ("case", "", "lost\n[%]", "delay [ms]\nmean", "\n1 %", "\n50 %", "\n99 %", "distance")
    table = terminal_table(*heads, left=2, no_wrap=False)
    different, late_lines = False, []
    for comparison in compare([CASES[name] for name in cases or CASES], datagrams):
        for which, delays in (("netem", comparison.netem), ("live", comparison.live)):
            table.add_row(
                comparison.case.name if which == "netem" else "",
                which,
                f"{100 * lost_share(delays):.2f}",
                *(f"{value:.2f}" if math.isfinite(value) else "-" for value in spread_ms(delays)),
                f"{comparison.distance(within_ms):.3f}" if which == "live" else "",
            )
        different |= not comparison.agrees(within_ms)
        if comparison.certificate.delivered:
            late_lines.append(f"{comparison.case.name}: {comparison.certificate.lateness_line()}")
    console.print(table)
    for line in late_lines:
        console.print(line, markup=False)
    if different:
        raise typer.Exit(DIFFERENT)
