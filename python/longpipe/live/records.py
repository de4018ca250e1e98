"""Records of live runs: the packets that entered the path, and everything else that a replay needs."""

import hashlib
import json
import os
import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, shown
from longpipe.inputs import parse_json
from longpipe.inputs.bytes import open_regular
from longpipe.live.hosts import Plan, plan
from longpipe.run import control_error, register_classes
from longpipe.scenario import Scenario
from longpipe.scenario.defaults import fields_of_store
from longpipe.system.files import check_file

MAGIC: Final = b"longpipe live record "
VERSION: Final = 1
_LENGTH: Final = struct.Struct("<Q")
# Maximum size [bytes] of a record's head; a scenario with 10 000 flows takes 20 MB.
MAX_HEAD: Final = 256 << 20
MAX_HOSTS: Final = 10_000


@dataclass(frozen=True)
class Record:
    """Head of a record."""

    file: Path
    scenario: Scenario
    hosts: tuple[str, ...]
    seed: int
    mtu: int
    alone: bool
    engine: str
    resolved_json: str
    # Offset [bytes] of the arrivals in the file.
    offset: int


def check_places(record: Path | None, capture: Path | None) -> None:
    """Raises ScenarioError unless the files can be written; missing directories are not created."""
    for option, file in (("--record", record), ("--capture", capture)):
        if file is not None and not file.parent.is_dir():
            raise ScenarioError(f"{option}: {file}: {file.parent} does not exist; needs an existing directory")
        if file is not None:
            check_file(option, file)


def begin(file: Path, plan: Plan, seed: int, *, alone: bool) -> None:
    """Writes the header of a record; arrivals are appended later."""
    head = {
        "engine": _core.__engine__,
        "scenario": json.loads(plan.scenario.to_json()),
        "hosts": [host.name for host in plan.hosts],
        "seed": seed,
        "mtu": plan.mtu,
        "alone": alone,
        "resolved": plan.resolved_json,
        "digest": _digest(plan.resolved_json),
    }
    text = json.dumps(head, sort_keys=True).encode()
    file.write_bytes(MAGIC + f"{VERSION}\n".encode() + _LENGTH.pack(len(text)) + text)


def read(file: Path) -> Record:
    """Returns the head of a record.

    Raises ScenarioError for a file that is not a record and for a record of another version.
    """
    try:
        with open_regular(file, "a record") as opened:
            first = opened.readline(64)
            if not first.startswith(MAGIC):
                raise ScenarioError(f"{file}: not a record; needs one of longpipe live --record")
            version = first[len(MAGIC) :].strip().decode(errors="replace")
            if version != str(VERSION):
                raise ScenarioError(f"{file}: record version {version}; this longpipe reads version {VERSION}")
            (length,) = _LENGTH.unpack(opened.read(_LENGTH.size))
            offset = opened.tell() + length
            if not 0 < length <= MAX_HEAD or offset > os.fstat(opened.fileno()).st_size:
                raise ScenarioError(f"{file}: a header of {length} bytes; needs a complete record")
            content = opened.read(length)
    except struct.error:
        raise ScenarioError(f"{file}: incomplete header; needs a complete record") from None
    head = _checked(file, parse_json(content, f"{file}: head", "the header of a record"))
    try:
        scenario = Scenario(**fields_of_store(head["scenario"]))
    except ScenarioError as error:
        raise ScenarioError(*(f"{file}: scenario.{problem}" for problem in error.problems)) from None
    return Record(
        file=file,
        scenario=scenario,
        hosts=tuple(head["hosts"]),
        seed=head["seed"],
        mtu=head["mtu"],
        alone=head["alone"],
        engine=head["engine"],
        resolved_json=head["resolved"],
        offset=offset,
    )


def _checked(file: Path, head: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Checks the type and range of each field of a head. Raises a ScenarioError that names the field."""
    if not isinstance(head, dict):
        raise ScenarioError(f"{file}: header: {shown(head)}; needs the header of a record")
    for name, (is_fit, needs) in _FIELDS.items():
        if name not in head:
            raise ScenarioError(f"{file}: {name}: missing in its header; needs a complete record")
        if not is_fit(head[name]):
            raise ScenarioError(f"{file}: {name}: {shown(head[name])}; needs {needs}")
    # Older records lack this field.
    if "digest" in head and head["digest"] != _digest(head["resolved"]):
        raise ScenarioError(f"{file}: resolved: does not match its digest; needs an unchanged record")
    return head


def _is_whole(value: object, among: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in among


def _are_hosts(value: object) -> bool:
    return isinstance(value, list) and 2 <= len(value) <= MAX_HOSTS and all(isinstance(name, str) for name in value)


# Check and accepted values of each field of a head.
_FIELDS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "engine": (lambda value: isinstance(value, str), "the number of an engine, as text"),
    "scenario": (lambda value: isinstance(value, dict), "the fields of a scenario"),
    "hosts": (_are_hosts, "the names of two hosts or more"),
    "seed": (lambda value: _is_whole(value, range(2**64)), "a whole number of 64 bits"),
    "mtu": (lambda value: _is_whole(value, range(68, 2**16)), "68 to 65535 bytes"),
    "alone": (lambda value: isinstance(value, bool), "true or false"),
    "resolved": (lambda value: isinstance(value, str), "a resolved scenario, as text"),
}


def _digest(resolved: str) -> str:
    return hashlib.sha256(resolved.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Replay:
    """Results of a replay in virtual time; times are in seconds."""

    elapsed_s: float
    entered: int
    delivered: int
    marked: int
    on_path: int
    lost: dict[str, int]
    # Quantiles of the time from entry to delivery, of all packets, and by direction: "forward" (to sinks) and "back".
    delay_s: dict[str, float | None]
    delay_by_direction_s: dict[str, dict[str, float | None]]
    decisions: str
    # Hash of the recorded run's decisions; None if it was interrupted.
    recorded_decisions: str | None
    ports: dict[str, Any]

    def to_json(self) -> str:
        """Returns all results as JSON, including whether the decisions equal those of the recorded run."""
        # The columns of ports are arrays.
        ports = {name: getattr(column, "tolist", lambda values=column: values)() for name, column in self.ports.items()}
        return (
            json.dumps({**asdict(self), "ports": ports, "agrees": self.agrees}, indent=1).replace("NaN", "null") + "\n"
        )

    @property
    def agrees(self) -> bool:
        """Returns whether all decisions equal those of the recorded run."""
        return self.decisions == self.recorded_decisions


def replay(file: str | Path, **changes: object) -> Replay:
    """Replays a record in virtual time, over its own scenario or one with changed (dotted) fields.

    Raises ScenarioError for a file that is not a record, and for a record made by another engine, unless fields are
    changed.
    """
    record = read(Path(file))
    resolved = record.resolved_json
    if changes:
        changed = record.scenario.with_(**changes)
        resolved = plan(changed, record.hosts, mtu=record.mtu, alone=record.alone).resolved_json
    elif record.engine != _core.__engine__:
        raise ScenarioError(
            f"{file}: recorded by engine {record.engine}, which makes other decisions; this one is {_core.__engine__}"
        )
    register_classes(record.scenario)
    try:
        return Replay(**_core.live_replay(resolved, record.seed, str(record.file), record.offset))
    except _core.ScenarioError as error:
        raise ScenarioError(f"{file}: {error}") from None
    except _core.ControlError as error:
        raise control_error(error) from None
    except _core.DefectError as error:
        raise RunError(f"{error}; a defect of longpipe") from None
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}; needs a record of longpipe live --record") from None
