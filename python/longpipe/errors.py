"""The one error a user's input can raise, and its translation from pydantic's."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails


class ScenarioError(ValueError):
    """Input that longpipe refuses; `str()` gives one line per problem: field, value, what would be accepted."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems

    def __reduce__(self) -> tuple[type["ScenarioError"], tuple[str, ...]]:
        return type(self), self.problems

    @classmethod
    def from_pydantic(cls, error: ValidationError, model: type[BaseModel]) -> "ScenarioError":
        """The same problems in longpipe's words; `model` is the class that was being built."""
        return cls(*dict.fromkeys(_line(details, model) for details in error.errors(include_url=False)))


def nearest(word: str, accepted: Iterable[str]) -> str:
    """The clause that names what is accepted, led by the closest name if there is one."""
    names = list(accepted)
    close = difflib.get_close_matches(word, names, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"accepts {', '.join(names)}"


def _line(error: ErrorDetails, model: type[BaseModel]) -> str:
    path, owners, last = _locate(error["loc"], model)
    message = _message(error, owners, last)
    return f"{path}: {message}" if path else message


def _message(error: ErrorDetails, owners: list[type[BaseModel]], name: str) -> str:
    context = error.get("ctx", {})
    shown = _shown(error["input"])
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            return f"unknown field; {nearest(name, dict.fromkeys(key for owner in owners for key in _named_fields(owner)))}"
        case "missing":
            description = next((f.description for o in owners if (f := _named_fields(o).get(name))), None) or "a value"
            return f"missing; needs {description[0].lower()}{description[1:].rstrip('.')}"
        case "literal_error":
            return f"{shown}; accepts {context['expected'].replace(' or ', ', ')}"
        case "union_tag_invalid":
            tags = context["expected_tags"].replace("'", "").split(", ")
            return f"{context['tag']!r}; {nearest(context['tag'], tags)}"
        case "union_tag_not_found":
            return f"{shown}; needs a kind"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{shown}; needs a table of fields"
        case _:
            text = error["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            return f"{shown}; needs {text}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _locate(loc: tuple[int | str, ...], model: type[BaseModel]) -> tuple[str, list[type[BaseModel]], str]:
    """Dotted path without union tags, the models that own its last field, and that field's name."""
    path, last = "", ""
    owners: list[type[BaseModel]] = [model]
    below: list[type[BaseModel]] = [model]
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif any(_kind(candidate) == part for candidate in below) and last:
            below = [candidate for candidate in below if _kind(candidate) == part]
        else:
            path += f".{part}" if path else part
            owners, last = below, part
            fields = [f for owner in owners if (f := _named_fields(owner).get(part))]
            below = [m for field in fields for m in _models(field.annotation)]
    return path, owners, last


def _kind(model: type[BaseModel]) -> Any:
    field = model.model_fields.get("kind")
    return field.default if field else None


def _named_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.serialization_alias or name: field for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for argument in get_args(annotation):
            yield from _models(argument)
