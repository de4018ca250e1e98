"""The error for invalid input, and functions that build it from pydantic's errors."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, time
from functools import partial
from typing import TYPE_CHECKING, Final, get_args

from longpipe.errors.alternatives import known

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails


@dataclass(frozen=True)
class MissingSetting:
    """A setting that a scenario lacks: `cause`, another field, needs that `field` has this value; both are dotted.

    `cause` is None for a setting that changes the whole scenario, which only the user can choose.
    """

    field: str
    value: object
    cause: str | None = None


class ScenarioError(ValueError):
    """Invalid input; `str()` returns one line per problem: field, value, and what would be accepted.

    `remedies` contains settings that would solve some of the problems.
    """

    def __init__(self, *problems: str, remedies: Iterable[MissingSetting] = ()) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.remedies = tuple(remedies)

    def __reduce__(self) -> tuple[partial[ScenarioError], tuple[str, ...]]:
        return partial(type(self), remedies=self.remedies), self.problems

    @classmethod
    def from_pydantic(cls, error: ValidationError, model: type[BaseModel]) -> ScenarioError:
        """Converts pydantic's problems; `model` is the class that was being built."""
        problems = [details for details in error.errors(include_url=False) if not _counts_valid_items(details)]
        lines = (line for details in _merged(problems, model) for line in _lines(details, model))
        causes = (details.get("ctx", {}).get("error") for details in problems)
        remedies = (
            missing_setting
            for cause in causes
            if isinstance(cause, ScenarioError)
            for missing_setting in cause.remedies
        )
        return cls(*dict.fromkeys(lines), remedies=remedies)


class SchemaWarning(UserWarning):
    """Absent fields of a file without a version of the schema, whose defaults depend on the version."""


class RunError(RuntimeError):
    """Error of runs that cannot be executed or stored; `str()` returns one line per problem."""


# C0 and C1 controls, DEL, line separators, and characters that change the direction of text.
CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_WITHIN_LINES: Final = re.compile(rf"(?![\n\t]){CONTROLS.pattern}")


def plain(text: str) -> str:
    r"""Returns a text in which control characters are escaped, as in "\x1b[31m"."""
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def plain_lines(text: str) -> str:
    """Returns a text with its control characters escaped, except for tabs and line ends."""
    return _WITHIN_LINES.sub(lambda match: plain(match[0]), text)


def nearest(word: str, accepted: Iterable[str], most: int | None = None) -> str:
    """Returns a clause that names the closest accepted value, if one is close, and lists at most `most` values.

    Without any accepted value, the clause says so.
    """
    names = [_shortened(name) for name in accepted]
    if not names:
        return "there is none"
    word = _shortened(word)
    close = difflib.get_close_matches(word, names, n=3)
    # Among equally close names, prefer an anagram.
    close.sort(key=lambda name: (-difflib.SequenceMatcher(None, name, word).ratio(), sorted(name) != sorted(word)))
    more = f" and {len(names) - most} more" if most is not None and len(names) > most else ""
    return (f"did you mean {close[0]!r}? " if close else "") + f"accepts {', '.join(names[:most])}{more}"


def check_kind(name: str, value: object, kind: type | tuple[type, ...], needs: str) -> None:
    """Raises ScenarioError if an argument has the wrong type; a bool does not count as a number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise ScenarioError(f"{name}: {shortened(repr(value), 60)}; needs {needs}")


def _shortened(name: str) -> str:
    return shortened(name, 60)


def shortened(text: str, most: int = 1000) -> str:
    """Returns a text, shortened to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


# Depth of the tables of which a header may be missing.
_DEPTH: Final = 3
# Maximum number of unknown fields of a table that have a line each, and of further ones that a common line names.
_MAX_SINGLE: Final = 3
_MAX_OTHERS: Final = 8


def _counts_valid_items(error: ErrorDetails) -> bool:
    """Returns whether a list is too short only because invalid items, which have their own errors, are not counted."""
    items = error["input"]
    return error["type"] == "too_short" and isinstance(items, list | tuple) and len(items) >= error["ctx"]["min_length"]


def _merged(errors: list[ErrorDetails], model: type[BaseModel]) -> Iterator[ErrorDetails | str]:
    """Yields the errors; the unknown fields of a table that are probably those of a missing table are one line."""
    unknown: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for error in errors:
        if error["type"] == "extra_forbidden":
            unknown.setdefault(error["loc"][:-1], []).append(error)
    merged = {
        place: line for place, missing_table in unknown.items() if (line := _of_missing_table(missing_table, model))
    }
    absent = {table for table, _ in merged.values()}
    for error in errors:
        if error["type"] == "extra_forbidden" and (missing_table := merged.get(error["loc"][:-1])):
            if error is unknown[error["loc"][:-1]][0]:
                yield missing_table[1]
        # A table of which only subtables have their header lacks its fields.
        elif _locate(error["loc"], model)[0] not in absent:
            yield error


def _of_missing_table(errors: list[ErrorDetails], model: type[BaseModel]) -> tuple[str, str] | None:
    """Returns the table whose header may be missing and a line about its fields; None for independent mistakes."""
    names = [str(error["loc"][-1]) for error in errors]
    if len(names) < 2:
        return None
    path, owners, _, _ = _locate(errors[0]["loc"], model)
    accepted = dict.fromkeys(key for owner in owners for key in _named_fields(owner))
    inner = path.removesuffix(names[0])

    def is_possible(table: str) -> bool:
        """Returns whether a table exists: another kind of the unknown fields' table may have other tables."""
        is_inner = bool(inner) and table.startswith(inner)
        return not is_inner or table.removeprefix(inner).partition(".")[0] in accepted

    tables = [table for table, fields in _tables(model) if fields.issuperset(names) and is_possible(table)]
    table = min(tables, key=lambda name: (name.count("."), name), default=None)
    if table is None and len(names) <= _MAX_SINGLE:
        return None
    further = [shortened(name, _MAX_NAME) for name in names[1:]]
    more = f" and {len(further) - _MAX_OTHERS} more" if len(further) > _MAX_OTHERS else ""
    line = f"{path}: unknown field, as {'are' if len(further) > 1 else 'is'} {', '.join(further[:_MAX_OTHERS])}{more}"
    if table is None:
        return "", f"{line}; accepts {', '.join(accepted)}"
    return table, f"{line}; all are fields of {table}, whose line [{table}] may be missing"


def _tables(model: type[BaseModel], path: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, set[str]]]:
    """Yields the dotted path and the fields of each table within a model, for each of its kinds."""
    for name, field in _named_fields(model).items() if depth else ():
        inner = f"{path}.{name}" if path else name
        for model_of_field in _models(field.annotation):
            yield inner, set(_named_fields(model_of_field))
            yield from _tables(model_of_field, inner, depth - 1)


def _lines(error: ErrorDetails | str, model: type[BaseModel]) -> tuple[str, ...]:
    """Returns the lines of a validation error: the field, its value, and what is accepted."""
    if isinstance(error, str):
        return (error,)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, ScenarioError):
        return cause.problems
    path, owners, last, other_kinds = _locate(error["loc"], model)
    message = _message(error, owners, last)
    if error["type"] == "extra_forbidden":
        message += _of_other_kinds(other_kinds, last)
    return (f"{path}: {message}" if path else message,)


# Maximum length of a field's name in a message.
_MAX_NAME: Final = 80
# Maximum number of fields of a table that a message lists for a value that is no table.
_MAX_FIELDS: Final = 12
# Text for each type of pydantic error about a plain value.
_NEEDS: Final = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "1 to 64 letters, digits, '_', '.' or '-'",
    "string_type": "text",
    "finite_number": "a finite number",
    "too_short": "{min_length} items",
    "too_long": "{max_length} items",
}
# Maximum number of kinds that are named because they have a field.
_MAX_KINDS: Final = 4
# Maximum number of tables that are named because an unknown field is a field of theirs.
_MAX_HOLDERS: Final = 2
_NEEDS_BY_TYPE: Final = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "dict": "a table of values",
    "tuple": "a list",
    "model": "a table of fields",
}


def _message(error: ErrorDetails, owners: list[type[BaseModel]], name: str) -> str:
    """Returns the part of a validation error after the field's name."""
    context = error.get("ctx", {})
    value = shown(error["input"])
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            accepted = dict.fromkeys(key for owner in owners for key in _named_fields(owner))
            holders = [field for field in accepted if name in _fields_of(owners, field)]
            hint = f"; {name} is a field of {', '.join(holders)}" if 0 < len(holders) <= _MAX_HOLDERS else ""
            return f"unknown field; {_accepts(name, accepted)}{hint}"
        case "missing":
            needs = next((f.description for o in owners if (f := _named_fields(o).get(name))), None) or "a value"
            return f"missing; needs {needs[0].lower()}{needs[1:]}"
        case "literal_error":
            return f"{value}; {_accepts(str(error['input']), _quoted(context['expected']))}"
        case "union_tag_invalid":
            named = _accepts(context["tag"], _quoted(context["expected_tags"]))
            return f"{shown(context['tag'])}; {named}{_table(owners, name, _percent(context['tag']))}"
        case "union_tag_not_found":
            return f"{value}; needs a kind: {', '.join(_kinds(owners, name))}"
        case "model_type" | "model_attributes_type" if kinds := _kinds(owners, name):
            return f"{value}; accepts {', '.join(kinds)}{_table(owners, name, error['input'])}"
        case "model_type" | "model_attributes_type" if fields := _fields_of(owners, name):
            names = f": {', '.join(fields)}" if len(fields) <= _MAX_FIELDS else ""
            return f"{value}; needs a table of fields{names}"
        case kind if kind in _NEEDS:
            return f"{value}; needs {_NEEDS[kind].format(**context)}"
        case kind:
            return f"{value}; needs {_NEEDS_BY_TYPE.get(kind.partition('_')[0], error['msg'])}"


def _of_other_kinds(models: list[type[BaseModel]], name: str) -> str:
    """Returns the clause that names the kinds of a part which have a field; "" if none has it."""
    kinds = [str(_kind(model)) for model in models if name in _named_fields(model)]
    more = f" and {len(kinds) - _MAX_KINDS} more" if len(kinds) > _MAX_KINDS else ""
    return f"; kinds with this field: {', '.join(kinds[:_MAX_KINDS])}{more}" if kinds else ""


def _kinds(owners: list[type[BaseModel]], name: str) -> list[str]:
    """Returns the kinds of a field whose value is a table with `kind`."""
    return [str(kind) for model in _models_of(owners, name) if (kind := _kind(model)) is not None]


def _fields_of(owners: list[type[BaseModel]], name: str) -> list[str]:
    """Returns the fields of the table that is the value of a field."""
    models = _models_of(owners, name)
    return list(dict.fromkeys(field for model in models for field in _named_fields(model)))


def _models_of(owners: list[type[BaseModel]], name: str) -> list[type[BaseModel]]:
    return [model for owner in owners if (f := _named_fields(owner).get(name)) for model in _models(f.annotation)]


def _percent(text: str) -> float | None:
    """Returns the fraction that a text such as "1 %" denotes."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", text.strip())
    return float(match[1]) / 100 if match else None


def _table(owners: list[type[BaseModel]], name: str, value: object) -> str:
    """Returns an example of the table to write in place of a number, for the first kind that has a numeric field."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    for owner in owners:
        for model in _models(field.annotation) if (field := _named_fields(owner).get(name)) else ():
            for part, named_field in _named_fields(model).items():
                if named_field.annotation is float and named_field.is_required():
                    return f", as in {{kind = '{_kind(model)}', {part} = {value}}}"
    return ""


def _accepts(word: str, accepted: Iterable[str]) -> str:
    """Returns a clause that lists the accepted values, after advice on a well-known name or after the closest name."""
    names = list(accepted)
    if word not in names and word.lower() in names:
        return f"it is {word.lower()!r} here; accepts {', '.join(names)}"
    advice = known(word, names)
    return nearest(word, names) if advice is None else f"{advice}; accepts {', '.join(names)}"


def _quoted(names: str) -> list[str]:
    return re.findall(r"'([^']+)'", names) or re.findall(r"\d+", names)


def shown(value: object) -> str:
    """Returns a value for a message, in at most 60 characters; dates and times as TOML writes them."""
    if isinstance(value, date | time):
        return value.isoformat()
    try:
        text = repr(value[:60] if isinstance(value, str | bytes | list | tuple) else value)
    except (ValueError, RecursionError):
        # Numbers with more digits than Python converts, and tables that are nested too deeply.
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def in_one_line(text: str) -> str:
    """Returns a text, such as a command with line breaks, for a message: in one line of at most 300 characters."""
    return textwrap.shorten(text, 300, placeholder=" ...")


def _locate(
    loc: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[str, list[type[BaseModel]], str, list[type[BaseModel]]]:
    """Returns the dotted path without union tags, the models that contain its last field, and the field's name.

    The last item contains the models of other kinds of the part that contains the field.
    """
    path, last = "", ""
    # A union has one tag, which may also be the name of a field of its model.
    tagged = True
    owners: list[type[BaseModel]] = [model]
    below: list[type[BaseModel]] = [model]
    # Models of other kinds than the last tag, and those next to the owners.
    next_to: list[type[BaseModel]] = []
    other_kinds: list[type[BaseModel]] = []
    for part in loc:
        if isinstance(part, int):
            path, tagged = f"{path}[{part}]", False
        elif not tagged and any(_kind(candidate) == part for candidate in below):
            next_to = [candidate for candidate in below if _kind(candidate) != part]
            below, tagged = [candidate for candidate in below if _kind(candidate) == part], True
        else:
            # The name of an unknown field may be of any length, and empty.
            written = shortened(part, _MAX_NAME) or "''"
            path += f".{written}" if path else written
            owners, last, tagged = below, part, False
            other_kinds, next_to = next_to, []
            fields = [f for owner in owners if (f := _named_fields(owner).get(part))]
            below = [m for field in fields for m in _models(field.annotation)]
    return path, owners, last, other_kinds


def _kind(model: type[BaseModel]) -> object:
    field = model.model_fields.get("kind")
    return field.default if field and not field.is_required() else None


def _named_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.serialization_alias or name: field for name, field in model.model_fields.items()}


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    # Imported here because pydantic takes 0.1 s to load, and most code that imports this module does not need it.
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for argument in get_args(annotation):
            yield from _models(argument)
