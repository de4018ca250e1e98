"""Time-varying links for the core, from a scenario's lists, a file, a carrier or satellites."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs import read_lines
from longpipe.inputs.compression import plain_suffix
from longpipe.inputs.notes import Notes, keep
from longpipe.scenario import irtt, traces
from longpipe.scenario.coding import rates_of
from longpipe.scenario.motion import OwnSatellites, Satellites
from longpipe.scenario.over_satellites import delays_and_gaps
from longpipe.scenario.points import Points
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.variations import MAX_STEPS, Coded, File, Moving, Outages
from longpipe.units import RATE, TIME, seconds

PS: Final = 10**12
PS_PER_MS: Final = 10**9
LONGEST_DELAY_PS: Final = TIME.parse("1000 s")
FASTEST_BPS: Final = RATE.parse("10 Tbit/s")
# Limits of a schedule: number of lines, and latest time [ms].
MAX_LINES: Final = 10_000_000
LATEST_MS: Final = 100 * 86_400 * 1000
_MAX_DIGITS: Final = 18


@dataclass(frozen=True)
class Series:
    """A resolved time-varying link: `motion`; `loss` and the port's `policy` if the path has them."""

    motion: dict[str, Any]
    loss: dict[str, Any] | None = None
    policy: dict[str, Any] | None = None

    @property
    def max_delay_ps(self) -> int | None:
        """Returns the longest delay, or None for a constant delay."""
        delay = self.motion.get("delay")
        return None if delay is None else max(knot[1] for knot in delay["knots_ps"]) + delay.get("grant_ps", 0)


def mean_rate_bps(service: dict[str, Any], duration_ps: int) -> float:
    """Returns the mean rate [bit/s] of a resolved service over a run, without outages."""
    if service["kind"] == "opportunities":
        instants = service["instants_ps"]
        turns, rest = divmod(duration_ps, instants[-1])
        count = turns * len(instants) + bisect_right(instants, rest)
        return float(8 * service["bytes"] * count * PS / duration_ps)
    steps = service["steps"]

    def bits_ps(until: int) -> int:
        spans = pairwise(chain(steps, [(until, 0)]))
        return sum(rate * max(0, min(end, until) - at) for (at, rate), (end, _) in spans)

    cycle = service.get("cycle_ps")
    turns, rest = (0, duration_ps) if cycle is None else divmod(duration_ps, cycle)
    return (turns * bits_ps(cycle or 0) + bits_ps(rest)) / duration_ps


@dataclass
class _Parts:
    service: dict[str, Any] | None = None
    knots_ps: Points = field(default_factory=Points)
    loss: dict[str, Any] | None = None
    # Outages, in the order of their starts.
    outages_ps: Points = field(default_factory=Points)


def series(where: str, path: Moving | File | Coded | Satellites | OwnSatellites | Starlink, duration: str) -> Series:
    """Returns a link's series for a run of this duration.

    Raises ScenarioError with the place, or the file and line, of a problem.
    """
    duration_ps = TIME.parse(duration)
    if isinstance(path, Starlink):
        return _of_starlink(where, path, duration_ps)
    if isinstance(path, Moving):
        parts = _of_lists(where, path)
    elif isinstance(path, File):
        parts = _of_file(path)
    elif isinstance(path, Coded):
        rates = Points((at, rate) for at, rate, _ in rates_of(where, path))
        parts = _Parts(_steps(f"{where}.esn0", rates))
    else:
        knots, gaps = delays_and_gaps(where, path, duration_ps)
        parts = _Parts(knots_ps=Points(knots), outages_ps=Points(gaps))
    motion: dict[str, Any] = {"order": "fifo" if isinstance(path, Coded) else path.order}
    if parts.service is not None:
        motion["service"] = parts.service
    if parts.knots_ps and not isinstance(path, Coded):
        motion["delay"] = {"knots_ps": parts.knots_ps, "between": path.between, "at": path.at}
    outages = path.outages
    if outages_ps := intervals(f"{where}.outages", outages, parts.outages_ps, duration_ps):
        if parts.service is not None and parts.service["kind"] == "opportunities":
            raise ScenarioError(f"{where}.outages: together with a schedule; needs a schedule with its own gaps")
        policies = {name: getattr(outages, name) for name in ("arriving", "waiting", "in_service", "in_flight")}
        motion["outages"] = {"intervals_ps": outages_ps, **policies}
    return Series(motion, parts.loss)


def _of_starlink(where: str, path: Starlink, duration_ps: int) -> Series:
    # Imported here because few scenarios need it.
    from longpipe.scenario.starlink_draws import Drawn

    drawn = Drawn(where, path, duration_ps)
    delay = {"knots_ps": drawn.delays(), "between": "hold", "at": "end", "grant_ps": drawn.grant_ps}
    motion = {"order": "fifo", "service": _steps(f"{where}.rate", drawn.rates()), "delay": delay}
    policy = {"kind": "head-drop", "limit_ps": drawn.queue_ps}
    return Series(motion, {"kind": "over-time", "steps_ps": drawn.losses()}, policy)


def _of_lists(where: str, path: Moving) -> _Parts:
    knots = Points((TIME.parse(time), TIME.parse(delay)) for time, delay in path.delay)
    _check_order(f"{where}.delay", [time for time, _ in path.delay], strictly=False)
    _check_order(f"{where}.rate", [time for time, _ in path.rate], strictly=True)
    steps = Points((TIME.parse(time), RATE.parse(rate)) for time, rate in path.rate)
    if not steps:
        if path.rate_cycle is not None:
            raise ScenarioError(f"{where}.rate_cycle: {path.rate_cycle}; needs steps of the rate")
        return _Parts(knots_ps=knots)
    cycle = None if path.rate_cycle is None else TIME.parse(path.rate_cycle)
    if cycle is not None and cycle <= steps[-1][0]:
        raise ScenarioError(f"{where}.rate_cycle: {path.rate_cycle}; needs more than its last step, {path.rate[-1][0]}")
    return _Parts(_steps(f"{where}.rate", steps, cycle), knots)


def _steps(where: str, steps: Points, cycle_ps: int | None = None) -> dict[str, Any]:
    if steps[0][0] != 0:
        raise ScenarioError(f"{where}: begins at {TIME.format(steps[0][0])}; needs a first step at 0 s")
    if not any(rate for _, rate in steps):
        raise ScenarioError(f"{where}: always 0 bit/s; needs a rate above 0 at some time")
    return {"kind": "steps", "steps": steps, **({} if cycle_ps is None else {"cycle_ps": cycle_ps})}


def _check_order(where: str, times: Sequence[str], *, strictly: bool) -> None:
    for before, after in pairwise(times):
        gap = TIME.parse(after) - TIME.parse(before)
        if gap < 0 or (strictly and gap == 0):
            raise ScenarioError(f"{where}: {before} and then {after}; needs increasing times")


def intervals(where: str, outages: Outages, own: Points, duration_ps: int) -> Points:
    """Returns the outages from a list, from handovers and from missing routes, ordered and merged."""
    listed: Sequence[list[int]] = Points(_listed(where, outages))
    if any(next_[0] < before[0] for before, next_ in pairwise(listed)):
        listed = sorted(listed)
    points = Points()
    latest: list[int] | None = None
    # The outages are merged one by one, because lists of a million intervals take much memory.
    for begin, end in heapq.merge(own, listed, _repeated(where, outages, duration_ps)):
        if latest is not None and begin <= latest[1]:
            latest[1] = max(end, latest[1])
            continue
        if latest is not None:
            points.append(latest)
        latest = [begin, end]
    if latest is not None:
        points.append(latest)
    return points


def _listed(where: str, outages: Outages) -> Iterator[list[int]]:
    """Yields the outages of the list."""
    for since, until in outages.intervals:
        begin, end = TIME.parse(since), TIME.parse(until)
        if end <= begin:
            raise ScenarioError(f"{where}.intervals: {since} to {until}; needs an end after the start")
        yield [begin, end]


def _repeated(where: str, outages: Outages, duration_ps: int) -> Iterator[list[int]]:
    """Yields the outages that are repeated at regular intervals."""
    if outages.every is None:
        return
    every, gap, phase = (TIME.parse(text) for text in (outages.every, outages.gap, outages.phase))
    if gap >= every:
        raise ScenarioError(f"{where}.gap: {outages.gap}; needs less than every, {outages.every}")
    if (duration_ps - phase) // every > MAX_STEPS:
        raise ScenarioError(
            f"{where}.every: {outages.every}; needs at most {MAX_STEPS} of them in {seconds(duration_ps)}"
        )
    yield from ([begin, begin + gap] for begin in range(phase, duration_ps, every))


def _of_file(path: File) -> _Parts:
    if irtt.is_of_irtt(path.file):
        return _Parts(knots_ps=irtt.knots(path.file, LONGEST_DELAY_PS))
    if plain_suffix(path.file) == ".csv":
        found = traces.read(path.file, LATEST_MS * PS_PER_MS, LONGEST_DELAY_PS, FASTEST_BPS)
        service = _steps(f"{path.file}: rate", found.rate) if found.rate else None
        loss = {"kind": "over-time", "steps_ps": found.loss} if found.loss else None
        return _Parts(service, found.delay, loss, found.outages)
    return _of_schedule(path, read_lines(path.file, "a CSV file, a schedule of mahimahi or irtt's JSON", legacy=True))


def _of_schedule(path: File, text: Sequence[str]) -> _Parts:
    """Parses a schedule with one time [ms] per line, in nondecreasing order; the last time is the period."""
    if not text or len(text) > MAX_LINES:
        raise ScenarioError(f"{path.file}: {len(text)} lines; needs 1 to {MAX_LINES}, each with a time in milliseconds")
    instants = array("Q")
    last = 0
    for number, line in enumerate(text, 1):
        # Rejects signs and underscores, which int accepts.
        if not (line.isascii() and line.isdigit() and len(line) <= _MAX_DIGITS):
            raise ScenarioError(f"{path.file}:{number}: {line[:20]!r}; needs a whole number of milliseconds")
        now = int(line)
        if now < last:
            raise ScenarioError(f"{path.file}:{number}: {now} ms after {last} ms; needs nondecreasing times")
        if now > LATEST_MS:
            raise ScenarioError(f"{path.file}:{number}: {now} ms; needs at most {LATEST_MS} ms, 100 days")
        instants.append(now * PS_PER_MS)
        last = now
    if last == 0:
        raise ScenarioError(f"{path.file}:{len(text)}: 0 ms; needs a last line above 0")
    keep(path.file, Notes(f"{path.file}: {len(text)} opportunities of {path.bytes} bytes, repeated every {last} ms"))
    kind = {"kind": "opportunities", "instants_ps": instants}
    return _Parts({**kind, "bytes": path.bytes, "header_bytes": path.header})
