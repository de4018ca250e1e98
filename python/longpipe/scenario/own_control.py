"""Common parts of user-defined congestion controllers, which are files or classes."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self

from pydantic import BeforeValidator, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from longpipe.errors import ScenarioError, shown
from longpipe.scenario.digests import is_as_stored, is_optional, keep_digest
from longpipe.scenario.variant import Control


def _scalar(value: object) -> object:
    """Rejects a value of any other type with an error of one line, instead of one line per type."""
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{shown(value)}; needs a number, a boolean or text")
    return value


# Type of a parameter or setting of the user's code.
Value = Annotated[StrictBool | StrictInt | StrictFloat | StrictStr, BeforeValidator(_scalar)]


def core_values(values: Mapping[str, object]) -> list[list[str]]:
    """Converts parameters or settings for the core, which passes them on as text, in the order of their names."""
    return [[name, _text(value)] for name, value in sorted(values.items())]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Known(Protocol):
    """Registry of the controllers of this process: `longpipe.controls.objects` or `longpipe.controls.classes`."""

    def content(self, digest: str, /) -> bytes | None:
        """Returns the content of the controller with this digest, or None if it is not registered."""

    def remember(self, digest: str, name: str, content: bytes, /) -> None:
        """Stores a controller that came from another process."""


class OwnControl(Control):
    """A controller that is found by the user's name for it, and identified by its digest."""

    # Kind of object that a user's name denotes, for messages.
    noun: ClassVar[str]
    # Key of the controller's content in a pickle.
    pickled_as: ClassVar[str]

    if TYPE_CHECKING:
        # Each kind declares these fields itself, because they come after its own fields and have different
        # descriptions.
        digest: str | None
        parameters: dict[str, Value]

    @property
    @abstractmethod
    def own_name(self) -> str:
        """Returns the user's name for the controller."""

    @abstractmethod
    def _find(self) -> str:
        """Returns the digest of the controller. Raises ScenarioError if it is not found.

        Raises ValueError for parameters that the controller does not accept.
        """

    @staticmethod
    @abstractmethod
    def _known() -> Known:
        """Returns the registry of this kind; imported only here, because few scenarios need it."""

    @model_validator(mode="after")
    def _found(self) -> Self:
        if self.digest is not None and is_as_stored():
            return self
        try:
            digest = self._find()
        except ScenarioError as error:
            if not is_optional(self.digest, error):
                raise
            return self
        keep_digest(self, digest, noun=self.noun, holder=self.own_name)
        return self

    def __getstate__(self) -> dict[Any, Any]:
        """Returns the fields and the controller's content, because another process may not find the controller."""
        return {**super().__getstate__(), self.pickled_as: self._known().content(self.digest or "")}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        content = state.pop(self.pickled_as)
        super().__setstate__(state)
        if content is not None and self.digest is not None:
            self._known().remember(self.digest, self.own_name, content)
