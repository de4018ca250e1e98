"""Results of RIPE Atlas ping measurements: as an array of results, or with one result per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured.content import Content
from longpipe.measured.fields import get, number, optional, text
from longpipe.measured.recording import Recording, Subject, kept, series

NAME: Final = "ping results of RIPE Atlas"
# Probe, target address (or name, if the result has no address), and address family.
Key = tuple[int, str | None, int | None]


def recognizes(content: Content) -> bool:
    """Returns whether the content is a result of Atlas, of any kind."""
    return content.is_json and any(get(result, "prb_id") is not None for _, result in _results(content))


def _results(content: Content) -> Iterator[tuple[str, Any]]:
    for location, value in content.json_values:
        if isinstance(value, list):
            yield from ((f"{location}: [{k}]", element) for k, element in enumerate(value))
        else:
            yield location, value


def read(content: Content) -> Recording:
    """Returns a path for each probe, target address and address family."""
    times: list[float] = []
    packets_by_path: dict[Key, list[tuple[float, list[tuple[str, Any]]]]] = {}
    names: dict[Key, str] = {}
    firmware = None
    for location, result in _results(content):
        if get(result, "type") not in (None, "ping"):
            raise ScenarioError(f"{location}.type: {shown(get(result, 'type'))}; needs results of ping")
        at = number(location, result, "timestamp")
        firmware = optional(location, result, "fw") or firmware
        packets = get(result, "result")
        if not isinstance(packets, list):
            raise ScenarioError(f"{location}.result: no list; needs the packets of firmware 4400 or later")
        probe, name = int(number(location, result, "prb_id")), text(result, "dst_name") or text(result, "name")
        address = text(result, "dst_addr") or text(result, "addr")
        key = (probe, address or name, _family(location, result, address))
        names.setdefault(key, f"probe {probe} > {_named(name, address, key[2])}")
        packets_by_path.setdefault(key, []).append(
            (at, [(f"{location}.result[{k}]", packet) for k, packet in enumerate(packets)])
        )
        times.append(at)
    begin = min(times)
    subjects = tuple(_subject(names[key], results, begin) for key, results in packets_by_path.items())
    unknown = (
        "rates, and the direction of a delay or loss: ping measures round trips",
        "the time of a packet: a result of several packets has one time",
    )
    version = None if firmware is None else f"firmware {firmware:g}"
    return Recording(
        content.file, "RIPE Atlas ping", "RIPE Atlas", version, int(begin * 1e9), max(times) - begin, subjects, unknown
    )


def _family(location: str, result: object, address: str | None) -> int | None:
    """Returns the address family, 4 or 6; None if the result has neither it nor an address."""
    family = optional(location, result, "af")
    if family is None and address is not None:
        return 6 if ":" in address else 4
    return None if family is None else int(family)


def _named(name: str | None, address: str | None, family: int | None) -> str:
    """Returns the target's name and address, of which results may lack one; a failed look-up has no address."""
    if address is None:
        return "?" if name is None else name if family is None else f"{name} (IPv{family})"
    return address if name in (None, address) else f"{name} ({address})"


def _subject(name: str, results: list[tuple[float, list[tuple[str, Any]]]], begin: float) -> Subject:
    """Returns the RTTs and the losses of a probe's pings as a path."""
    rtts: list[tuple[float, float]] = []
    lost: list[tuple[float, float]] = []
    errors = duplicates = 0
    for at, packets in sorted(results, key=lambda timed: timed[0]):
        for location, packet in packets:
            rtt = optional(location, packet, "rtt")
            if get(packet, "dup"):
                duplicates += 1
            elif rtt is not None:
                rtts.append((at - begin, rtt / 1e3))
            elif get(packet, "x") is not None:
                lost.append((at - begin, 1.0))
            else:
                errors += 1
    counters = {
        "sent": (float(len(rtts) + len(lost) + errors), "packets"),
        "received": (float(len(rtts)), "packets"),
        "duplicates": (float(duplicates), "packets"),
        "errors": (float(errors), "packets"),
    }
    with_values = kept(
        series("rtt", rtts, "at the time of the result"),
        series("losses", lost, "a packet without a reply, at the time of the result"),
    )
    return Subject(name, "path", with_values, counters)
