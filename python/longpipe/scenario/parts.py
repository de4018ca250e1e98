"""Types of fields that are tables. A read returns a model; an assignment also accepts a table or the name of a kind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import Field

from longpipe.scenario.base import Model

if TYPE_CHECKING:
    T = TypeVar("T")

    # Type checkers accept the argument type of `__set__` for a field; with pydantic alone they would require a model.
    class Part(Generic[T]):
        """A model; written as a model, a table of its fields, or the name of a kind."""

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> "Part[T]": ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T: ...
        def __get__(self, instance: object, owner: type[Any]) -> Any: ...
        def __set__(self, instance: object, value: T | Mapping[str, Any] | str) -> None: ...

    class Parts(Generic[T]):
        """A tuple of models; also written as a list of tables."""

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> "Parts[T]": ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T: ...
        def __get__(self, instance: object, owner: type[Any]) -> Any: ...
        def __set__(self, instance: object, value: T | Sequence[Model | Mapping[str, Any]]) -> None: ...

    def part(*, default: Any, description: str) -> Any:  # noqa: ANN401 - a model of any kind
        """Declares a field with a default."""
else:

    class Part:
        """At run time, the model itself."""

        def __class_getitem__(cls, item: object) -> object:
            return item

    Parts, part = Part, Field
