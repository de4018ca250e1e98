"""Options of connections that follow from a profile, and from fields of earlier versions."""

from typing import Any, Final

from longpipe.scenario.base import Model, models_by_kind
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.variant import Variant
from longpipe.units import TIME

# Former fields of `tcp` with options of one congestion control; files may contain them.
FORMER: Final = {"byte_counting": "aimd", "vegas": "vegas"}
_CONTROLS: Final = models_by_kind(Congestion)
# Options that a profile sets for a congestion controller unless the scenario sets them, by profile and controller.
RULES: Final[dict[str, dict[str, dict[str, Any]]]] = {}
for _kind, _control in _CONTROLS.items():
    for _profile, _options in _control.profile_options.items():
        RULES.setdefault(_profile, {})[_kind] = _options


def filled(fields: Any, tcp: Any) -> Any:  # noqa: ANN401 - unvalidated input, and a class with defaults
    """Returns a connection's fields with the defaults of its profile; specified fields and options take precedence.

    `tcp` is the model of connections. A specified `initial_rtt` replaces the profile's handshake, because each of them
    provides the first RTT sample. Options of a recovery or congestion control without a kind apply to the kind of the
    profile.
    """
    if not isinstance(fields, dict):
        return fields
    profile = str(fields.get("profile"))
    defaults = tcp.profile_options.get(profile, {})
    whole = {**defaults, **fields}
    for part in ("recovery", "congestion"):
        if part in defaults and isinstance(whole[part], dict) and "kind" not in whole[part]:
            whole[part] = {**defaults[part], **whole[part]}
    if "handshake" not in fields and has_initial_rtt(fields.get("initial_rtt")):
        whole.pop("handshake", None)
    beside = {name: whole.pop(name) for name in FORMER if name in whole}
    if beside and (options := former_options(whole.get("congestion", default_control(tcp)), beside)):
        whole["congestion"] = options
    if "congestion" in whole:
        whole["congestion"] = by_rules(profile, whole["congestion"])
    return whole


def default_control(tcp: Any) -> str:  # noqa: ANN401 - a class with defaults
    """Returns the kind of the congestion control without a profile; `tcp` is the model of connections."""
    return str(tcp.model_fields["congestion"].default.kind)


def former_options(congestion: Any, beside: dict[str, Any]) -> Any:  # noqa: ANN401 - unvalidated input
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
        options = {name: value for name, value in options.items() if not _is_default(value, defaults.get(name))}
    return {**options, **_specified(congestion), "kind": kind} if options else None


def _is_default(value: object, default: object) -> bool:
    """Returns whether a value is a default; 0 is not false, which a check of the field reports."""
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def _specified_kind(chosen: object) -> str:
    return str(chosen.get("kind") if isinstance(chosen, dict) else getattr(chosen, "kind", None))


def has_initial_rtt(initial_rtt: object) -> bool:
    """Returns whether a specified `initial_rtt` is a time above zero; invalid values are reported by another check."""
    try:
        return isinstance(initial_rtt, str) and TIME.parse(initial_rtt) > 0
    except ValueError:
        return False


def by_rules(profile: str, congestion: Any) -> Any:  # noqa: ANN401 - as written
    """Returns a congestion controller with the options that the profile sets and the scenario does not."""
    if isinstance(congestion, str):
        congestion = {"kind": congestion}
    specified, kind = _specified(congestion), _specified_kind(congestion)
    options = RULES.get(profile, {}).get(kind)
    if options is None or specified.get("rules", options["rules"]) != options["rules"]:
        return congestion
    merged = {**options, **specified}
    return _CONTROLS[kind](**merged) if isinstance(congestion, Variant) else {"kind": kind, **merged}


def _specified(chosen: object) -> dict[str, Any]:
    """Returns the options of a part that the user specified."""
    if isinstance(chosen, Model):
        return {name: getattr(chosen, name) for name in chosen.model_fields_set - {"kind"}}
    return {name: value for name, value in chosen.items() if name != "kind"} if isinstance(chosen, dict) else {}
