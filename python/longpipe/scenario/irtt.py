"""Round trips that irtt measured (`irtt client -o FILE.json`): the delay of a path over time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longpipe.errors import ScenarioError
from longpipe.scenario.motion import MOST_STEPS

_PS_PER_NS = 10**3
_NEEDS = "needs what `irtt client -o` writes"


def is_of_irtt(file: str) -> bool:
    """By its name, as irtt itself goes by it."""
    return file.endswith((".json", ".json.gz"))


def knots(file: str, longest_ps: int) -> list[list[int]]:
    """Instants since the first request and half of the round trips [ps], without lost ones; ScenarioError."""
    requests = _requests(file)
    if not 1 <= len(requests) <= MOST_STEPS:
        raise ScenarioError(f"{file}: {len(requests)} round trips; needs 1 to {MOST_STEPS}")
    found: list[list[int]] = []
    first, last = 0, -1
    for number, (where, request) in enumerate(_named(file, requests)):
        sent = _whole(f"{where}.timestamps.client.send.monotonic", request, "timestamps", "client", "send", "monotonic")
        first = sent if number == 0 else first
        if sent <= last:
            raise ScenarioError(f"{where}: sent at {sent} ns after {last} ns; needs times that go on")
        last = sent
        if request.get("lost") is False or request.get("lost") == "false":
            rtt = _whole(f"{where}.delay.rtt", request, "delay", "rtt")
            delay = rtt * _PS_PER_NS // 2
            if not 0 <= delay <= longest_ps:
                raise ScenarioError(f"{where}.delay.rtt: {rtt} ns; needs 0 to {2 * longest_ps // _PS_PER_NS} ns")
            # What was not measured at first is taken to be as it was then.
            found.append([(sent - first) * _PS_PER_NS if found else 0, delay])
    if not found:
        raise ScenarioError(f"{file}: all {len(requests)} round trips were lost; needs one that was not")
    return found


def _requests(file: str) -> list[Any]:
    try:
        with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as opened:
            read = json.load(opened)
    except (OSError, EOFError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise ScenarioError(f"{file}: can't be read, {reason}; {_NEEDS}") from None
    except ValueError as error:
        raise ScenarioError(f"{file}: not JSON, {error}; {_NEEDS}") from None
    requests = read.get("round_trips") if isinstance(read, dict) else None
    if not isinstance(requests, list):
        raise ScenarioError(f"{file}: no list round_trips; {_NEEDS}")
    return requests


def _named(file: str, requests: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, request in enumerate(requests):
        where = f"{file}: round_trips[{number}]"
        if not isinstance(request, dict):
            raise ScenarioError(f"{where}: {request!r}; {_NEEDS}")
        yield where, request


def _whole(where: str, request: dict[str, Any], *names: str) -> int:
    """A whole number of nanoseconds, however deep."""
    value: Any = request
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ScenarioError(f"{where}: {'missing' if value is None else repr(value)}; needs a whole number of ns")
    return value
