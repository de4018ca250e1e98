"""Output of `longpipe validate linux path`: the results of Linux and longpipe on one path, and where they differ."""

from collections.abc import Sequence

from longpipe.cli.toolkit.console import show_table, terminal, terminal_table
from longpipe_evidence.validate.linux_compare import LinuxComparison, missing
from longpipe_evidence.validate.linux_judged import COUNTS, FEW_PACKETS, QUANTITIES, Judgement, only_shares_differ

# Heading and number format of each compared quantity.
LABELS = {
    "goodput_mbps": ("goodput\n[Mbit/s]", "{:.3f}"),
    "srtt_ms": ("median\nround trip\n[ms]", "{:.1f}"),
    "retransmissions": ("sent\nagain", "{:d}"),
}


def show(comparison: LinuxComparison, judged: Sequence[Judgement], *, with_longpipe: bool) -> None:
    """Prints a row for each flow and simulator, the losses and the verdict.

    `with_longpipe` is whether a comparison with longpipe was requested, and not only Linux's results.
    """
    console = terminal()
    table = terminal_table("flow", "in", *(label for label, _ in LABELS.values()), left=2, no_wrap=False)
    simulators = ("linux",) if comparison.longpipe is None else ("linux", "longpipe")
    for row in comparison.flows.to_dict("records"):
        for simulator in simulators:
            values = [form.format(row[f"{simulator}_{name}"]) for name, (_, form) in LABELS.items()]
            label = f"Linux {comparison.linux.kernel}" if simulator == "linux" else simulator
            table.add_row(row["control"] if simulator == "linux" else "", label, *values)
    show_table(console, table, 2)
    begin, end = comparison.steady_s
    lost = ", ".join(
        f"{row['queue']} in the queue and {row['link']} on the link in {'Linux' if name == 'linux' else name}"
        for name, row in comparison.losses.to_dict("index").items()
    )
    console.print(f"goodput and round trip from {begin:g} to {end:g} s; lost {lost}")
    limited, marked = sum(comparison.linux.receiver_limited_s), comparison.losses["marked"]
    if marked.any():
        counts = (f"{count} in {'Linux' if name == 'linux' else name}" for name, count in marked.items())
        console.print(f"packets marked: {', '.join(counts)}")
    if limited:
        console.print(f"Linux's receive window limited the sender for {limited:g} s")
    if with_longpipe and (lacks := missing(comparison.linux.case)) is not None:
        console.print(f"Linux alone: {lacks}")
    for line in _verdict(comparison, judged):
        console.print(line)


def _verdict(comparison: LinuxComparison, judged: Sequence[Judgement]) -> list[str]:
    """Returns lines that list the compared quantities, those that differ, and those that were not compared."""
    lines = []
    if judged:
        by_tolerance: dict[str, list[str]] = {}
        for judgement in judged:
            few = f" or {FEW_PACKETS} packets" if judgement.quantity in COUNTS else ""
            by_tolerance.setdefault(f"{100 * judgement.tolerance:g} %{few}", []).append(QUANTITIES[judgement.quantity])
        parts = (f"{', '.join(dict.fromkeys(names))} (within {tolerance})" for tolerance, names in by_tolerance.items())
        lines.append(f"judged: {'; '.join(parts)}")
        deviations = [_deviation(comparison, judgement) for judgement in judged if not judgement.agrees]
        lines.append(f"differ: {'; '.join(deviations)}" if deviations else "all agree")
        if only_shares_differ(judged):
            lines.append(
                "the flows' total agrees, but not their shares, which can depend on the start times: which packets a "
                "full queue drops decides which flow slows down; compare means over several values of --start"
            )
    return [*lines, f"not judged: {'; '.join(comparison.not_judged)}"]


def _deviation(comparison: LinuxComparison, judgement: Judgement) -> str:
    """Returns a quantity, its flow if there are several, and the relative difference."""
    flows = comparison.linux.case.flows
    flow = ""
    if judgement.flow is not None and len(flows) > 1:
        flow = f" of flow {judgement.flow + 1} ({flows[judgement.flow].control})"
    return f"{QUANTITIES[judgement.quantity]}{flow} {100 * judgement.difference:+.1f} %"
