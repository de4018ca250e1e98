"""What a shell completes: names of papers, examples, fields, levels, measures and studies."""

from collections.abc import Callable, Iterable, Iterator

from longpipe.errors import ScenarioError


def among(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Those of the names that begin as what was typed."""
    known = list(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def field_and_level(incomplete: str) -> list[str]:
    """FIELD= of every field of a scenario; behind it the values that it names."""
    # A shell asks as long as a key takes to repeat: all else is loaded when it is needed.
    from longpipe.scenario.reference import all_fields

    left, equals, _ = incomplete.partition("=")
    named, colon, field = left.rpartition(":")
    if not equals:
        return [f"{named}{colon}{one}=" for one in _unique(one.name for one in all_fields()) if one.startswith(field)]
    accepted = next((one.accepts for one in all_fields() if one.name == field), "")
    levels = [level for level in accepted.split(", ") if level.replace("-", "").isalnum()]
    return [whole for level in levels if (whole := f"{left}={level}").startswith(incomplete)]


def field(incomplete: str) -> list[str]:
    """Dotted names of fields."""
    from longpipe.scenario.reference import all_fields

    return [name for name in _unique(one.name for one in all_fields()) if name.startswith(incomplete)]


def study(incomplete: str) -> list[str]:
    """Studies of the user's store, or that of LONGPIPE_STORE."""
    from longpipe.cli.storing import opened
    from longpipe.store import studies

    try:
        with opened(None, readonly=True) as store:
            return [one.name for one in studies.overview(store) if one.name.startswith(incomplete)]
    except ScenarioError:
        return []


def _unique(names: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(names))
