"""Whole connections in a word: what the fields of `tcp` are where a scenario says nothing else."""

from typing import Any, Final, Literal

Profile = Literal["classic", "linux-6"]

CLASSIC: Final[Profile] = "classic"

# The fields of each that are not as they are without.
PROFILES: Final[dict[str, dict[str, Any]]] = {
    CLASSIC: {},
    # Linux 6 with its defaults, beside an Ethernet: RTO = SRTT + max(4 RTTVAR, 200 ms), as a clock of 200 ms has it.
    "linux-6": {
        "recovery": {"kind": "rack"},
        "congestion": {"kind": "cubic", "rules": "linux"},
        "mss": "1448 B",
        "receiver_window": "auto",
        "initial_window": "10 segments",
        "idle_restart": True,
        "timer": {"kind": "fine", "granularity": "200 ms", "min_rto": "200 ms", "max_rto": "120 s", "timestamps": True},
        "ack": {"kind": "linux"},
    },
}


def filled(fields: Any) -> Any:  # noqa: ANN401 - whatever was written
    """The fields of a connection with those of its profile; each field that is there stays."""
    if not isinstance(fields, dict):
        return fields
    return {**PROFILES.get(str(fields.get("profile")), {}), **fields}


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
