"""`longpipe read`: contents of captures and of other measured files."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final

import typer

from longpipe.cli.toolkit.console import show_table, terminal
from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_json
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.system.files import PICTURES, check_file

if TYPE_CHECKING:
    from longpipe.measured import Recording, Subject

# Maximum number of rows of the table; --json contains all subjects.
MAX_ROWS: Final = 12
# Earliest beginning that is shown as a date [ns]: 2 January 1970.
EARLIEST_NS: Final = 86_400 * 10**9
# Maximum length of a line.
COLUMNS: Final = 100
_SCALES: Final = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}
# Units of counters whose names are plurals, such as "retransmitted packets".
_COUNTED: Final = ("packets", "blocks", "opportunities")


def read(
    file: str = typer.Argument(
        metavar="FILE", help="pcap, pcapng, or the output of any tool listed in docs/read.md; may be compressed."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Picture of the series over time: .svg, .pdf or .png."
    ),
    json: str | None = json_option("all series and counters"),
) -> None:
    """Show the rates, RTTs and losses in a capture or in the output of a measurement tool.

    longpipe read monday.pcapng -o monday.png

    longpipe read iperf3.json --json -

    The output also states what the file does not contain.
    """
    if output is not None:
        if output.suffix not in PICTURES:
            raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, PICTURES)}")
        check_file("--output", output)
    check_output("--json", json)
    # Imported here so that other commands start faster.
    from longpipe.measured import read as read_measured

    recording = read_measured(file)
    if json is not None:
        write_json(json, recording.as_json())
    if not is_stdout(json):
        _show(recording)
    if output is not None:
        from longpipe.pictures.measured import measured
        from longpipe.pictures.saving import save_as

        save_as(measured(recording), output)
        echo(f"Picture: {output}", err=is_stdout(json))


def _show(recording: Recording) -> None:
    """Prints a recording: its tool and duration, and a table of its flows or paths."""
    from rich.markup import escape
    from rich.table import Table

    # Times in captures of simulations count from the epoch.
    begins = f" from {recording.begin}" if recording.begin and (recording.begin_ns or 0) >= EARLIEST_NS else ""
    version = f" {recording.version}" if recording.version else ""
    _wrapped(f"{recording.file}: {recording.source(100)}{version}; {recording.duration_s:.6g} s{begins}")
    table = Table(box=None, pad_edge=False)
    kinds = {subject.kind for subject in recording.subjects}
    table.add_column(escape("/".join(sorted(kinds)) or "flow"), overflow="fold")
    rates = {series.quantity for subject in recording.subjects if (series := subject.rates) is not None} or {"rate"}
    for head in (
        f"{' or '.join(sorted(rates))}\n[Mbit/s]",
        "round trip [ms]\nleast, median, most",
        "lost\n[packets]",
        "retransmitted\n[packets]",
    ):
        table.add_column(escape(head), justify="right")
    for subject in recording.subjects[:MAX_ROWS]:
        counts = (_total(subject, "losses"), _total(subject, "retransmissions"))
        table.add_row(escape(subject.name), _rate(subject), _round_trips(subject), *counts)
    show_table(terminal(), table)
    if len(recording.subjects) > MAX_ROWS:
        echo(f"... and {len(recording.subjects) - MAX_ROWS} more (--json shows all)")
    for first_subject in recording.subjects[:1]:
        counters = [_count(name, *value) for name, value in first_subject.counters.items() if value[0]]
        facts = [f"{name} {shortened(value, 60)}" for name, value in first_subject.facts.items()]
        if counters or facts:
            _wrapped(f"{first_subject.name}: {', '.join([*counters, *facts])}")
    for text in recording.notes[:MAX_ROWS]:
        _wrapped(f"note: {text}")
    if len(recording.notes) > MAX_ROWS:
        echo(f"note: and {len(recording.notes) - MAX_ROWS} more (--json shows all)")
    for text in recording.unknown:
        _wrapped(f"cannot tell {text}")


def _wrapped(text: str) -> None:
    """Prints a text in lines of at most COLUMNS characters, unless a word is longer."""
    echo(fill(text, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def _count(name: str, value: float, unit: str) -> str:
    """Returns a counter with its unit, which is omitted if the name is that of counted objects, such as packets."""
    scale, shown_unit = _SCALES.get(unit, (1.0, unit))
    number = f"{value * scale:.5g}" if unit in _SCALES else f"{value:.15g}"
    return f"{name} {number}" if unit in _COUNTED and name.endswith("s") else f"{name} {number} {shown_unit}"


def _rate(subject: Subject) -> str:
    """Returns the mean rate: all bytes divided by all time."""
    mean = None if subject.rates is None else subject.rates.mean
    return "-" if mean is None else f"{mean / 1e6:.4g}"


def _round_trips(subject: Subject) -> str:
    import numpy as np

    series = subject.of("rtt") or subject.of("smoothed rtt")
    if series is None or not len(series.numbers):
        return "-"
    minimum, middle, maximum = np.quantile(series.numbers, [0.0, 0.5, 1.0]) * 1e3
    return f"{minimum:.4g}, {middle:.4g}, {maximum:.4g}"


def _total(subject: Subject, quantity: str) -> str:
    counted = [series for series in subject.series if series.quantity == quantity and series.unit == "packets"]
    if not counted:
        return "-"
    return f"{sum(float(series.numbers.sum()) for series in counted):.10g}"
