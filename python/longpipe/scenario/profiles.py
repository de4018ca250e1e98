"""Profiles of whole connections: named defaults for the fields of `tcp`."""

from typing import Any, Final, Literal

from longpipe.scenario.base import Model, models_by_kind
from longpipe.scenario.congestion import Congestion, VegasOptions
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


def is_ruled(profile: str, chosen: Variant) -> bool:
    """Returns whether a congestion controller follows the profile's rules for it; true if the profile has none."""
    options = RULES.get(profile, {}).get(chosen.kind, {})
    return "rules" not in options or getattr(chosen, "rules", None) == options["rules"]


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
    if "congestion" in whole:
        whole["congestion"] = by_rules(profile, whole["congestion"], whole.get("vegas"))
    return whole


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


def by_rules(profile: str, congestion: Any, vegas: Any = None) -> Any:  # noqa: ANN401 - as written
    """Returns a congestion controller with the options that the profile sets and the scenario does not.

    `vegas` is the field with this name; its options apply if the controller is Vegas.
    """
    if isinstance(congestion, str):
        congestion = {"kind": congestion}
    said = _specified(congestion)
    kind = congestion.kind if isinstance(congestion, Variant) else said.pop("kind", None)
    options = RULES.get(profile, {}).get(str(kind))
    if options is None or said.get("rules", options["rules"]) != options["rules"]:
        return congestion
    beside = _specified_vegas(vegas) if kind == "vegas" else {}
    merged = {**options, **beside, **said}
    return _CONTROLS[str(kind)](**merged) if isinstance(congestion, Variant) else {"kind": kind, **merged}


def _specified(chosen: object) -> dict[str, Any]:
    """Returns the options of a part that the user specified."""
    if isinstance(chosen, Model):
        return {name: getattr(chosen, name) for name in chosen.model_fields_set - {"kind"}}
    return dict(chosen) if isinstance(chosen, dict) else {}


def _specified_vegas(vegas: object) -> dict[str, Any]:
    """Returns the specified options of `tcp.vegas`; in a table with Linux's rules, defaults count as specified.

    Files written by longpipe contain the defaults of this table, whichever controller the scenario uses.
    """
    said = _specified(vegas)
    fields = VegasOptions.model_fields
    if said.get("rules") == "linux":
        return said
    return {name: value for name, value in said.items() if name not in fields or value != fields[name].default}


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
