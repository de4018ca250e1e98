"""Tables of one run, for a terminal of 80 columns."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from longpipe.cli.toolkit.console import show_table, terminal_table
from longpipe.metrics.delays import MEAN
from longpipe.metrics.delays import QUANTILES as DELAYS
from longpipe.metrics.slowdowns import ALL, MIN_FLOWS, TIMES
from longpipe.metrics.slowdowns import QUANTILES as QUANTILES_OF_SLOWDOWNS
from longpipe.metrics.web import QUANTILES
from longpipe.result import Result, records
from longpipe.scenario.buffers import Framing
from longpipe.scenario.summary import summary_lines
from longpipe.verdicts.limits import FlowLimit, idle_lines, limit_lines, notes, remedy_lines
from longpipe.verdicts.limits.causes import OF_COUNTER

Row = dict[str, Any]

MAX_FLOWS, MAX_PORTS = 20, 10
# Endings of the counters of losses that the table of ports distinguishes by the share of those by AQM.
OF_QUEUE: Final = {counter for counter, limit in OF_COUNTER.items() if limit in ("buffer", "AQM")}
# Columns of the table of guaranteed rates.
_OF_GUARANTEES: Final = ("flow", "frames_in", "frames_ineligible", "cells_in", "cells_delivered")
# Mark of a throughput that includes a flow whose connection died.
DIED: Final = " †"
# Direction of each efficiency if there are two.
_DIRECTIONS: Final = {"efficiency": "switch1 to switch2", "efficiency_back": "switch2 to switch1"}
# Explanation of the fairness index; the key is whether flows differ in how much they have to send.
FAIR: Final = {False: ", 1 for equal shares", True: " relative to the max-min fair shares of the demands"}


def show(result: Result, console: Console, *, everything: bool = False) -> None:
    """Prints a run: flows, active switch ports, efficiency, fairness, and what limited the flows.

    With many flows or ports only the largest are shown and the others are summed, unless `everything` is requested.
    """
    scenario = result.scenario
    title = f"{scenario.name}: {scenario.duration} of simulated time, seed {result.seed}"
    for line in (title, *summary_lines(scenario)):
        console.print(line, markup=False, highlight=False)
    limited = result.flow_limits
    most_flows, most_ports = (math.inf, math.inf) if everything else (MAX_FLOWS, MAX_PORTS)
    tables = [
        _flows(records(result.part("flows")), limited, most_flows, result.died),
        _ports(records(result.part("ports")), result.scenario.framing, most_ports),
    ]
    if MEAN in result.part("ports"):
        tables.append(_delays(records(result.part("ports")), most_ports))
    flows = result.part("flows")
    starts_s = dict(zip(flows["flow"], flows["start_s"], strict=True))
    of_parts = (
        ("queues", _queues),
        ("vbr", _vbr),
        ("guaranteed", _guaranteed),
        ("datagrams", _datagrams),
        ("relays", _relays),
        ("stacks", partial(_stacks, starts_s)),
        ("programs", _programs),
        ("slowdowns", _completion_times),
        ("slowdowns", _slowdowns),
        ("videos", _videos),
        ("media", _media),
    )
    for part, shown in of_parts:
        if (rows := records(result.part(part))) and (table := shown(rows, most_flows)).row_count:
            tables.append(table)
    if classes := records(result.part("response_times")):
        tables.append(_web([*classes, *({**row, "class": "all"} for row in records(result.part("waiting")))]))
    for table in tables:
        console.print()
        show_table(console, table)
    console.print()
    indexes = [(name, value, "of what the trunk could carry") for name, value in result.efficiencies.items()]
    indexes.append(("fairness", result.fairness, f"Jain's index{FAIR[result.demands_differ]}"))
    for name, value, meaning in indexes:
        if not math.isnan(value):
            way = f"{_DIRECTIONS[name]}: " if len(indexes) > 2 and name in _DIRECTIONS else ""
            console.print(f"{name.split('_')[0]:<10} [bold]{value:.4f}[/]  [dim]{way}{meaning}[/]", highlight=False)
    _print_limits(limited, result, console)
    for capture in result.captures:
        # The table is converted to the format that the file's suffix selects.
        form = "" if str(capture.path).endswith(".pcapng") else ", in pcapng's format"
        description = f"captured {capture.packets} packets of {capture.place} in {capture.path}{form}"
        console.print(description, markup=False, soft_wrap=True)


def _print_limits(limited: Sequence[FlowLimit], result: Result, console: Console) -> None:
    """Prints what limited each flow, with remedies and notes, a line each."""
    heads = ["limited by", *[""] * len(limited)]
    lines = list(zip(heads, limit_lines(limited), strict=False))
    lines += [("remedy", line) for line in remedy_lines(limited)]
    lines += [("note", line) for line in notes(limited)]
    lines += [("ended", line) for line in idle_lines(limited)]
    lines += [("lockout", line) for line in result.locked_out]
    lines += [("died", line) for line in result.deaths]
    lines += [("waited", line) for line in result.delayed]
    lines += [("arrived", line) for line in result.few_arrivals]
    lines += [("warm-up", line) for line in filter(None, [result.warm_up])]
    for head, line in lines:
        console.print(f"{head:<10} {line}", markup=False, highlight=False, soft_wrap=True)


def _flows(flows: list[Row], limited: Sequence[FlowLimit], max_rows: float, died: Collection[str]) -> Table:
    """Returns the table of TCP flows; the last row summarizes those beyond `max_rows`."""
    table = terminal_table(
        "flow", "throughput\n[Mbit/s]", "segments\nsent", "resent", "timeouts", "fast re-\ntransmits"
    )
    complete = any(row["completion_s"] is not None for row in flows)
    if complete:
        table.add_column("complete\n\\[s]", justify="right")
    table.add_column("limited\nby")
    by_flow = {flow_limit.flow: flow_limit.limited_by for flow_limit in limited}

    def add(name: str, rows: Sequence[Row], limit: str) -> None:
        sent, resent, fast = (
            sum(row[column] for row in rows)
            for column in ("sent_segments", "retransmitted_segments", "fast_retransmits")
        )
        mark = DIED if any(row["flow"] in died for row in rows) else ""
        timeouts = [row["timeouts"] for row in rows]
        ends = [row["completion_s"] for row in rows]
        table.add_row(
            name,
            f"{sum(row['throughput_bps'] for row in rows) / 1e6:.3f}{mark}",
            str(sent),
            f"{resent / sent:.1%}" if sent else "-",
            "-" if None in timeouts else f"{sum(timeouts):.0f}",
            str(fast),
            *(["-" if None in ends else _seconds(max(ends))] if complete else []),
            limit,
        )

    # The order is kept if all rows fit. A row of sums for a single other flow would be that flow itself.
    cells = (
        flows
        if len(flows) <= max_rows + 1
        else sorted(flows, key=lambda row: -row["throughput_bps"])[: _row_limit(max_rows)]
    )
    for row in cells:
        add(row["flow"], [row], by_flow[row["flow"]])
    if len(cells) < len(flows):
        names = {row["flow"] for row in cells}
        add(f"{len(flows) - len(cells)} others", [row for row in flows if row["flow"] not in names], "")
    if len(flows) > 1:
        table.add_section()
        add(f"all {len(flows)}", flows, "")
    table = _captioned(table, len(cells), len(flows), "flows, the fastest")
    if died:
        table = _noted(table, f"{DIED.strip()}: over the whole run, although the connection died")
    if any(row["completion_s"] is not None and row["start_s"] > 0 for row in flows):
        return _noted(table, "complete: time of the last byte, from the start of the run")
    return table


def _ports(ports: list[Row], framing: Framing, max_rows: float) -> Table:
    """Returns the table of the switch ports that carried traffic, those with the most losses first."""
    unit = "packets" if framing == "ip" else "cells"

    def lost(row: Row, *causes: str) -> int:
        return sum(row[f"{unit}_lost_{cause}"] for cause in causes if f"{unit}_lost_{cause}" in row)

    causes = [name.removeprefix(f"{unit}_lost_") for name in ports[0] if name.startswith(f"{unit}_lost_")]
    used = [row for row in ports if row["kind"] == "switch" and row[f"{unit}_in"] > 0]
    used.sort(key=lambda row: (lost(row, *causes), row["utilization"]), reverse=True)
    queues = (f"mean queue\n[{unit}]", f"peak queue\n[{unit}]")
    marks = any(row.get("packets_marked") for row in used)
    table = terminal_table(
        "switch port", f"{unit} in", "lost", "of lost:\nby AQM", *queues, "used", *["marked"] * marks
    )
    for row in used[: _row_limit(max_rows)]:
        in_all = lost(row, *causes)
        table.add_row(
            row["port"],
            str(row[f"{unit}_in"]),
            f"{in_all / row[f'{unit}_in']:.2%}" if in_all else "-",
            f"{lost(row, 'aqm', 'discarded') / in_all:.1%}" if in_all else "-",
            "-" if row[f"mean_queue_{unit}"] is None else f"{row[f'mean_queue_{unit}']:.0f}",
            str(row[f"peak_queue_{unit}"]),
            f"{row['utilization']:.1%}",
            *([_share(row["packets_marked"], row["packets_in"])] if marks else []),
        )
    _captioned(table, min(max_rows, len(used)), len(used), "ports, those that lost most or were used most")
    for row in used[: _row_limit(max_rows)]:
        counts = {cause: lost(row, cause) for cause in causes if lost(row, cause)}
        if counts.keys() - OF_QUEUE:
            by_cause = ", ".join(f"{cause.replace('_', ' ')} {count}" for cause, count in counts.items())
            _noted(table, f"{unit} lost at {row['port']}: {by_cause}")
    return table


def _delays(ports: list[Row], max_rows: float) -> Table:
    table = terminal_table("queueing delay at", "mean\n[ms]", "median\n[ms]", "95 %\n[ms]", "99 %\n[ms]")
    used = sorted((row for row in ports if row[MEAN] is not None), key=lambda row: row[MEAN], reverse=True)
    for row in used[: _row_limit(max_rows)]:
        table.add_row(row["port"], *(f"{1e3 * row[name]:.3f}" for name in (MEAN, *DELAYS)))
    return _captioned(table, min(max_rows, len(used)), len(used), "ports, those with the longest")


def _queues(queues: list[Row], max_rows: float) -> Table:
    """Returns the queues of ports at which packets waited, those of the port with the most packets first."""
    table = terminal_table("queue [packets]", "in", "lost", "marked", "mean\nqueue", "peak\nqueue", "delay\n[ms]")
    arrived: dict[str, int] = {}
    for row in queues:
        arrived[row["port"]] = arrived.get(row["port"], 0) + row["packets_in"]
    waited = {row["port"] for row in queues if row["mean_queue_packets"]}
    used = [row for row in queues if row["packets_in"] and row["port"] in waited]
    used.sort(key=lambda row: -arrived[row["port"]])
    for row in used[: _row_limit(max_rows)]:
        lost = sum(count for name, count in row.items() if name.startswith("packets_lost_"))
        table.add_row(
            f"{row['queue']} of {row['port']}",
            str(row["packets_in"]),
            _share(lost, row["packets_in"]),
            _share(row["packets_marked"], row["packets_in"]),
            f"{row['mean_queue_packets']:.1f}",
            str(row["peak_queue_packets"]),
            "-" if row["mean_delay_s"] is None else f"{1e3 * row['mean_delay_s']:.3f}",
        )
    return _captioned(table, min(max_rows, len(used)), len(used), "queues, those of the ports with the most packets")


def _vbr(sources: list[Row], max_rows: float) -> Table:
    table = terminal_table("VBR source", "cells sent", "lost", "mean delay\n[ms]", "longest\n[ms]")
    rows = sources if len(sources) <= max_rows else sorted(sources, key=lambda row: row["cells_sent"], reverse=True)
    for row in rows[: _row_limit(max_rows)]:
        delays = (row[name] for name in ("mean_delay_s", "max_delay_s"))
        waited = ("-" if delay is None else f"{1e3 * delay:.3f}" for delay in delays)
        table.add_row(row["source"], str(row["cells_sent"]), str(row["cells_lost"]), *waited)
    return _captioned(table, min(max_rows, len(sources)), len(sources), "VBR sources, those that sent most")


def _guaranteed(flows: list[Row], max_rows: float) -> Table:
    table = terminal_table("guaranteed rate", "frames", "ineligible", "cells in", "cells delivered")
    for row in flows[: _row_limit(max_rows)]:
        table.add_row(*(str(row[name]) for name in _OF_GUARANTEES))
    return _captioned(table, min(max_rows, len(flows)), len(flows), "flows with a guaranteed rate")


def _datagrams(flows: list[Row], max_rows: float) -> Table:
    """Returns the table of flows of datagrams; if there are more than `max_rows`, those that sent most."""
    # Runs of engine 13 and earlier count duplicates as arrived.
    duplicates = ["duplicates"] if any(row.get("duplicates") for row in flows) else []
    delays = ("delay\n[ms]", "95 %\n[ms]", "99 %\n[ms]", "jitter\n[ms]")
    table = terminal_table("datagrams of", "sent", "arrived", *duplicates, "lost", *delays)
    rows = flows if len(flows) <= max_rows else sorted(flows, key=lambda row: row["sent"], reverse=True)
    for row in rows[: _row_limit(max_rows)]:
        times = (row[name] for name in ("mean_delay_s", "p95_delay_s", "p99_delay_s", "jitter_s"))
        waited = ("-" if delay is None else f"{1e3 * delay:.3f}" for delay in times)
        counted = [str(row[name]) for name in ("sent", "received", *duplicates)]
        table.add_row(row["flow"], *counted, _share(row["lost"], row["lost"] + row["received"]), *waited)
    return _captioned(table, min(max_rows, len(flows)), len(flows), "flows of datagrams, those that sent most")


def _relays(parts: list[Row], max_rows: float) -> Table:
    heads = ("segments\nsent", "resent", "mean\nbuffer [KB]", "peak\nbuffer [KB]", "window\nprobes")
    table = terminal_table("part up to a proxy", *heads)
    rows = parts if len(parts) <= max_rows else sorted(parts, key=lambda row: row["delivered_bytes"], reverse=True)
    for row in rows[: _row_limit(max_rows)]:
        held = (f"{row[f'{name}_buffer_bytes'] / 1e3:.0f}" for name in ("mean", "peak"))
        resent = _share(row["retransmitted_segments"], row["sent_segments"])
        table.add_row(row["connection"], str(row["sent_segments"]), resent, *held, str(row["window_probes"]))
    return _captioned(table, min(max_rows, len(parts)), len(parts), "parts, those that carried most")


def _stacks(starts_s: Mapping[str, float], flows: list[Row], max_rows: float) -> Table:
    """Returns the state of each stack, with the time from the start of its flow to the end of its handshake."""
    table = terminal_table("stack of", "name", "handshake\n[ms]", "RTT\n[ms]", "window\n[KB]", "payload\n[B]")
    for row in flows[: _row_limit(max_rows)]:
        ended_s = row.get("handshake_s")
        seconds = (None if ended_s is None else ended_s - starts_s[row["flow"]], row.get("srtt_s"))
        times = ("-" if value is None else f"{1e3 * value:.2f}" for value in seconds)
        window, payload = row.get("cwnd_bytes"), row.get("mtu_bytes")
        sizes = ("-" if window is None else f"{window / 1e3:.1f}", "-" if payload is None else f"{payload:.0f}")
        table.add_row(row["flow"], row["stack"], *times, *sizes)
    return _captioned(table, min(max_rows, len(flows)), len(flows), "flows with real stacks")


def _programs(programs: list[Row], max_rows: float) -> Table:
    """Returns the results of the user's programs, with the last line of their output."""
    table = terminal_table("program of", "on", "ended\n[s]", "exit\ncode")
    table.add_column("last line of its output", overflow="ellipsis", no_wrap=True)
    for row in programs[: _row_limit(max_rows)]:
        ended, code = ("-" if row[name] is None else f"{row[name]:.6g}" for name in ("ended_s", "exit_code"))
        line = (row["output"].strip().splitlines() or ["-"])[-1]
        table.add_row(row["flow"], row["host"], ended, code, escape(line))
    table = _captioned(table, min(max_rows, len(programs)), len(programs), "programs")
    return _noted(table, "ended: time from the start of the run")


def _completion_times(rows: list[Row], max_rows: float) -> Table:
    """Returns the numbers and completion times of arriving flows, by size if there are at most `max_rows` flows."""
    table = terminal_table(
        "arriving\nflows", "size", "flows", "complete", *(f"{name}\n[s]" for name in ("mean", "median", "95 %"))
    )
    shown_rows, flows = _by_size(rows, max_rows)
    for row in shown_rows:
        times = (row[name] for name in ("mean_time_s", *TIMES))
        cells = ("-" if time is None else f"{time:.4g}" for time in times)
        table.add_row(row["flow"], row["size"], str(row["flows"]), str(row["completed"]), *cells)
    _captioned(table, min(max_rows, flows), flows, "flows with arriving flows")
    return _noted(table, "times from arrival to completion, of complete flows")


def _slowdowns(rows: list[Row], max_rows: float) -> Table:
    """Returns slowdowns of arriving flows, by size as `_completion_times`, with the interval of the mean if known."""
    shown_rows, _ = _by_size(rows, max_rows)
    has_intervals = any(row["low"] is not None for row in shown_rows)
    table = terminal_table("slowdown of\nflows", "size", "mean", *["±"] * has_intervals, "median", "95 %", "99 %")
    for row in shown_rows:
        mean, *quantiles = (
            "-" if row[name] is None else f"{row[name]:.2f}" for name in ("mean", *QUANTILES_OF_SLOWDOWNS)
        )
        margin = "-" if row["low"] is None else f"{(row['high'] - row['low']) / 2:.2f}"
        table.add_row(row["flow"], row["size"], mean, *[margin] * has_intervals, *quantiles)
    table = _noted(table, "completion time, divided by the time over the idle path")
    return _noted(table, f"±: 95 % interval of the mean, for at least {MIN_FLOWS} flows") if has_intervals else table


def _by_size(rows: list[Row], max_rows: float) -> tuple[list[Row], int]:
    """Returns the rows to show, without classes of sizes for more than `max_rows` flows, and the number of flows."""
    whole = [row for row in rows if row["size"] == ALL]
    return (rows if len(whole) <= max_rows else whole[: int(max_rows)]), len(whole)


def _videos(flows: list[Row], max_rows: float) -> Table:
    heads = ("bitrate\n[Mbit/s]", "switches", "startup\n[s]", "played\n[s]", "stalled\n[s]", "stalls")
    table = terminal_table("video of", "chunks", *heads)
    for row in flows[: _row_limit(max_rows)]:
        numbers = ((row["mean_bitrate_bps"], 1e-6), (row["startup_s"], 1), (row["played_s"], 1), (row["stalled_s"], 1))
        rate, startup, played, stalled = ("-" if value is None else f"{value * unit:.2f}" for value, unit in numbers)
        cells = (str(row["received"]), rate, str(row["switches"]), startup, played, stalled, str(row["stalls"]))
        table.add_row(row["flow"], *cells)
    return _captioned(table, min(max_rows, len(flows)), len(flows), "flows with adaptive video")


def _media(flows: list[Row], max_rows: float) -> Table:
    table = terminal_table("media of", "frames", "received", "mean delay\n[ms]", "max. delay\n[ms]", "late")
    for row in flows[: _row_limit(max_rows)]:
        mean, longest = (
            "-" if row[name] is None else f"{1e3 * row[name]:.1f}" for name in ("mean_delay_s", "max_delay_s")
        )
        table.add_row(row["flow"], str(row["frames"]), str(row["received"]), mean, longest, str(row["late"]))
    return _captioned(table, min(max_rows, len(flows)), len(flows), "flows with media")


def _web(classes: list[Row]) -> Table:
    table = terminal_table("files of class", "requested", "complete", "median\n[s]", "95 %\n[s]", "99 %\n[s]")
    for row in classes:
        waits = (row[name] for name in QUANTILES)
        waits_s = ("-" if wait is None else f"{wait:.3f}" for wait in waits)
        table.add_row(str(row["class"]), str(row["files"]), str(row["completed"]), *waits_s)
    return _noted(table, "from a request to its file's last byte; -: beyond the run")


def _seconds(time_s: float) -> str:
    """Returns a time [s] with at least five significant digits, up to 1 µs, and at least three decimals."""
    decimals = 4 - math.floor(math.log10(time_s)) if time_s > 0 else 0
    return f"{time_s:.{min(6, max(3, decimals))}f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if part else "-"


def _row_limit(max_rows: float) -> int | None:
    return None if math.isinf(max_rows) else int(max_rows)


def _captioned(table: Table, shown: float, rows: int, what: str) -> Table:
    if rows > shown:
        table.caption = f"{shown} of {rows} {what}; --all shows all"
    return table


def _noted(table: Table, line: str) -> Table:
    """Adds a line to the table's caption."""
    table.caption = f"{table.caption}\n{line}" if table.caption else line
    return table
