"""Registry of the classes of congestion controllers, by the digest that names them in scenarios."""

from dataclasses import dataclass

from longpipe.controls.class_checks import check_class
from longpipe.controls.class_imports import FIELD, NEEDS_CLASS, import_class
from longpipe.controls.class_pickles import pickle_class
from longpipe.controls.control import Control
from longpipe.controls.identity import identity
from longpipe.controls.policies import PolicyControl
from longpipe.errors import ScenarioError


@dataclass
class KnownClass:
    """A class: the name by which the user refers to it, and its pickle, from which it is loaded when it is needed."""

    digest: str
    name: str
    cls: type[Control] | None
    content: bytes

    @property
    def is_policy(self) -> bool:
        """Returns whether the class is loaded and applies a policy of `longpipe.gym`."""
        return self.cls is not None and issubclass(self.cls, PolicyControl)


# The classes that this process knows, by digest.
_classes: dict[str, KnownClass] = {}


def load(target: str | type, digest: str | None = None) -> KnownClass:
    """Imports and registers the class with a name, "package.module:Class" or "file.py:Class", or registers a class.

    If this process knows the digest of a named class, returns the class with this digest, without importing the name.
    Raises ScenarioError for an object that is not a controller.
    """
    if isinstance(target, str) and digest is not None and digest in _classes:
        return _classes[digest]
    cls = import_class(target) if isinstance(target, str) else target
    name = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
    if not isinstance(cls, type) or not issubclass(cls, Control) or cls is Control:
        raise ScenarioError(f"{FIELD}: {name}; {NEEDS_CLASS}")
    check_class(cls, name)
    known_class = KnownClass(identity(cls), name, cls, b"")
    _classes[known_class.digest] = known_class
    return known_class


def known(digest: str) -> KnownClass | None:
    """Returns the class with this digest; None if this process does not know it."""
    return _classes.get(digest)


def loaded() -> list[KnownClass]:
    """Returns the classes that are loaded in this process."""
    return [known_class for known_class in _classes.values() if known_class.cls is not None]


def knows(digest: str) -> bool:
    """Returns whether this process knows the class with this digest."""
    return digest in _classes


def name_of(digest: str) -> str:
    """Returns the name of a known class."""
    return _classes[digest].name


def content(digest: str) -> bytes | None:
    """Returns the pickle of a known class, which contains the code of its module; None for other digests.

    A class is pickled when its content is needed for the first time. Raises ScenarioError if this fails.
    """
    known_class = _classes.get(digest)
    if known_class is None:
        return None
    if not known_class.content and known_class.cls is not None:
        try:
            known_class.content = pickle_class(known_class.cls)
        except Exception as error:
            raise ScenarioError(f"{FIELD}: {known_class.name}; cannot be sent to another process: {error}") from None
    return known_class.content


def remember(digest: str, name: str, pickled: bytes) -> None:
    """Stores a class that came from another process."""
    _classes.setdefault(digest, KnownClass(digest, name, None, pickled))
