"""JSON output of `irtt client -o`: RTTs, one-way delays, and losses by direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.measured.content import Content
from longpipe.measured.fields import get, items, number, optional, text
from longpipe.measured.one_way import clock_notes
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "JSON of irtt"
_RECEIVED: Final = "false"


def recognizes(content: Content) -> bool:
    """Returns whether the content is an object with irtt's round trips."""
    return content.is_json and is_whole(content.json_values[0][1])


def is_whole(value: object) -> bool:
    """Returns whether a JSON value is a result of irtt."""
    return get(value, "round_trips") is not None


def read(content: Content) -> Recording:
    """Returns the probes of a session."""
    location, value = content.json_values[0]
    trips = items(location, value, "round_trips")
    if not trips:
        raise ScenarioError(f"{location}.round_trips: empty; needs the output of `irtt client -o`")
    probes = list(_probes(location, trips))
    first = probes[0][0]
    begin = optional(f"{location}.round_trips[0]", trips[0], "timestamps", "client", "send", "wall")
    wall = get(trips[0], "timestamps", "client", "send", "wall")
    lost_s = [(at - first) / 1e9 for at, kind, _ in probes if kind not in (_RECEIVED, None)]
    kinds = Counter(kind for _, kind, _ in probes)

    def delays(name: str) -> Iterator[tuple[float, float]]:
        for at, _, delay in probes:
            if name in delay:
                yield (at - first) / 1e9, delay[name] / 1e9

    subject = Subject(
        text(value, "config", "remote_address") or "path",
        "path",
        kept(
            series("rtt", delays("rtt"), "at the time of the request, without the server's processing time"),
            series("delay up", delays("send"), "from client to server, measured with two clocks"),
            series("delay down", delays("receive"), "from server to client, measured with two clocks"),
            series("losses", ((at_s, 1.0) for at_s in lost_s), "a request without a reply, at its time"),
        ),
        _counters(kinds),
    )
    unknown = [
        "rates: irtt sends small probes",
        "one-way delays, unless the clocks of client and server are synchronized",
    ]
    if kinds[None]:
        unknown.append("losses: probes without RTT are not marked as lost")
    length = max((at - first) / 1e9 for at, _, _ in probes)
    least = {
        name: min((delay for _, delay in delays(direction)), default=None)
        for name, direction in (("upstream", "send"), ("downstream", "receive"))
    }
    begin_ns = wall if isinstance(wall, int) and begin is not None else None
    return Recording(
        content.file, "irtt JSON", "irtt", text(value, "version", "irtt"), begin_ns, length, (subject,), tuple(unknown),
        tuple(clock_notes(least)),
    )  # fmt: skip


def _counters(kinds: Counter[str | None]) -> dict[str, tuple[float, str]]:
    """Returns the numbers of probes, and of lost ones by direction unless it is unknown which probes were lost."""
    counts = {"sent": kinds.total()}
    if not kinds[None]:
        up, down = kinds["true_up"], kinds["true_down"]
        lost = kinds.total() - kinds[_RECEIVED]
        counts |= {
            "lost": lost,
            "lost upstream": up,
            "lost downstream": down,
            "lost in an unknown direction": lost - up - down,
        }
    return {name: (float(count), "packets") for name, count in counts.items()}


def _probes(document: str, trips: list[Any]) -> Iterator[tuple[float, str | None, dict[str, float]]]:
    """Yields each probe's send time [ns] at the client, whether and where it was lost, and its delays [ns].

    A loss is "true", "true_up" or "true_down". It is None if the file does not tell whether the probe was lost.
    """
    latest = None
    for k, trip in enumerate(trips):
        location = f"{document}: round_trips[{k}]"
        sent = number(location, trip, "timestamps", "client", "send", "monotonic")
        if latest is not None and sent < latest:
            raise ScenarioError(
                f"{location}.timestamps.client.send.monotonic: before the previous probe; needs increasing times"
            )
        latest = sent
        lost = get(trip, "lost")
        if lost not in (False, "false", None):
            yield sent, "true" if lost is True else str(lost), {}
            continue
        delays = {name: optional(location, trip, "delay", name) for name in ("rtt", "send", "receive")}
        reported = {name: value for name, value in delays.items() if value is not None}
        yield sent, None if lost is None and "rtt" not in reported else _RECEIVED, reported
