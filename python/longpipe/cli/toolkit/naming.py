"""Names and values of fields in the text of options."""

import re
from contextlib import suppress
from typing import Any, Final

from longpipe.errors import ScenarioError
from longpipe.inputs import NoTomlError, parse_toml

_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
# A number without a digit before its decimal point.
_DOT: Final = re.compile(r"(?<=[=\[,\s{])([+-]?)\.(?=\d)")
_REAL: Final = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")


def number_or_text(text: str) -> int | float | str:
    """Returns a number, which may have a form that TOML lacks, such as .5, and other text unchanged."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def value_of(text: str, option: str) -> Any:  # noqa: ANN401 - any TOML value
    """Returns the TOML value in an option's text, or the text itself if it is no TOML.

    Numbers may begin with a dot. Raises ScenarioError for a table or a list that is no TOML.
    """
    line = f"value = {text}"
    try:
        return parse_toml(line, option)["value"]
    except NoTomlError as error:
        with suppress(NoTomlError):
            return parse_toml(_DOT.sub(r"\g<1>0.", line), option)["value"]
        if text.lstrip()[:1] in ("{", "["):
            reason = str(error).partition("not TOML, ")[2].partition(" (at ")[0].partition(";")[0]
            example = "{ kind = 'red', min = 5 }"
            raise ScenarioError(
                f"{option}: {text}: not TOML, {reason}; needs a table or a list, as in {example}"
            ) from None
        return number_or_text(text.strip())


def check_path(option: str, field: str) -> None:
    """Raises ScenarioError, which contains the full path, for a field name without its path ("recovery")."""
    if "." in field:
        return
    # Imported here because it loads all scenario models.
    from longpipe.scenario.reference import all_fields

    names = dict.fromkeys(field.name for field in all_fields())
    whole = [name for name in names if name.endswith(f".{field}")]
    if whole and field not in {name.partition(".")[0] for name in names}:
        raise ScenarioError(f"{option}: {field!r}; needs the whole name, {' or '.join(whole)}")


def change(text: str) -> tuple[str, object]:
    """Parses FIELD=VALUE of `--set`; `none` as the value of a field that may be absent is None."""
    field, equals, value = text.partition("=")
    field = field.strip()
    if not (field and equals):
        raise ScenarioError(f"--set: {text!r}; accepts FIELD=VALUE, as in switch.buffer='3000 cells'")
    check_path("--set", field)
    if value.strip() == "none":
        # Imported here so that other changes start faster.
        from longpipe.scenario.reference import may_be_absent

        if may_be_absent(field):
            return field, None
    return field, value_of(value, f"--set {field}")
