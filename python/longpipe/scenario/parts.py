"""Fields that are tables themselves: models to who reads them, and to who writes them tables or names of kinds too."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import Field

from longpipe.scenario.base import Model

if TYPE_CHECKING:
    T = TypeVar("T")

    # A type checker takes as a field's argument what its `__set__` takes; by pydantic alone it asks for a model.
    class Part(Generic[T]):
        """A model, or as written: its fields by name, or the name of a kind."""

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> "Part[T]": ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T: ...
        def __get__(self, instance: object, owner: type[Any]) -> Any: ...
        def __set__(self, instance: object, value: T | Mapping[str, Any] | str) -> None: ...

    class Parts(Generic[T]):
        """A tuple of models, or as written: a list of tables."""

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> "Parts[T]": ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T: ...
        def __get__(self, instance: object, owner: type[Any]) -> Any: ...
        def __set__(self, instance: object, value: T | Sequence[Model | Mapping[str, Any]]) -> None: ...

    def part(*, default: Any, description: str) -> Any:  # noqa: ANN401 - a model of any kind
        """A field with a default."""
else:

    class Part:
        """The model itself."""

        def __class_getitem__(cls, item: object) -> object:
            return item

    Parts, part = Part, Field
