"""Settings that changes of a scenario need, as `tcp.congestion = "bbr"` needs `tcp.recovery = "rack"`.

The constraints of a part state these settings (`longpipe.scenario.constraints`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from longpipe.errors import MissingSetting, ScenarioError
from longpipe.scenario.constraints import violated
from longpipe.scenario.overrides import is_within
from longpipe.scenario.profiles import PROFILES
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.variant import Variant

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

T = TypeVar("T")


def with_remedies(
    build: Callable[[Mapping[str, object]], T], changes: Mapping[str, object]
) -> tuple[T, tuple[MissingSetting, ...]]:
    """Builds a scenario with changes of dotted fields, and with the settings that these changes need.

    Returns the scenario and the added settings. A field that `changes` sets keeps its value. Raises ScenarioError if
    the scenario is invalid for other reasons.
    """
    added: dict[str, MissingSetting] = {}
    while True:
        try:
            return build({**changes, **{field: remedy.value for field, remedy in added.items()}}), tuple(added.values())
        except ScenarioError as error:
            missing = {
                remedy.field: remedy
                for remedy in error.remedies
                if _is_needed(remedy, changes) and remedy.field not in added
            }
            if not missing:
                raise
            added |= missing


def of_control(congestion: object, profile: str) -> dict[str, Any]:
    """Returns the other TCP fields that a congestion control needs with a profile; both as in a scenario."""
    kind = congestion["kind"] if isinstance(congestion, Mapping) else congestion
    tcp = Tcp.model_validate({"profile": profile}).model_copy(update={"congestion": Variant.unchecked(kind=kind)})
    return dict(constraint.remedy for constraint, _ in violated(tcp) if constraint.remedy is not None)


def described(remedies: Iterable[MissingSetting]) -> list[str]:
    """Returns a line per setting that `with_remedies` has added."""
    return [f"{remedy.cause} also sets {remedy.field}={_as_value(remedy.value)}, which it needs" for remedy in remedies]


def as_options(remedies: Iterable[MissingSetting]) -> list[str]:
    """Returns the options of a command that add these settings."""
    assignments = dict.fromkeys(f"{remedy.field}={_as_value(remedy.value)}" for remedy in remedies)
    return [f"--set {text}" if " " not in text else f'--set "{text}"' for text in assignments]


def kept_fields(scenario: Scenario, changes: Mapping[str, object]) -> Iterator[str]:
    """Yields a line if a changed profile does not determine all of its fields, because the file sets some of them."""
    if (name := changes.get("tcp.profile")) is None:
        return
    of_profile = Tcp.model_validate({"profile": name})
    fields = dict.fromkeys(field for settings in PROFILES.values() for field in settings)
    different = [field for field in fields if getattr(scenario.tcp, field) != getattr(of_profile, field)]
    kept = [field for field in different if not any(is_within(change, f"tcp.{field}") for change in changes)]
    if kept:
        yield (
            f"tcp.profile={name} leaves {', '.join(kept)} as in the file; --set 'tcp={{profile = \"{name}\"}}' "
            "replaces all fields of tcp"
        )


def _is_needed(remedy: MissingSetting, changes: Mapping[str, object]) -> bool:
    """Returns whether the changes set the cause of a remedy and not its field."""
    if remedy.cause is None:
        return False
    if any(is_within(remedy.field, name) and _contains(value, remedy.field, name) for name, value in changes.items()):
        return False
    return any(is_within(remedy.cause, name) or is_within(name, remedy.cause) for name in changes)


def _contains(value: object, field: str, name: str) -> bool:
    """Returns whether a change of the part `name` sets the field, which is in this part or is the part itself."""
    rest = field.removeprefix(name).lstrip(".")
    for part in filter(None, rest.split(".")):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True


def _as_value(value: object) -> str:
    """Returns a value as `--set` reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_as_item(item)}" for name, item in value.items()) + "}"
    return str(value)


def _as_item(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"'{value}'" if isinstance(value, str) else str(value)
