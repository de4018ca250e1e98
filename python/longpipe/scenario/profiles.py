"""Profiles of whole connections: named defaults for the fields of `tcp`."""

from typing import Any, Final, Literal

from longpipe.scenario.base import Model, models_by_kind
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.variant import Variant
from longpipe.units import TIME

Profile = Literal["classic", "linux-6"]

CLASSIC: Final[Profile] = "classic"

# Fields of each profile whose defaults differ from those of the classic profile.
PROFILES: Final[dict[str, dict[str, Any]]] = {
    CLASSIC: {},
    # Defaults of Linux 6 over Ethernet. A granularity of 200 ms gives RTO = SRTT + max(4 RTTVAR, 200 ms).
    "linux-6": {
        "recovery": {"kind": "rack", "dsack": True, "frto": True, "successive": True},
        "congestion": {"kind": "cubic", "rules": "linux"},
        "mss": "1448 B",
        "receiver_window": "auto",
        "initial_window": "10 segments",
        "handshake": True,
        "idle_restart": True,
        "timer": {"kind": "fine", "granularity": "200 ms", "min_rto": "200 ms", "max_rto": "120 s", "timestamps": True},
        "ack": {"kind": "linux", "least_round_trip": True, "sack_delay": "1.1 ms"},
    },
}

# Former fields of `tcp` with options of one congestion control; files may contain them.
FORMER: Final = {"byte_counting": "aimd", "vegas": "vegas"}
# Congestion control without a profile.
_DEFAULT: Final = "aimd"
_CONTROLS: Final = models_by_kind(Congestion)
# Options that a profile sets for a congestion controller unless the scenario sets them, by profile and controller.
RULES: Final[dict[str, dict[str, dict[str, Any]]]] = {
    profile: options
    for profile in PROFILES
    if (
        options := {
            kind: control.profile_options[profile]
            for kind, control in _CONTROLS.items()
            if profile in control.profile_options
        }
    )
}


def filled(fields: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a connection's fields with the defaults of its profile; specified fields and options take precedence.

    A specified `initial_rtt` replaces the profile's handshake, because each of them provides the first RTT sample.
    Options of a recovery or congestion control without a kind apply to the kind of the profile.
    """
    if not isinstance(fields, dict):
        return fields
    profile = str(fields.get("profile"))
    defaults = PROFILES.get(profile, {})
    whole = {**defaults, **fields}
    for part in ("recovery", "congestion"):
        if part in defaults and isinstance(whole[part], dict) and "kind" not in whole[part]:
            whole[part] = {**defaults[part], **whole[part]}
    if "handshake" not in fields and has_initial_rtt(fields.get("initial_rtt")):
        whole.pop("handshake", None)
    beside = {name: whole.pop(name) for name in FORMER if name in whole}
    if beside and (options := _former_options(whole.get("congestion", _DEFAULT), beside)):
        whole["congestion"] = options
    if "congestion" in whole:
        whole["congestion"] = by_rules(profile, whole["congestion"])
    return whole


def _former_options(congestion: Any, beside: dict[str, Any]) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a congestion controller with its options in former fields of `tcp`; None if these set no option.

    Options of the controller itself have precedence. Files of earlier versions contain the defaults of these fields,
    whichever controller the scenario uses; they count as unspecified, except in a table with Linux's rules.
    """
    kind = congestion if isinstance(congestion, str) else _specified_kind(congestion)
    options: dict[str, Any] = {}
    for name, value in beside.items():
        if FORMER[name] == kind:
            options |= _specified(value) if isinstance(value, dict | Model) else {name: value}
    if options.get("rules") != "linux" and kind in _CONTROLS:
        defaults = {name: field.default for name, field in _CONTROLS[kind].model_fields.items()}
        options = {name: value for name, value in options.items() if name not in defaults or value != defaults[name]}
    return {**options, **_specified(congestion), "kind": kind} if options else None


def control_of(tcp: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns the congestion control of a scenario's TCP fields."""
    if isinstance(tcp, dict):
        return filled(tcp).get("congestion", _DEFAULT)
    return getattr(tcp, "congestion", _DEFAULT)


def inherit_control(part: Any, control: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Returns a part of a network in which former fields of flows are options of the congestion control they inherit.

    `control` is the scenario's. A former field of another control had no effect, and is removed.
    """
    if isinstance(part, list):
        return [inherit_control(item, control) for item in part]
    if not isinstance(part, dict):
        return part
    whole = {name: inherit_control(value, control) for name, value in part.items()}
    own = whole.get("tcp")
    if not isinstance(own, dict) or "congestion" in own or not FORMER.keys() & own.keys():
        return whole
    beside = {name: own[name] for name in FORMER if name in own}
    options = _former_options(control, beside)
    kept = {name: value for name, value in own.items() if name not in FORMER}
    whole["tcp"] = kept if options is None else kept | {"congestion": options}
    return whole


def _specified_kind(chosen: object) -> str:
    return str(chosen.get("kind") if isinstance(chosen, dict) else getattr(chosen, "kind", None))


def has_initial_rtt(initial_rtt: object) -> bool:
    """Returns whether a specified `initial_rtt` is a time above zero; invalid values are reported by another check."""
    try:
        return isinstance(initial_rtt, str) and TIME.parse(initial_rtt) > 0
    except ValueError:
        return False


def replace_handshake(table: dict[str, Any]) -> None:
    """Removes the handshake from a connection's fields if its profile has one."""
    if PROFILES.get(str(table.get("profile")), {}).get("handshake"):
        table["handshake"] = False


def by_rules(profile: str, congestion: Any) -> Any:  # noqa: ANN401 - as written
    """Returns a congestion controller with the options that the profile sets and the scenario does not."""
    if isinstance(congestion, str):
        congestion = {"kind": congestion}
    said, kind = _specified(congestion), _specified_kind(congestion)
    options = RULES.get(profile, {}).get(kind)
    if options is None or said.get("rules", options["rules"]) != options["rules"]:
        return congestion
    merged = {**options, **said}
    return _CONTROLS[kind](**merged) if isinstance(congestion, Variant) else {"kind": kind, **merged}


def _specified(chosen: object) -> dict[str, Any]:
    """Returns the options of a part that the user specified."""
    if isinstance(chosen, Model):
        return {name: getattr(chosen, name) for name in chosen.model_fields_set - {"kind"}}
    return {name: value for name, value in chosen.items() if name != "kind"} if isinstance(chosen, dict) else {}


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
