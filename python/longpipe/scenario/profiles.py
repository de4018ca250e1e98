"""Profiles of whole connections: named defaults for the fields of `tcp`."""

from typing import Any, Final, get_args

from longpipe.scenario.profile_options import FORMER, default_control, filled, former_options
from longpipe.scenario.tcp import Tcp

# Fields of each profile whose defaults differ from those of the classic profile.
PROFILES: Final[dict[str, dict[str, Any]]] = {
    name: Tcp.profile_options.get(name, {}) for name in get_args(Tcp.model_fields["profile"].annotation)
}
# The profile without defaults of its own.
CLASSIC: Final[str] = Tcp.model_fields["profile"].default


def control_of(tcp: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns the congestion control of a scenario's TCP fields."""
    if isinstance(tcp, dict):
        return filled(tcp, Tcp).get("congestion", default_control(Tcp))
    return getattr(tcp, "congestion", default_control(Tcp))


def inherit_control(part: Any, control: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a part of a network in which former fields of flows are options of the congestion control they inherit.

    `control` is the scenario's. A former field of another control had no effect, and is removed.
    """
    if isinstance(part, list):
        return [inherit_control(item, control) for item in part]
    if not isinstance(part, dict):
        return part
    nested = {name: inherit_control(value, control) for name, value in part.items() if isinstance(value, dict | list)}
    whole = {**part, **nested}
    own = whole.get("tcp")
    if not isinstance(own, dict) or "congestion" in own or not FORMER.keys() & own.keys():
        return whole
    beside = {name: own[name] for name in FORMER if name in own}
    options = former_options(control, beside)
    kept = {name: value for name, value in own.items() if name not in FORMER}
    whole["tcp"] = kept if options is None else kept | {"congestion": options}
    return whole


def replace_handshake(table: dict[str, Any]) -> None:
    """Removes the handshake from a connection's fields if its profile has one."""
    if PROFILES.get(str(table.get("profile")), {}).get("handshake"):
        table["handshake"] = False


def change(table: dict[str, Any], name: object, defaults: dict[str, Any]) -> None:
    """Changes the profile of a connection as written in a file; fields that differ from the previous profile are kept.

    `defaults` are the defaults of all fields without a profile.
    """
    before = {**defaults, **PROFILES.get(str(table.get("profile", CLASSIC)), {})}
    for field in list(table):
        if _is(table[field], before.get(field)):
            del table[field]
    table["profile"] = name


def _is(written: object, default: object) -> bool:
    """Returns whether a specified value equals the (partial) default."""
    if isinstance(written, dict) and isinstance(default, dict):
        return written == default or all(written.get(name) == value for name, value in default.items())
    if isinstance(written, str) and isinstance(default, dict):
        return default == {"kind": written}
    return written == default
