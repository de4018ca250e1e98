"""Scenarios: fields with their defaults, units and sources."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import tomli_w
from pydantic import ValidationError, model_validator

from longpipe.errors import ScenarioError, shown
from longpipe.errors.alternatives import learn
from longpipe.examples import example
from longpipe.inputs import load_toml, parse_toml
from longpipe.scenario.access import *  # noqa: F403
from longpipe.scenario.access import Access
from longpipe.scenario.acks import Delayed, Immediate, LinuxAcks
from longpipe.scenario.base import Model, kinds, models_by_kind, validator_of
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.careful_resume import CarefulResume, CarefulResumeOff, PreviousPath, SavedPath
from longpipe.scenario.conditioners import *  # noqa: F403
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.congestion import *  # noqa: F403
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.connection import OPTIONS
from longpipe.scenario.defaults import (
    MODERN,
    SCHEMA,
    fields_of_file,
    fields_of_store,
    leave_absent,
    set_defaults,
    with_profile,
)
from longpipe.scenario.digests import as_stored, has_digest, is_as_stored
from longpipe.scenario.ecn import EcnAccurate, EcnClassic, EcnDctcp, EcnOff
from longpipe.scenario.fields import Fields
from longpipe.scenario.kept import Kept
from longpipe.scenario.loss import *  # noqa: F403
from longpipe.scenario.loss import Loss
from longpipe.scenario.module import Module as Module
from longpipe.scenario.motion import Satellites
from longpipe.scenario.network import Dumbbell, Flow, Graph, Group, Link, Node
from longpipe.scenario.own_class import Python as Python
from longpipe.scenario.own_stack import OwnStack
from longpipe.scenario.points import plain
from longpipe.scenario.policies import *  # noqa: F403
from longpipe.scenario.policies import Policy
from longpipe.scenario.profile_options import FORMER, has_initial_rtt
from longpipe.scenario.profiles import change as change_profile
from longpipe.scenario.profiles import control_of, inherit_control, replace_handshake
from longpipe.scenario.rate_limited import (
    GrowthByControl,
    GrowthByDraft,
    GrowthByLinux,
    GrowthByRfc9002,
    GrowthOnEachAck,
    RateLimited,
)
from longpipe.scenario.recorded import Traces
from longpipe.scenario.recovery import *  # noqa: F403
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.resolve import resolve
from longpipe.scenario.schedulers import *  # noqa: F403
from longpipe.scenario.schedulers import Scheduler
from longpipe.scenario.services import *  # noqa: F403
from longpipe.scenario.services import Service
from longpipe.scenario.sizes import FileOfSizes, FixedSizes, ParetoSizes, WebSearchSizes
from longpipe.scenario.stack import Stack
from longpipe.scenario.stack_path import StackPath
from longpipe.scenario.starts import FixedStart, RandomStart, StaggeredStart
from longpipe.scenario.stops import StopAfter, StopAt
from longpipe.scenario.switch import Switch
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.timers import Coarse, CommonPhase, Fine, FixedPhase, PerFlowPhase
from longpipe.scenario.times import Exponential, FixedTimes, Pareto
from longpipe.scenario.traffic import (
    AdaptiveVideo,
    Arrivals,
    BufferRule,
    Bursts,
    Cbr,
    FlowArrivals,
    Greedy,
    Poisson,
    Stream,
    ThroughputRule,
    Transfer,
    Video,
    Voice,
    WriteBursts,
)
from longpipe.scenario.variations import File, Moving, Outages
from longpipe.scenario.vbr import OnOff, VbrFlow
from longpipe.scenario.warm_up import FIELD as WARM_UP
from longpipe.scenario.warm_up import NONE, without_warm_up
from longpipe.scenario.web import Web

__all__ = [
    "AdaptiveVideo",
    "Arrivals",
    "BufferRule",
    "Bursts",
    "CarefulResume",
    "CarefulResumeOff",
    "Cbr",
    "Coarse",
    "CommonPhase",
    "Delayed",
    "Dumbbell",
    "EcnAccurate",
    "EcnClassic",
    "EcnDctcp",
    "EcnOff",
    "Exponential",
    "File",
    "FileOfSizes",
    "Fine",
    "FixedPhase",
    "FixedSizes",
    "FixedStart",
    "FixedTimes",
    "Flow",
    "FlowArrivals",
    "Graph",
    "Greedy",
    "Group",
    "GrowthByControl",
    "GrowthByDraft",
    "GrowthByLinux",
    "GrowthByRfc9002",
    "GrowthOnEachAck",
    "Immediate",
    "Link",
    "LinuxAcks",
    "Moving",
    "Node",
    "OnOff",
    "Outages",
    "OwnStack",
    "Pareto",
    "ParetoSizes",
    "PerFlowPhase",
    "Poisson",
    "Policy",
    "PreviousPath",
    "RandomStart",
    "RateLimited",
    "Satellites",
    "SavedPath",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Service",
    "Stack",
    "StackPath",
    "StaggeredStart",
    "StopAfter",
    "StopAt",
    "Stream",
    "Switch",
    "Tcp",
    "ThroughputRule",
    "Traces",
    "Transfer",
    "VbrFlow",
    "Video",
    "Voice",
    "Web",
    "WebSearchSizes",
    "WriteBursts",
]
__all__ += [
    model.__name__
    for union in (Access, Conditioner, Congestion, Loss, Policy, Recovery, Scheduler, Service)
    for model in models_by_kind(union).values()
]

learn("tcp.recovery", "a loss recovery", kinds(Recovery))
learn("tcp.congestion", "a congestion control", kinds(Congestion))
learn("switch.policy", "a buffer policy", kinds(Policy))

# Default buffer of ATM switches; ATM Forum/96-1761 table 1.
BUFFER_OF_CELLS: Final = "1000 cells"
# A run consists of a scenario and a seed.
LARGEST_SEED: Final = 2**64 - 1


class Scenario(Fields):
    """All inputs of a run except its seed; the defaults are a CUBIC flow of Linux 6 over 100 Mbit/s and 40 ms."""

    @model_validator(mode="before")
    @classmethod
    def _with_profile(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        # Those of a file that was read with another library have a schema.
        whole = with_profile(fields_of_file(fields, "fields") if "schema" in fields else fields)
        if isinstance(whole.get("network"), dict):
            whole["network"] = inherit_control(whole["network"], control_of(whole["tcp"]))
        return whole

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        set_defaults(self)
        return self._resolved()

    def _resolved(self) -> Self:
        """Resolves the scenario, whose fields are valid by themselves."""
        if self.framing == "aal5" and not self.has_buffer:
            # The field stays unset because its default depends on the framing.
            switch = self.switch.model_copy(update={"buffer": BUFFER_OF_CELLS})
            switch.model_fields_set.discard("buffer")
            self.__dict__["switch"] = switch
        if not is_as_stored():
            KEPT.put(self)
        return self

    def __getstate__(self) -> dict[Any, Any]:
        """Returns the fields, and what the scenario was resolved to if files determine that.

        Another process may not find the files, or find them changed.
        """
        return {**super().__getstate__(), "resolved": KEPT.origin(self)}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        origin = state.pop("resolved")
        super().__setstate__(state)
        if origin is not None:
            KEPT.keep(self, origin)

    @classmethod
    def stored(cls, fields: Mapping[str, Any], resolved: bytes, digest: str) -> Self:
        """Returns a scenario as a store has it: its fields, and its resolved form as JSON, compressed with zlib.

        No file is read. If the files that the fields name have changed, the scenario is still the stored one.
        """
        with as_stored():
            scenario = cls(**fields_of_store(fields))
        KEPT.keep(scenario, resolved, digest)
        return scenario

    @classmethod
    def from_toml(cls, source: str | Path, changes: Mapping[str, object] | None = None) -> Self:
        """Creates a scenario from a TOML file, whose stem is its default name, or from TOML text.

        A `str` is text if it contains a line break or '='. `changes` have the format of `with_`, and may replace
        invalid values. `schema = 2` in the file means that absent fields have the defaults of this class; without it
        they have those of 1996, and a SchemaWarning says which. Raises ScenarioError.
        """
        is_text = isinstance(source, str) and ("\n" in source or "=" in source)
        fields = parse_toml(str(source), "TOML text") if is_text else {"name": Path(source).stem, **load_toml(source)}
        fields = fields_of_file(fields, "TOML text" if is_text else str(source))
        try:
            scenario = cls(**fields)
        except ScenarioError:
            if not changes:
                raise
            change_fields(fields, changes)
            return cls(**fields)
        return scenario.with_(**changes) if changes else scenario

    @classmethod
    def example(cls, name: str) -> Self:
        """Returns an example scenario: "fiber", "geo", "leo", "starlink", "cellular", "aqm" or another of EXAMPLES.

        `longpipe init --example NAME` writes it as a file. Raises ScenarioError for any other name.
        """
        return cls.from_toml(example(name)).with_(name=name)

    @property
    def has_buffer(self) -> bool:
        """Returns whether `switch.buffer` was specified; if not, it is 1 BDP, or 1000 cells with framing aal5."""
        return "buffer" in self.switch.model_fields_set

    def _repr_html_(self) -> str:
        """Returns the text that `longpipe run` prints, followed by all fields in a collapsed section, for notebooks."""
        # Imported here because it is needed only in notebooks.
        from longpipe.notebook import folded, paragraph
        from longpipe.scenario.summary import summary_lines

        about = paragraph([f"{self.name}: {self.duration} of simulated time", *summary_lines(self)])
        return about + folded(f"All fields; digest {self.digest()[:12]}", self.to_toml())

    def to_toml(self) -> str:
        """Returns TOML text of this scenario, including all defaults except those of `defaults` and `warm_up`."""
        fields = {"schema": SCHEMA, **self._fields()}
        if fields["defaults"] == MODERN:
            del fields["defaults"]
        return tomli_w.dumps(fields)

    def to_json(self) -> str:
        """Returns canonical JSON including all defaults; `Scenario(**json.loads(text))` equals this scenario."""
        return json.dumps(self._fields(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def with_(self, **changes: object) -> Self:
        """Returns a validated copy with changed dotted fields: `with_(**{"switch.buffer": "3000 cells"})`.

        The bare name of the current kind, as in `{"switch.policy": "red"}`, keeps its parameters.
        """
        if "defaults" in changes:
            raise ScenarioError(
                f"defaults: {shown(changes['defaults'])}; needs to be in the file, or an argument of Scenario, because "
                "it sets absent fields, and this scenario has all fields"
            )
        if (copied := self._with_values(changes)) is not None:
            return copied
        changed = {path.partition(".")[0] for path in changes}
        # Parts that name files or classes are validated again, because these may have changed.
        shared = {name: part for name in _SHARED - changed if not has_digest(part := getattr(self, name))}
        partly = {name: table for name in _SHARED & changed if (table := self._partly(name, changes))}
        fields = self._fields(without=shared.keys() | partly.keys()) | partly
        if "network.group" in changes and "network.sources" not in changes:
            # Each group has its own number of flows.
            fields["network"].pop("sources", None)
        leave_absent(fields, self)
        if isinstance(network := fields.get("network"), dict):
            leave_absent(network, self.network)
        change_fields(fields, changes)
        if not (self.has_buffer or {"switch", "switch.buffer"} & changes.keys()):
            del fields["switch"]["buffer"]
        if "tcp.handshake" not in changes and has_initial_rtt(changes.get("tcp.initial_rtt")):
            # As in a file, a specified RTT replaces the handshake of the profile.
            replace_handshake(fields["tcp"])
        return type(self)(**fields, **shared)

    def resolve(self) -> dict[str, Any]:
        """Returns the input of the core: all fields.

        Quantities are integers in the unit that the suffix of their name states.
        """
        fields = resolve(self)
        # Scenarios share the tables of their connections, which the caller may modify.
        return deepcopy({**fields, **{name: [plain(row) for row in fields[name]] for name in ("links", "flows")}})

    @property
    def resolved(self) -> Mapping[str, Any]:
        """Returns the cached result of `resolve`, which must not be modified; long series are `Points` or arrays."""
        return KEPT.get(self).fields

    @property
    def depends_on_files(self) -> bool:
        """Whether files or a store determine what the scenario is resolved to."""
        return KEPT.origin(self) is not None

    def digest(self) -> str:
        """Returns the SHA-256 of the resolved scenario [64 hex digits], independent of how the scenario is written."""
        return KEPT.digest(self)

    def resolved_json(self) -> str:
        """Returns the resolved scenario as canonical JSON."""
        return KEPT.get(self).json

    def core_json(self) -> str:
        """Returns the resolved scenario as the core reads it, without fields computed from the core's results."""
        resolved = self.resolved
        return canonical_json(without_warm_up(resolved)) if WARM_UP in resolved else self.resolved_json()

    def _with_values(self, changes: Mapping[str, object]) -> Self | None:
        """Returns a copy with changed plain values of one part, of which nothing else is validated again.

        Returns None if a change concerns another value, or is not valid.
        """
        name = next(iter(changes), "").partition(".")[0]
        if name not in _SHARED or any(has_digest(part) for part in self.__dict__.values() if isinstance(part, Model)):
            return None
        part: Model = getattr(self, name)
        values = {}
        for path, value in changes.items():
            of, _, field = path.partition(".")
            is_plain = isinstance(value, _PLAIN) and isinstance(part.__dict__.get(field), _PLAIN)
            if of != name or field in _DETERMINING or not is_plain:
                return None
            try:
                values[field] = validator_of(type(part), field).validate_python(value)
            except ValidationError:
                return None
        return self.model_copy(update={name: part.model_copy(update=values)})._resolved()

    def _partly(self, name: str, changes: Iterable[str]) -> dict[str, Any] | None:
        """Returns the fields of a part, of which the parts that no change concerns remain models.

        Returns None if a change concerns the whole part, or the part names files or classes.
        """
        part: Model = getattr(self, name)
        below = {field for first, field, *_ in (f"{path}.".split(".") for path in changes) if first == name}
        if below & _OF_WHOLE or has_digest(part):
            return None
        return part.fields_and_parts(below | {"recovery"})

    def _fields(self, without: Collection[str] = ()) -> dict[str, Any]:
        fields: dict[str, Any] = self.model_dump(by_alias=True, exclude_none=True, exclude=set(without))
        if fields["warm_up"] == NONE:
            # This field does not exist in the lab, which shows whole runs.
            del fields["warm_up"]
        return fields


KEPT: Final = Kept(resolve)
# Parts that copies with other changes share, so that what depends on them alone is computed once.
_SHARED: Final = frozenset({"network", "tcp"})
# Names of fields within these parts that determine others; the last one is that of the part itself.
_OF_WHOLE: Final = frozenset({"profile", "kind", *OPTIONS, *FORMER, ""})
# Names of fields within these parts that determine others, or are determined by others.
_DETERMINING: Final = _OF_WHOLE | {"handshake", "initial_rtt", "sources"}
# Types of values that are no parts, and no names of kinds.
_PLAIN: Final = (str, int, float)


# Former paths of the options of a congestion control.
_FORMER: Final = re.compile(r"\btcp\.(vegas\.|(?=byte_counting$))")
# Fields that name a class, a file or a program, whose digest is set together with them.
_IDENTIFIED: Final = ("class", "file", "command", "serve", "version")


def change_fields(fields: dict[str, Any], changes: Mapping[str, object]) -> None:
    """Sets dotted fields in nested fields. The bare name of a kind becomes a table if one of its fields is set.

    Raises ScenarioError if a field's parent has no parts, or no such item.
    """
    for path, value in _wholes_first({_FORMER.sub("tcp.congestion.", path): value for path, value in changes.items()}):
        _set(fields, path, value)


def _wholes_first(changes: Mapping[str, object]) -> list[tuple[str, object]]:
    """Returns the changes in an order in which none replaces a part after another one has set one of its fields.

    A digest follows the name that it belongs to, because a new name removes the previous digest. A value is copied if
    another change sets one of its fields, because it belongs to the caller.
    """
    changed = {path[:at] for path in changes for at, letter in enumerate(path) if letter == "."}
    copied = [(path, deepcopy(value) if path in changed else value) for path, value in changes.items()]
    return sorted(copied, key=lambda change: (change[0].count("."), change[0].endswith(".digest")))


@cache
def _chosen_by_kind() -> frozenset[str]:
    """Returns the names of the fields that accept the bare name of a kind."""
    # Imported here because few scenarios need it.
    from longpipe.scenario.reference import kind_of, parts, places

    return frozenset(
        field.serialization_alias or name
        for model in places()
        for name, field in model.model_fields.items()
        if any(kind_of(part) for part in parts(field.annotation))
    )


def _set(fields: dict[str, Any], path: str, value: object) -> None:
    *parents, last = path.split(".")
    table: Any = fields
    for depth, name in enumerate(parents):
        try:
            if isinstance(table, dict) and isinstance(table.get(name), str) and name in _chosen_by_kind():
                table[name] = {"kind": table[name]}
            table = table[int(name)] if isinstance(table, list | tuple) else table.setdefault(name, {})
        except (ValueError, IndexError):
            where = ".".join(parents[:depth])
            raise ScenarioError(f"{path}: {where} has no item {name!r}; accepts 0 to {len(table) - 1}") from None
        if not isinstance(table, dict | list | tuple):
            raise ScenarioError(f"{path}: {'.'.join(parents[: depth + 1])} is a value; needs a field that has parts")
    if not isinstance(table, dict):
        raise ScenarioError(f"{path}: {'.'.join(parents)} is a list; needs the field of an item, as in 0.{last}")
    if last == "profile":
        change_profile(table, value, Tcp().model_dump())
    elif not _is_kind_of(table.get(last), value):
        if last in _IDENTIFIED and table.get(last) != value:
            # The digest belongs to the previous value.
            table.pop("digest", None)
        table[last] = value


def _is_kind_of(part: object, value: object) -> bool:
    """Returns whether a value is the bare name of a part's kind: the level `red` means RED as the file defines it."""
    return isinstance(part, Mapping) and isinstance(value, str) and part.get("kind") == value
