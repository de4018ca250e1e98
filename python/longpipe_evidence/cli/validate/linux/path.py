"""`longpipe validate linux path`: compares one path in Linux and in longpipe."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import typer

from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.outputs import check_output, is_stdout, write_output
from longpipe.cli.toolkit.quantities import PACKETS, share, whole_number_of
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError
from longpipe.system.files import check_file, write_bytes
from longpipe_evidence.validate.linux import LinuxCase, LinuxFlow
from longpipe_evidence.validate.linux_judged import FEW_PACKETS, Tolerances

DIFFERENT = 1
_DEFAULTS = {name: field.default for name, field in LinuxCase.model_fields.items()}


def _help(field: str) -> str:
    return f"{LinuxCase.model_fields[field].description}."


def path(
    context: typer.Context,
    control: list[str] | None = typer.Option(
        None, metavar="NAME", help="Congestion control of a flow; repeat for each flow."
    ),
    start: list[str] | None = typer.Option(None, metavar="TIME", help="Start time of each flow; default: 0 s."),
    size: list[str] | None = typer.Option(None, metavar="BYTES", help="Data of each flow; default: unlimited."),
    rate: Annotated[str, typer.Option(help=_help("rate"))] = _DEFAULTS["rate"],
    round_trip: Annotated[str, typer.Option(help=_help("round_trip"))] = _DEFAULTS["round_trip"],
    buffer: Annotated[
        int, typer.Option(metavar="PACKETS", parser=whole_number_of(PACKETS), help=_help("buffer"))
    ] = _DEFAULTS["buffer"],
    discipline: Annotated[str, typer.Option(metavar="'NAME ...'", help=_help("discipline"))] = _DEFAULTS["discipline"],
    loss: Annotated[float, typer.Option(metavar="PROBABILITY", parser=share, help=_help("loss"))] = _DEFAULTS["loss"],
    lose: Annotated[str, typer.Option(metavar="N,N,...", help=_help("lose"))] = "",
    duration: Annotated[str, typer.Option(help=_help("duration"))] = _DEFAULTS["duration"],
    seed: Annotated[int, typer.Option(help=_help("seed"))] = _DEFAULTS["seed"],
    alone: bool = typer.Option(False, "--alone", help="Run Linux only."),
    changes: list[str] | None = typer.Option(
        None, "--set", metavar="FIELD=VALUE", help="Change a field of longpipe's scenario."
    ),
    within: float = typer.Option(
        Tolerances.goodput, metavar="SHARE", parser=share, help="Accepted difference of goodput and median RTT."
    ),
    counts_within: float = typer.Option(
        Tolerances.counts,
        metavar="SHARE",
        parser=share,
        help="Largest difference of packets lost, marked and retransmitted; "
        f"{FEW_PACKETS} packets are always accepted.",
    ),
    csv: str | None = typer.Option(
        None, metavar="FILE|-", help="Write windows, RTTs and counters every 100 ms as CSV."
    ),
    pcap: str | None = typer.Option(None, metavar="FILE", help="Capture packets at the sender's device, as pcap."),
) -> None:
    """Send over one bottleneck with the TCP of Linux 6.1, in virtual time, and with longpipe; print both results.

    longpipe uses its own implementation of a congestion control if it has one. The exit status is 0 if goodput and
    median RTT of each flow are within --within of Linux's, and packets lost, marked and retransmitted within
    --counts-within, or if longpipe has no such control; otherwise 1. Needs Debian's package user-mode-linux, which is
    fetched if it is not installed.
    """
    if alone:
        refuse(context, ("--set", "--within", "--counts-within"), "not with --alone, which runs Linux only")
    check_output("--csv", csv)
    if pcap is not None:
        check_file("--pcap", Path(pcap))
    case = LinuxCase(
        rate=rate,
        round_trip=round_trip,
        buffer=buffer,
        discipline=discipline,
        loss=loss,
        lose=_numbers(lose),
        duration=duration,
        seed=seed,
        capture=pcap is not None,
        flows=_flows(control or ["cubic"], start or [], size or []),
    )
    # Imported here because pandas and the engine take a second to load.
    from longpipe.cli.toolkit.naming import change
    from longpipe_evidence.cli.validate.linux import shown
    from longpipe_evidence.validate.linux_compare import compare

    comparison = compare(case, alone=alone, **dict(change(text) for text in changes or []))
    judged = comparison.judged(Tolerances(goodput=within, round_trip=within, counts=counts_within))
    if csv is not None:
        write_output(csv, comparison.series.to_csv(index=False))
    if not is_stdout(csv):
        shown.show(comparison, judged, with_longpipe=not alone)
        if csv is not None:
            echo(f"Series: {csv}")
    if pcap is not None and comparison.linux.pcap is not None:
        write_bytes(Path(pcap), comparison.linux.pcap)
        echo(f"Packets of Linux: {pcap}", err=is_stdout(csv))
    if not all(judgement.agrees for judgement in judged):
        raise typer.Exit(DIFFERENT)


def _flows(controls: list[str], starts: list[str], sizes: list[str]) -> tuple[LinuxFlow, ...]:
    """Returns a flow for each congestion control; a single start or size applies to all."""
    for option, values in (("--start", starts), ("--size", sizes)):
        if len(values) not in (0, 1, len(controls)):
            raise ScenarioError(f"{option}: {len(values)} times; needs one, or one for each of {len(controls)} flows")
    # The scenario's model validates the names.
    flows: Iterator[tuple[Any, str, str | None]] = zip(
        controls, cycle(starts or ["0 s"]), cycle(sizes or [None]), strict=False
    )
    return tuple(LinuxFlow(control=control, start=start, size=size) for control, start, size in flows)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.replace(",", " ").split())
    except ValueError:
        raise ScenarioError(f"--lose: {text!r}; needs packet numbers, as in 3000,20000") from None
