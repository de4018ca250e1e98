"""Delays of a path from RTTs measured by irtt (`irtt client -o FILE.json`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longpipe.errors import ScenarioError, shown
from longpipe.inputs import load_json
from longpipe.inputs.compression import plain_suffix
from longpipe.inputs.notes import Notes, keep
from longpipe.scenario.points import Points
from longpipe.scenario.variations import MAX_STEPS
from longpipe.units import TIME, seconds

_PS_PER_NS = 10**3
_NEEDS = "the output of `irtt client -o`"
_LATEST_NS = 100 * 86_400 * 10**9
# Maximum length after decompression: an hour of probes every 10 ms, as in the LENS data set, takes 300 MB.
_MAX_BYTES = 1 << 30


def is_of_irtt(file: str) -> bool:
    """Returns whether a file name has the form of irtt's output files."""
    return plain_suffix(file) == ".json"


def knots(file: str, longest_ps: int) -> Points:
    """Returns, for each probe that was not lost, its time since the first request and half its RTT [ps].

    Raises ScenarioError if the file is invalid.
    """
    requests = _requests(file)
    if not 1 <= len(requests) <= MAX_STEPS:
        raise ScenarioError(f"{file}: {len(requests)} round trips; needs 1 to {MAX_STEPS}")
    points = Points()
    lost, first, last = 0, 0, -1
    for number, (where, request) in enumerate(_named(file, requests)):
        sent = _nanoseconds(
            f"{where}.timestamps.client.send.monotonic", request, "timestamps", "client", "send", "monotonic"
        )
        first = sent if number == 0 else first
        if sent <= last:
            raise ScenarioError(f"{where}: sent at {sent} ns after {last} ns; needs increasing times")
        if sent - first > _LATEST_NS:
            raise ScenarioError(f"{where}: sent {shown(sent - first)} ns after the first; needs at most 100 days")
        last = sent
        reported = request.get("delay")
        is_received = isinstance(reported, dict) and reported.get("rtt") is not None
        if request.get("lost") in (False, "false") or (request.get("lost") is None and is_received):
            rtt = _nanoseconds(f"{where}.delay.rtt", request, "delay", "rtt")
            delay = rtt * _PS_PER_NS // 2
            if not 0 <= delay <= longest_ps:
                raise ScenarioError(f"{where}.delay.rtt: {rtt} ns; needs 0 to {2 * longest_ps // _PS_PER_NS} ns")
            # The delay before the first RTT equals the first one.
            points.append([(sent - first) * _PS_PER_NS if points else 0, delay])
        else:
            lost += 1
    if not points:
        raise ScenarioError(f"{file}: all {len(requests)} round trips were lost; needs one that was not")
    delays = [TIME.format(pick(delay for _, delay in points)) for pick in (min, max)]
    span = seconds((last - first) * _PS_PER_NS)
    summary = f"{len(requests)} round trips over {span}, {lost} of them lost; delay {' to '.join(delays)}"
    keep(file, Notes(f"{file}: {summary} (half of each round trip)"))
    return points


def _requests(file: str) -> list[Any]:
    read = load_json(file, _NEEDS, max_bytes=_MAX_BYTES)
    requests = read.get("round_trips") if isinstance(read, dict) else None
    if not isinstance(requests, list):
        raise ScenarioError(f"{file}: no list round_trips; needs {_NEEDS}")
    return requests


def _named(file: str, requests: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, request in enumerate(requests):
        where = f"{file}: round_trips[{number}]"
        if not isinstance(request, dict):
            raise ScenarioError(f"{where}: {shown(request)}; needs {_NEEDS}")
        yield where, request


def _nanoseconds(where: str, request: dict[str, Any], *names: str) -> int:
    """Returns an integer number of nanoseconds from nested fields."""
    value: Any = request
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ScenarioError(f"{where}: {'missing' if value is None else shown(value)}; needs a whole number of ns")
    return value
