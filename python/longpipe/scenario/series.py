"""What a link does over time, as the core has it: from a scenario's own lists, a file, or satellites."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs import read_lines
from longpipe.scenario import irtt
from longpipe.scenario.coding import rates_of
from longpipe.scenario.motion import MOST_STEPS, Coded, File, Moving, Outages, Satellites
from longpipe.scenario.rows import check_cells, heads, quantity
from longpipe.units import RATE, TIME

PS: Final = 10**12
PS_PER_MS: Final = 10**9
PS_PER_NS: Final = 10**3
LONGEST_DELAY_PS: Final = TIME.parse("1000 s")
FASTEST_BPS: Final = RATE.parse("10 Tbit/s")
COLUMNS: Final = ("time", "rate", "delay", "loss")
# As `longpipe satellites` writes them.
ROUND_TRIPS: Final = ("time_s", "from", "to", "rtt_ns", "links")
# Of a schedule: lines, and the latest instant [ms].
MOST_LINES: Final = 10_000_000
LATEST_MS: Final = 100 * 86_400 * 1000


@dataclass(frozen=True)
class Series:
    """A link that moves: `motion` is the core's, and `loss`, if there is any of it, likewise."""

    motion: dict[str, Any]
    loss: dict[str, Any] | None = None

    @property
    def most_delay_ps(self) -> int | None:
        """The longest delay, if that moves."""
        delay = self.motion.get("delay")
        return None if delay is None else max(knot[1] for knot in delay["knots_ps"])


def mean_rate_bps(service: dict[str, Any], duration_ps: int) -> float:
    """What a line could send over a run, whose service is as the core has it [bit/s]; outages apart."""
    if service["kind"] == "opportunities":
        instants = service["instants_ps"]
        turns, rest = divmod(duration_ps, instants[-1])
        count = turns * len(instants) + sum(at <= rest for at in instants)
        return float(8 * service["bytes"] * count * PS / duration_ps)
    steps = service["steps"]

    def bits_ps(until: int) -> int:
        ends = [*(at for at, _ in steps[1:]), until]
        return sum(rate * max(0, min(end, until) - at) for (at, rate), end in zip(steps, ends, strict=True))

    cycle = service.get("cycle_ps")
    turns, rest = (0, duration_ps) if cycle is None else divmod(duration_ps, cycle)
    return (turns * bits_ps(cycle or 0) + bits_ps(rest)) / duration_ps


@dataclass
class _Parts:
    service: dict[str, Any] | None = None
    knots_ps: list[list[int]] = field(default_factory=list)
    loss: dict[str, Any] | None = None
    outages_ps: list[list[int]] = field(default_factory=list)


def series(where: str, path: Moving | File | Coded | Satellites, duration: str) -> Series:
    """A link's series for a run of this length; ScenarioError names `where`, or a file and its line."""
    duration_ps = TIME.parse(duration)
    if isinstance(path, Moving):
        parts = _of_lists(where, path)
    elif isinstance(path, File):
        parts = _of_file(path)
    elif isinstance(path, Coded):
        rates = [[at, rate] for at, rate, _ in rates_of(where, path)]
        parts = _Parts(_steps(f"{where}.esn0", rates))
    else:
        key = (path.shell, path.from_, path.to, TIME.parse(path.begin), TIME.parse(path.step), duration_ps)
        knots, gaps = _over_satellites(where, *key)
        parts = _Parts(knots_ps=[list(knot) for knot in knots], outages_ps=[list(gap) for gap in gaps])
    motion: dict[str, Any] = {"order": "fifo" if isinstance(path, Coded) else path.order}
    if parts.service is not None:
        motion["service"] = parts.service
    if parts.knots_ps and not isinstance(path, Coded):
        motion["delay"] = {"knots_ps": parts.knots_ps, "between": path.between, "at": path.at}
    outages = path.outages
    if intervals := _intervals(f"{where}.outages", outages, parts.outages_ps, duration_ps):
        if parts.service is not None and parts.service["kind"] == "opportunities":
            raise ScenarioError(f"{where}.outages: beside a schedule; needs a schedule with gaps of its own")
        policies = {name: getattr(outages, name) for name in ("arriving", "waiting", "in_service", "in_flight")}
        motion["outages"] = {"intervals_ps": intervals, **policies}
    return Series(motion, parts.loss)


def _of_lists(where: str, path: Moving) -> _Parts:
    knots = [[TIME.parse(time), TIME.parse(delay)] for time, delay in path.delay]
    _check_order(f"{where}.delay", [time for time, _ in path.delay], strictly=False)
    _check_order(f"{where}.rate", [time for time, _ in path.rate], strictly=True)
    steps = [[TIME.parse(time), RATE.parse(rate)] for time, rate in path.rate]
    if not steps:
        if path.rate_cycle is not None:
            raise ScenarioError(f"{where}.rate_cycle: {path.rate_cycle}; needs steps of the rate")
        return _Parts(knots_ps=knots)
    cycle = None if path.rate_cycle is None else TIME.parse(path.rate_cycle)
    if cycle is not None and cycle <= steps[-1][0]:
        raise ScenarioError(f"{where}.rate_cycle: {path.rate_cycle}; needs more than its last step, {path.rate[-1][0]}")
    return _Parts(_steps(f"{where}.rate", steps, cycle), knots)


def _steps(where: str, steps: list[list[int]], cycle_ps: int | None = None) -> dict[str, Any]:
    if steps[0][0] != 0:
        raise ScenarioError(f"{where}: begins at {TIME.format(steps[0][0])}; needs a first step at 0 s")
    if not any(rate for _, rate in steps):
        raise ScenarioError(f"{where}: 0 bit/s all the time; needs a rate above 0 at some time")
    return {"kind": "steps", "steps": steps, **({} if cycle_ps is None else {"cycle_ps": cycle_ps})}


def _check_order(where: str, times: Sequence[str], *, strictly: bool) -> None:
    for before, after in pairwise(times):
        gap = TIME.parse(after) - TIME.parse(before)
        if gap < 0 or (strictly and gap == 0):
            raise ScenarioError(f"{where}: {before} and then {after}; needs times that go on")


def _intervals(where: str, outages: Outages, own: Iterable[list[int]], duration_ps: int) -> list[list[int]]:
    """Those of a list, handovers and missing routes, in order; those that touch are one."""
    found = list(own)
    for since, until in outages.intervals:
        if TIME.parse(until) <= TIME.parse(since):
            raise ScenarioError(f"{where}.intervals: {since} to {until}; needs an end after the begin")
        found.append([TIME.parse(since), TIME.parse(until)])
    if outages.every is not None:
        every, gap, phase = (TIME.parse(text) for text in (outages.every, outages.gap, outages.phase))
        if gap >= every:
            raise ScenarioError(f"{where}.gap: {outages.gap}; needs less than every, {outages.every}")
        if (duration_ps - phase) // every > MOST_STEPS:
            raise ScenarioError(
                f"{where}.every: {outages.every}; needs at most {MOST_STEPS} of them in {duration_ps} ps"
            )
        found += [[begin, begin + gap] for begin in range(phase, duration_ps, every)]
    found.sort()
    merged: list[list[int]] = []
    for begin, end in found:
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([begin, end])
    return merged


def _of_file(path: File) -> _Parts:
    if irtt.is_of_irtt(path.file):
        return _Parts(knots_ps=irtt.knots(path.file, LONGEST_DELAY_PS))
    text = read_lines(path.file, "a CSV file, a schedule of mahimahi or irtt's JSON", legacy=True)
    return _of_csv(path.file, text) if path.file.endswith(".csv") else _of_schedule(path, text)


def _of_schedule(path: File, text: Sequence[str]) -> _Parts:
    """Milliseconds, one a line, that never go back; the last one is the length of a cycle."""
    if not text or len(text) > MOST_LINES:
        raise ScenarioError(f"{path.file}: {len(text)} lines; needs 1 to {MOST_LINES}, each with a millisecond")
    instants: list[int] = []
    last = 0
    for number, line in enumerate(text, 1):
        # Signs and underscores, which int takes, are no digits.
        if not (line.isascii() and line.isdigit()):
            raise ScenarioError(f"{path.file}:{number}: {line[:20]!r}; needs a whole number of milliseconds")
        now = int(line)
        if now < last:
            raise ScenarioError(f"{path.file}:{number}: {now} ms after {last} ms; needs times that never go back")
        if now > LATEST_MS:
            raise ScenarioError(f"{path.file}:{number}: {now} ms; needs at most {LATEST_MS} ms, 100 days")
        instants.append(now * PS_PER_MS)
        last = now
    if last == 0:
        raise ScenarioError(f"{path.file}:{len(text)}: 0 ms; needs a last line above 0")
    kind = {"kind": "opportunities", "instants_ps": instants}
    return _Parts({**kind, "bytes": path.bytes, "header_bytes": path.header})


def _of_csv(file: str, text: Sequence[str]) -> _Parts:
    rows = list(csv.reader(text))
    if rows and "rtt_ns" in rows[0]:
        return _of_round_trips(file, rows)
    names = heads(file, rows, COLUMNS)
    found: dict[str, list[tuple[int, Any]]] = {name: [] for name in names if name != "time"}
    read: dict[str, Callable[[str, str], Any]] = {
        "rate": lambda where, cell: quantity(where, cell, RATE, 1, FASTEST_BPS),
        "delay": lambda where, cell: quantity(where, cell, TIME, PS, LONGEST_DELAY_PS),
        "loss": _share,
    }
    last = -1
    for number, row in enumerate(rows[1:], 2):
        where = f"{file}:{number}"
        check_cells(where, row, names)
        cells = dict(zip(names, (cell.strip() for cell in row), strict=True))
        now = quantity(f"{where}: time", cells.pop("time"), TIME, PS, LATEST_MS * PS_PER_MS)
        if now <= last:
            raise ScenarioError(f"{where}: time {TIME.format(now)} after {TIME.format(last)}; needs times that go on")
        last = now
        for name, cell in cells.items():
            # An empty cell says nothing new.
            if cell:
                found[name].append((now, read[name](f"{where}: {name}", cell)))
    return _columns(file, found)


def _of_round_trips(file: str, rows: Sequence[Sequence[str]]) -> _Parts:
    """What `longpipe satellites -o` writes of one pair: half of each round trip; nothing is sent without a route."""
    if tuple(rows[0]) != ROUND_TRIPS:
        raise ScenarioError(f"{file}:1: {', '.join(rows[0])}; needs {', '.join(ROUND_TRIPS)}")
    for number, row in enumerate(rows[1:], 2):
        check_cells(f"{file}:{number}", row, ROUND_TRIPS)
    pairs = sorted({" - ".join(row[1:3]) for row in rows[1:]})
    if len(pairs) != 1:
        raise ScenarioError(f"{file}: {len(pairs)} pairs; needs round trips of one, as {' or '.join(pairs[:2])}")
    parts, last, without = _Parts(), -1, None
    for number, (time, _, _, rtt, _) in enumerate(rows[1:], 2):
        where = f"{file}:{number}"
        now = quantity(f"{where}: time_s", time, TIME, PS, LATEST_MS * PS_PER_MS)
        if now <= last:
            raise ScenarioError(f"{where}: time_s {time} after {TIME.format(last)}; needs times that go on")
        if rtt:
            delay = quantity(f"{where}: rtt_ns", rtt, TIME, PS_PER_NS, 2 * LONGEST_DELAY_PS) // 2
            parts.knots_ps.append([now, delay])
            if without is not None:
                parts.outages_ps.append([without, now])
            without = None
        elif without is None:
            without = now
        last = now
    if not parts.knots_ps or without is not None:
        at = "at any instant" if not parts.knots_ps else "in the end"
        raise ScenarioError(f"{file}: no route {at}; needs round trips up to the last row")
    return parts


def _columns(file: str, found: dict[str, list[tuple[int, Any]]]) -> _Parts:
    parts = _Parts()
    if steps := found.get("rate"):
        parts.service = _steps(f"{file}: rate", [list(step) for step in steps])
    parts.knots_ps = [list(knot) for knot in found.get("delay", [])]
    if shares := found.get("loss"):
        parts.loss = {"kind": "over-time", "steps_ps": [list(step) for step in shares]}
    return parts


def _share(where: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ScenarioError(f"{where} {cell!r}; needs a probability of 0 to 1")
    return value


Knots = tuple[tuple[int, int], ...]


@lru_cache(maxsize=32)
def _over_satellites(
    where: str, shell: str, first: str, second: str, begin_ps: int, step_ps: int, duration_ps: int
) -> tuple[Knots, Knots]:
    from longpipe.satellites.constellation import Constellation
    from longpipe.satellites.knots import knots
    from longpipe.satellites.shells import parse_shell
    from longpipe.satellites.stations import station

    if duration_ps // step_ps > MOST_STEPS:
        steps = f"{duration_ps // step_ps} steps of {TIME.format(step_ps)}"
        raise ScenarioError(f"{where}.step: {steps}; needs at most {MOST_STEPS}")
    constellation = Constellation.of_shell(parse_shell(shell))
    stations = (station(first), station(second))
    found, gaps = knots(constellation, stations, begin_ps / PS, step_ps / PS, duration_ps // step_ps + 2)
    if gaps and gaps[0][0] == 0:
        raise ScenarioError(f"{where}: no route from {first!r} to {second!r} over {shell} at the start; needs one")
    delays = tuple((at * step_ps, PS_PER_NS * round(1e9 * delay)) for at, delay in found)
    return delays, tuple((begin * step_ps, end * step_ps) for begin, end in gaps)
