"""Options that are declared together, as the fields of a dataclass."""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any


def with_structs(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command whose parameters of dataclass types are replaced by the fields of these dataclasses.

    A field is declared as a parameter of a command is: by `typer.Option(...)` as its default, or by an annotation.
    Options keep the order of the declarations.
    """
    signature = inspect.signature(command, eval_str=True)
    structs = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if _is_struct(parameter.annotation)
    }
    if not structs:
        return command

    @functools.wraps(command)
    def run(**values: Any) -> None:  # noqa: ANN401 - values of options
        built = {
            name: struct(**{field.name: values.pop(field.name) for field in fields(struct)})
            for name, struct in structs.items()
        }
        command(**values, **built)

    declared = list(_declared(signature))
    run.__signature__ = signature.replace(parameters=declared)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    return run


def _is_struct(annotation: object) -> bool:
    return is_dataclass(annotation)


def _declared(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """Yields the parameters of a command, with the fields of dataclasses."""
    for parameter in signature.parameters.values():
        annotation = parameter.annotation
        declared = (
            inspect.signature(annotation, eval_str=True).parameters.values() if _is_struct(annotation) else [parameter]
        )
        for declared_parameter in declared:
            yield declared_parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
