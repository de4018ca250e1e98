"""JSON output of `irtt client -o`: RTTs, one-way delays, and losses by direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import get, number, optional, rows, text
from longpipe.measured.one_way import clock_notes
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "JSON of irtt"


def recognises(content: Content) -> bool:
    """Returns whether the content is an object with irtt's round trips."""
    return content.is_json and is_whole(content.json_values[0][1])


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a result of irtt."""
    return get(value, "round_trips") is not None


def read(content: Content) -> Recording:
    """Returns the probes of a session."""
    where, value = content.json_values[0]
    trips = rows(where, value, "round_trips")
    if not trips:
        raise ScenarioError(f"{where}.round_trips: empty; needs what `irtt client -o` writes")
    probes = list(_probes(where, trips))
    first = probes[0][0]
    begin = optional(f"{where}.round_trips[0]", trips[0], "timestamps", "client", "send", "wall")
    wall = get(trips[0], "timestamps", "client", "send", "wall")
    lost = [((at - first) / 1e9, kind) for at, kind, _ in probes if kind is not None]

    def delays(name: str) -> Iterator[tuple[float, float]]:
        for at, kind, delay in probes:
            if kind is None and delay.get(name) is not None:
                yield (at - first) / 1e9, delay[name] / 1e9

    counters = {
        "sent": (float(len(probes)), "packets"),
        "lost": (float(len(lost)), "packets"),
        "lost upstream": (float(sum(kind == "true_up" for _, kind in lost)), "packets"),
        "lost downstream": (float(sum(kind == "true_down" for _, kind in lost)), "packets"),
    }
    subject = Subject(
        text(value, "config", "remote_address") or "path",
        "path",
        kept(
            series("rtt", delays("rtt"), "at the time of the request, without the server's processing time"),
            series("delay up", delays("send"), "from client to server, measured with two clocks"),
            series("delay down", delays("receive"), "from server to client, measured with two clocks"),
            series("losses", ((at, 1.0) for at, _ in lost), "a request without a reply, at its time"),
        ),
        counters,
    )
    unknown = (
        "rates: irtt sends small probes",
        "one-way delays, unless the clocks of client and server are synchronized",
    )
    length = max((at - first) / 1e9 for at, _, _ in probes)
    least = {
        name: min((delay for _, delay in delays(of)), default=None)
        for name, of in (("upstream", "send"), ("downstream", "receive"))
    }
    begin_ns = wall if isinstance(wall, int) and begin is not None else None
    return Recording(
        content.file, "irtt JSON", "irtt", text(value, "version", "irtt"), begin_ns, length, (subject,), unknown,
        tuple(clock_notes(least)),
    )  # fmt: skip


def _probes(where: str, trips: list[Any]) -> Iterator[tuple[float, str | None, dict[str, float]]]:
    """Yields each probe's send time [ns] at the client, its kind of loss or None, and its delays [ns]."""
    latest = None
    for k, one in enumerate(trips):
        place = f"{where}: round_trips[{k}]"
        sent = number(place, one, "timestamps", "client", "send", "monotonic")
        if latest is not None and sent < latest:
            raise ScenarioError(
                f"{place}.timestamps.client.send.monotonic: before the previous probe; needs increasing times"
            )
        latest = sent
        found = get(one, "lost")
        kind = None if found in (False, "false") else str(found)
        if kind is not None:
            yield sent, kind, {}
            continue
        delay = {name: optional(place, one, "delay", name) for name in ("rtt", "send", "receive")}
        if delay["rtt"] is None:
            raise ScenarioError(f"{place}.delay.rtt: missing; needs a number of ns")
        yield sent, None, {name: value for name, value in delay.items() if value is not None}
