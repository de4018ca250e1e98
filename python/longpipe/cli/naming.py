"""Help for field names without their path."""

import re
from typing import Final

from longpipe.errors import ScenarioError

_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
_REAL: Final = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")


def number_or_text(text: str) -> int | float | str:
    """Returns a number, which may have a form that TOML lacks, such as .5, and other text unchanged."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def check_path(option: str, field: str) -> None:
    """Raises ScenarioError, which contains the full path, for a field name without its path ("recovery")."""
    if "." in field:
        return
    # Import only here, because it loads all scenario models.
    from longpipe.scenario.reference import all_fields

    names = dict.fromkeys(one.name for one in all_fields())
    whole = [name for name in names if name.endswith(f".{field}")]
    if whole and field not in {name.partition(".")[0] for name in names}:
        raise ScenarioError(f"{option}: {field!r}; needs the whole name, {' or '.join(whole)}")
