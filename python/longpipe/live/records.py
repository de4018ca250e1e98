"""Records of live runs: what entered, with all that is needed to decide it again."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from longpipe import _core
from longpipe.errors import RunError, ScenarioError
from longpipe.files import check_file
from longpipe.live.hosts import Plan, plan
from longpipe.scenario import Scenario

MAGIC: Final = b"longpipe live record "
VERSION: Final = 1
_LENGTH: Final = struct.Struct("<Q")


@dataclass(frozen=True)
class Record:
    """What stands at the head of a record."""

    file: Path
    scenario: Scenario
    hosts: tuple[str, ...]
    seed: int
    mtu: int
    alone: bool
    engine: str
    resolved_json: str
    # Where the arrivals begin [byte].
    offset: int


def check_places(record: Path | None, capture: Path | None) -> None:
    """ScenarioError unless files can be written there; a directory is not made for them."""
    for option, file in (("--record", record), ("--capture", capture)):
        if file is not None and not file.parent.is_dir():
            raise ScenarioError(f"{option}: {file}: {file.parent} is not there; needs a directory that is")
        if file is not None:
            check_file(option, file)


def begin(file: Path, plan: Plan, seed: int, *, alone: bool) -> None:
    """Writes the head of a record, to which arrivals are added."""
    head = {
        "engine": _core.__engine__,
        "scenario": json.loads(plan.scenario.to_json()),
        "hosts": [host.name for host in plan.hosts],
        "seed": seed,
        "mtu": plan.mtu,
        "alone": alone,
        "resolved": plan.resolved_json,
    }
    text = json.dumps(head, sort_keys=True).encode()
    file.write_bytes(MAGIC + f"{VERSION}\n".encode() + _LENGTH.pack(len(text)) + text)


def read(file: Path) -> Record:
    """The head of a record; ScenarioError if it is none, or one of another version."""
    try:
        with file.open("rb") as opened:
            first = opened.readline(64)
            if not first.startswith(MAGIC):
                raise ScenarioError(f"{file}: not a record; needs one of longpipe live --record")
            version = first[len(MAGIC) :].strip().decode(errors="replace")
            if version != str(VERSION):
                raise ScenarioError(f"{file}: a record of version {version}; this longpipe reads version {VERSION}")
            (length,) = _LENGTH.unpack(opened.read(_LENGTH.size))
            head: dict[str, Any] = json.loads(opened.read(length))
            offset = opened.tell()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScenarioError(f"{file}: can't be read, {reason}; needs a record") from None
    except (struct.error, ValueError, KeyError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(f"{file}: broken off in its head; needs a whole record") from None
    return Record(
        file=file,
        scenario=Scenario(**head["scenario"]),
        hosts=tuple(head["hosts"]),
        seed=head["seed"],
        mtu=head["mtu"],
        alone=head["alone"],
        engine=head["engine"],
        resolved_json=head["resolved"],
        offset=offset,
    )


@dataclass(frozen=True)
class Replay:
    """What a record's packets met, in virtual time; times in seconds."""

    elapsed_s: float
    entered: int
    delivered: int
    marked: int
    on_path: int
    lost: dict[str, int]
    # From entry to delivery: the values that shares of the packets do not exceed.
    delay_s: dict[str, float | None]
    decisions: str
    # That of the run that was recorded, None if that was broken off.
    recorded_decisions: str | None
    ports: dict[str, Any]
    flows_delivered_bytes: list[int]

    @property
    def agrees(self) -> bool:
        """Whether every decision is that of the recorded run."""
        return self.decisions == self.recorded_decisions


def replay(file: str | Path, **changes: object) -> Replay:
    """The arrivals of a record over its own scenario, or one with dotted fields changed, in virtual time.

    Raises ScenarioError for a file that is no record, or one of another engine unless something is changed.
    """
    record = read(Path(file))
    resolved = record.resolved_json
    if changes:
        changed = record.scenario.with_(**changes)
        resolved = plan(changed, record.hosts, mtu=record.mtu, alone=record.alone).resolved_json
    elif record.engine != _core.__engine__:
        raise ScenarioError(
            f"{file}: recorded by engine {record.engine}, which decides otherwise; this one is {_core.__engine__}"
        )
    try:
        return Replay(**_core.live_replay(resolved, record.seed, str(record.file), record.offset))
    except _core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    except _core.DefectError as error:
        raise RunError(f"{error}; a defect of longpipe") from None
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}; needs a record of longpipe live --record") from None
