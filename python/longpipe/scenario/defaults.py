"""Defaults of absent fields: those of the field `defaults`, and those of each version of the schema of files."""

import warnings
from collections.abc import Mapping
from typing import Any, Final

from longpipe.errors import ScenarioError, SchemaWarning, shown
from longpipe.scenario.base import Model
from longpipe.scenario.fields import Fields
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.tcp import Tcp

# Version of the schema in which files are written, and the defaults of absent fields, by version.
SCHEMA: Final = 2
_DEFAULTS: Final = {1: "1996", SCHEMA: "modern"}
MODERN: Final[str] = Fields.model_fields["defaults"].default


def fields_of_file(fields: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Returns the fields of a file without the version of the schema, which determines `defaults` unless that is given.

    A file without `schema` has version 1, and a SchemaWarning says so if fields are absent whose defaults differ from
    today's. `source` names the file in messages. Raises ScenarioError for an unknown version.
    """
    rest = dict(fields)
    schema = rest.pop("schema", None)
    if schema is not None and (type(schema) is not int or schema not in _DEFAULTS):
        raise ScenarioError(f"schema: {shown(schema)}; accepts {', '.join(map(str, _DEFAULTS))}")
    if schema is None and "defaults" not in rest and (absent := _absent_fields(rest)):
        warnings.warn(_without_schema(source, absent), SchemaWarning, stacklevel=3)
    if (defaults := _DEFAULTS[schema or 1]) != MODERN:
        rest.setdefault("defaults", defaults)
    return rest


def _without_schema(source: str, absent: list[str]) -> str:
    """Returns the warning about a file without a version, in which fields are absent."""
    is_single = len(absent) == 1
    have_defaults = "has the default" if is_single else "have the defaults"
    return (
        f"{source}: no line 'schema', so that {', '.join(absent)} {have_defaults} of 1996; add 'schema = 1' to keep "
        f"{'it' if is_single else 'them'}, or 'schema = {SCHEMA}' for today's"
    )


def fields_of_store(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns stored fields of a scenario; those of versions without the field `defaults` have the defaults of 1996."""
    return {"defaults": _DEFAULTS[1], **fields}


def defaults_as_json() -> dict[str, Any]:
    """Returns a table for other programs: the profiles of defaults by name, and the profile of each schema version."""
    parts: dict[str, type[Model]] = {"scenario": Fields, "network": Dumbbell, "tcp": Tcp}
    return {
        "defaults": {
            name: {part: model.profile_options.get(name, {}) for part, model in parts.items()}
            for name in _DEFAULTS.values()
        },
        "schemas": {str(version): name for version, name in _DEFAULTS.items()},
    }


def with_profile(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a scenario, as written, with the settings of the profile in `tcp`, a table or a `Tcp`."""
    whole = {"tcp": {}, **fields}
    chosen, tcp = whole.get("defaults", MODERN), whole["tcp"]
    options = Tcp.profile_options.get(chosen, {}) if isinstance(chosen, str) else {}
    if isinstance(tcp, Tcp) and not options.keys() <= tcp.model_fields_set:
        whole["tcp"] = Tcp(**options, **{name: getattr(tcp, name) for name in tcp.model_fields_set})
    elif isinstance(tcp, Mapping):
        whole["tcp"] = {**options, **tcp}
    return whole


def set_defaults(scenario: Fields) -> None:
    """Sets absent fields of a scenario, as it is created, and of its network to the defaults that `defaults` names.

    The fields still count as absent. The network is copied first, because another scenario may have it too.
    """
    # Assignments would add the names to `model_fields_set`.
    scenario.__dict__.update(_changed_defaults(scenario, scenario.defaults))
    if values := _changed_defaults(scenario.network, scenario.defaults):
        network = scenario.network.model_copy()
        network.__dict__.update(values)
        scenario.__dict__["network"] = network


def _changed_defaults(part: Model, defaults: str) -> dict[str, Any]:
    """Returns the absent fields that have another value by the field `defaults`."""
    options = type(part).profile_options.get(defaults, {}).items()
    return {
        name: value for name, value in options if name not in part.model_fields_set and part.__dict__[name] != value
    }


def leave_absent(fields: dict[str, Any], part: Model) -> None:
    """Removes the fields of a part, as written, that are absent, and whose defaults depend on the field `defaults`."""
    for name in set(_fields_by_profile(type(part))) - part.model_fields_set:
        fields.pop(name, None)


def _absent_fields(fields: Mapping[str, Any]) -> list[str]:
    """Returns the dotted names of absent fields whose defaults depend on the field `defaults`."""
    network, tcp = fields.get("network", {"kind": "dumbbell"}), fields.get("tcp", {})
    network = {"kind": network} if network == "dumbbell" else network
    absent = [name for name in _fields_by_profile(Fields) if name not in fields]
    if isinstance(network, Mapping) and network.get("kind") == "dumbbell":
        # The number of sources is computed from the groups.
        given = {*network, *(["sources"] if "group" in network else [])}
        absent += [f"network.{name}" for name in _fields_by_profile(Dumbbell) if name not in given]
    if isinstance(tcp, Mapping):
        absent += [f"tcp.{name}" for name in _fields_by_profile(Tcp) if name not in tcp]
    return absent


def _fields_by_profile(model: type[Model]) -> list[str]:
    """Returns the names of a model's fields whose defaults depend on the field `defaults`."""
    profiles = (model.profile_options.get(profile, {}) for profile in _DEFAULTS.values())
    return list(dict.fromkeys(name for options in profiles for name in options))
