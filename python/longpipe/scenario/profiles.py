"""Profiles of whole connections: named defaults for the fields of `tcp`."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from longpipe.scenario.congestion import Cubic, HighSpeed
from longpipe.scenario.variant import Variant
from longpipe.units import TIME

Profile = Literal["classic", "linux-6"]

CLASSIC: Final[Profile] = "classic"

# The fields of each that are not as they are without.
PROFILES: Final[dict[str, dict[str, Any]]] = {
    CLASSIC: {},
    # Linux 6 with its defaults, beside an Ethernet: RTO = SRTT + max(4 RTTVAR, 200 ms), as a clock of 200 ms has it.
    "linux-6": {
        "recovery": {"kind": "rack", "dsack": True, "frto": True, "successive": True},
        "congestion": {"kind": "cubic", "rules": "linux"},
        "mss": "1448 B",
        "receiver_window": "auto",
        "initial_window": "10 segments",
        "handshake": True,
        "idle_restart": True,
        "timer": {"kind": "fine", "granularity": "200 ms", "min_rto": "200 ms", "max_rto": "120 s", "timestamps": True},
        "ack": {"kind": "linux", "least_round_trip": True},
    },
}

# Controls that go by a paper or by Linux, and what a profile has them go by unless that is said.
RULES: Final[dict[str, str]] = {"linux-6": "linux"}
RULED: Final[Mapping[str, type[Variant]]] = {"cubic": Cubic, "highspeed": HighSpeed}


def filled(fields: Any) -> Any:  # noqa: ANN401 - whatever was written
    """Returns a connection's fields with the defaults of its profile; fields and options that are written win.

    A written `initial_rtt` replaces the profile's handshake, because either one tells the first round trip.
    """
    if not isinstance(fields, dict):
        return fields
    profile = str(fields.get("profile"))
    whole = {**PROFILES.get(profile, {}), **fields}
    if "handshake" not in fields and tells_a_round_trip(fields.get("initial_rtt")):
        whole.pop("handshake", None)
    if "congestion" in whole:
        whole["congestion"] = by_rules(profile, whole["congestion"])
    return whole


def tells_a_round_trip(initial_rtt: object) -> bool:
    """Returns whether a written `initial_rtt` is a time above zero; its own check names one that is no time."""
    try:
        return isinstance(initial_rtt, str) and TIME.parse(initial_rtt) > 0
    except ValueError:
        return False


def replace_handshake(table: dict[str, Any]) -> None:
    """Removes the handshake from a connection's fields if its profile has one."""
    if PROFILES.get(str(table.get("profile")), {}).get("handshake"):
        table["handshake"] = False


def by_rules(profile: str, congestion: Any) -> Any:  # noqa: ANN401 - whatever was written
    """A congestion control by the rules of a profile, where it has such an option and nothing is said of it."""
    rules = RULES.get(profile)
    if rules is None:
        return congestion
    if isinstance(congestion, Variant):
        unsaid = congestion.kind in RULED and "rules" not in congestion.model_fields_set
        return RULED[congestion.kind](**{**_said(congestion), "rules": rules}) if unsaid else congestion
    table = {"kind": congestion} if isinstance(congestion, str) else congestion
    if isinstance(table, dict) and table.get("kind") in RULED:
        return {**table, "rules": table.get("rules", rules)}
    return congestion


def _said(chosen: Variant) -> dict[str, Any]:
    return {name: getattr(chosen, name) for name in chosen.model_fields_set}


def change(table: dict[str, Any], name: object, defaults: dict[str, Any]) -> None:
    """Moves a written connection to another profile: what differs from the one before stays.

    `defaults` are all fields as they are without a profile.
    """
    before = {**defaults, **PROFILES.get(str(table.get("profile", CLASSIC)), {})}
    for field in list(table):
        if _is(table[field], before.get(field)):
            del table[field]
    table["profile"] = name


def _is(written: object, default: object) -> bool:
    """Whether a part says no more than a default that leaves its own defaults out."""
    if isinstance(written, dict) and isinstance(default, dict):
        return written == default or all(written.get(name) == value for name, value in default.items())
    if isinstance(written, str) and isinstance(default, dict):
        return default == {"kind": written}
    return written == default
