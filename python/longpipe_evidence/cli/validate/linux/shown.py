"""Output of `longpipe validate linux path`."""

from collections.abc import Sequence

from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
from longpipe_evidence.validate.linux_compare import LinuxComparison, missing
from longpipe_evidence.validate.linux_judged import COUNTS, FEW_PACKETS, QUANTITIES, Judgement, only_shares_differ

LABELS = {
    "goodput_mbps": ("goodput\n[Mbit/s]", "{:.3f}"),
    "srtt_ms": ("median\nround trip\n[ms]", "{:.1f}"),
    "retransmissions": ("sent\nagain", "{:d}"),
}


def show(found: LinuxComparison, judged: Sequence[Judgement], *, asked: bool) -> None:
    """Prints a row for each flow and simulator, the losses and the verdict.

    `asked` is whether a comparison with longpipe was requested.
    """
    console = terminal()
    table = terminal_table("flow", "in", *(label for label, _ in LABELS.values()), left=2, no_wrap=False)
    simulators = ("linux",) if found.longpipe is None else ("linux", "longpipe")
    for row in found.flows.to_dict("records"):
        for simulator in simulators:
            values = [form.format(row[f"{simulator}_{name}"]) for name, (_, form) in LABELS.items()]
            named = f"Linux {found.linux.kernel}" if simulator == "linux" else simulator
            table.add_row(row["control"] if simulator == "linux" else "", named, *values)
    show_table(console, table, 2)
    begin, end = found.steady_s
    lost = ", ".join(
        f"{row['queue']} in the queue and {row['link']} on the link in {'Linux' if name == 'linux' else name}"
        for name, row in found.losses.to_dict("index").items()
    )
    console.print(f"goodput and round trip from {begin:g} to {end:g} s; lost {lost}")
    limited, marked = sum(found.linux.receiver_limited_s), found.losses["marked"]
    if marked.any():
        counts = (f"{count} in {'Linux' if name == 'linux' else name}" for name, count in marked.items())
        console.print(f"packets marked: {', '.join(counts)}")
    if limited:
        console.print(f"Linux's receive window limited the sender for {limited:g} s")
    if asked and (lacks := missing(found.linux.case)) is not None:
        console.print(f"Linux alone: {lacks}")
    for line in _verdict(found, judged):
        console.print(line)


def _verdict(found: LinuxComparison, judged: Sequence[Judgement]) -> list[str]:
    """Returns lines that list the compared quantities, those that differ, and those that were not compared."""
    lines = []
    if judged:
        by_tolerance: dict[str, list[str]] = {}
        for one in judged:
            few = f" or {FEW_PACKETS} packets" if one.quantity in COUNTS else ""
            by_tolerance.setdefault(f"{100 * one.tolerance:g} %{few}", []).append(QUANTITIES[one.quantity])
        parts = (f"{', '.join(dict.fromkeys(names))} (within {most})" for most, names in by_tolerance.items())
        lines.append(f"judged: {'; '.join(parts)}")
        apart = [_deviation(found, one) for one in judged if not one.agrees]
        lines.append(f"differ: {'; '.join(apart)}" if apart else "all agree")
        if only_shares_differ(judged):
            lines.append(
                "the flows' total agrees, but not their shares, which can depend on the start times: which packets a "
                "full queue drops decides which flow slows down; compare means over several values of --start"
            )
    return [*lines, f"not judged: {'; '.join(found.not_judged)}"]


def _deviation(found: LinuxComparison, one: Judgement) -> str:
    flows = found.linux.case.flows
    of = f" of flow {one.flow + 1} ({flows[one.flow].control})" if one.flow is not None and len(flows) > 1 else ""
    return f"{QUANTITIES[one.quantity]}{of} {100 * one.difference:+.1f} %"
