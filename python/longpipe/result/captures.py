"""Packet captures of a run: capture points, files and results."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import check_file

if TYPE_CHECKING:
    from longpipe.result import Result

# A capture as the core takes it: kind of the capture point, index of the node or link, and path of the file.
CorePlace = tuple[str, int, str]
# Maximum number of capture points in an error message.
MAX_NAMED: Final = 12


@dataclass(frozen=True)
class Capture:
    """A pcapng file: its capture point ("host:source1", "link:a->b") and number of packets."""

    place: str
    path: Path
    packets: int
    error: str | None = None


class CaptureError(RuntimeError):
    """Raised if captures are incomplete; `result` holds the run, which is complete."""

    def __init__(self, result: "Result", problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.result = result
        self.problems = problems

    def __reduce__(self) -> tuple[type["CaptureError"], tuple["Result", tuple[str, ...]]]:
        return type(self), (self.result, self.problems)


def core_places(resolved: Mapping[str, Any], captures: Mapping[str, str | Path]) -> list[CorePlace]:
    """Returns the captures for the core.

    Raises ScenarioError for an unknown capture point, or a path that is used twice.
    """
    if captures and any(flow["traffic"]["kind"] == "flow-arrivals" for flow in resolved["flows"]):
        raise ScenarioError("capture: with flow-arrivals, whose connections have no ports; needs other traffic")
    names = [node["name"] for node in resolved["nodes"]]
    hosts = {node["name"]: i for i, node in enumerate(resolved["nodes"]) if node["kind"] == "host"}
    links = {f"{names[link['from']]}->{names[link['to']]}": i for i, link in enumerate(resolved["links"])}
    places: list[CorePlace] = []
    place_of_file: dict[Path, str] = {}
    for place, path in captures.items():
        kind, _, name = place.partition(":")
        index_of = {"host": hosts, "link": links}.get(kind)
        if index_of is None or not name:
            raise ScenarioError(f"capture: {place!r}; needs host:NAME or link:NAME->NAME")
        if name not in index_of:
            raise ScenarioError(f"capture: {name!r} is not a {kind}; {_instead(resolved, kind, name, index_of)}")
        if (other := place_of_file.setdefault(Path(path).absolute(), place)) != place:
            raise ScenarioError(f"capture {place}: {path} is the file of {other}; needs a separate file")
        check_file(f"capture {place}", Path(path))
        places.append((kind, index_of[name], str(path)))
    return places


def _instead(resolved: Mapping[str, Any], kind: str, name: str, index_of: Mapping[str, int]) -> str:
    """Returns a suggestion for an unknown capture point: if it names a flow or a group of flows, its two hosts."""
    names, links = [node["name"] for node in resolved["nodes"]], resolved["links"]
    for flow in resolved["flows"] if kind == "host" else ():
        # The name of a flow in a group is the group's name and a number: web1, web2.
        if name == flow["name"] or re.fullmatch(rf"{re.escape(name)}\d+", flow["name"]):
            begin, end = names[links[flow["route"][0]]["from"]], names[links[flow["route"][-1]]["to"]]
            return f"the flow {flow['name']} goes from {begin} to {end}, needs host:{begin} or host:{end}"
    return nearest(name, index_of, MAX_NAMED)


def unwritable(captures: Mapping[str, str | Path], error: OSError) -> ScenarioError:
    """Returns the error for a file that the core could not create."""
    place = next(place for place, path in captures.items() if str(path) == str(error.filename))
    reason = os.strerror(error.errno or 0).lower()
    return ScenarioError(f"capture {place}: {error.filename} cannot be written ({reason}); needs a writable file")


def reports(captures: Mapping[str, str | Path], columns: Mapping[str, list[int]]) -> tuple[Capture, ...]:
    """Returns the results of the captures, given the columns from the core."""
    rows = zip(captures.items(), columns["packets"], columns["errno"], strict=True)
    return tuple(
        Capture(place, Path(path), packets, os.strerror(errno).lower() if errno else None)
        for (place, path), packets, errno in rows
    )


def problems(captures: tuple[Capture, ...]) -> tuple[str, ...]:
    """Returns one line for each incomplete capture."""
    return tuple(
        f"capture {capture.place}: {capture.path} is incomplete ({capture.error}); the run itself is complete"
        for capture in captures
        if capture.error
    )
