"""Decides which code of the user may run if a store, and not the user, names it.

A store may come from another person. Code that it names, such as a measure in a Python file or a class, runs only if
the user has named this file or another one with this content before, or has trusted this content (`longpipe study
trust`). The digests of trusted code are kept in a file of the user's state directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal

from longpipe.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

# Who has named the code that is loaded: the user, a store, or a store whose code the user has decided to trust.
_Origin = Literal["user", "store", "trusted store"]
_origin: Final[ContextVar[_Origin]] = ContextVar("origin", default="user")
# Code trusted in the context of a trusted store, for the message to the user.
_granted: list[str] = []
# Digests that this process trusts, after those of the file have been read.
_trusted: set[str] = set()


class UntrustedCodeError(ScenarioError):
    """A store names code that the user has neither named nor trusted."""


class UntrustedCodeWarning(UserWarning):
    """Warns that values are missing, because their computation needs code that is not trusted."""


@contextmanager
def named_by_store() -> Iterator[None]:
    """Context in which code is loaded because a store names it."""
    with _named_by("store" if _origin.get() == "user" else _origin.get()):
        yield


@contextmanager
def named_by_user() -> Iterator[None]:
    """Context in which code is loaded because trusted code of the user names it."""
    with _named_by("user"):
        yield


@contextmanager
def granting() -> Iterator[list[str]]:
    """Context in which code that a store names becomes trusted; its names are in the list when the context ends."""
    _granted.clear()
    with _named_by("trusted store"):
        yield _granted


@contextmanager
def _named_by(origin: _Origin) -> Iterator[None]:
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def is_named_by_store() -> bool:
    """Returns whether code is loaded because a store names it."""
    return _origin.get() == "store"


def require(name: str, digest: str, path: Path | None = None) -> None:
    """Raises UntrustedCodeError if a store names code that is not trusted; otherwise trusts it from now on.

    `name` is a path, the name of a module or a command, and `digest` identifies the content. A file that the user has
    named is also trusted after an edit at the same `path`; one that only a store has named is not.
    """
    place = None if path is None else digest_of_name(str(path.absolute()))
    trusted = [identity for identity in (digest, place) if identity is not None and _is_trusted(identity)]
    if trusted if is_named_by_store() else digest in trusted and (place is None or place in trusted):
        return
    if is_named_by_store():
        raise UntrustedCodeError(
            f"{name}: code that the store names, and that was never used here with this content; needs `longpipe study "
            f"trust STUDY`, after which it runs with your rights"
        )
    if _origin.get() == "trusted store":
        if not trusted:
            _granted.append(name)
        place = None
    for identity in (digest, place):
        if identity is None or identity in trusted:
            continue
        _trusted.add(identity)
        with suppress(OSError):
            _append(identity, name)


def digest_of_name(name: str) -> str:
    """Returns the digest that stands for a path or an installed module, whatever its content."""
    return sha256(f"name {name}".encode()).hexdigest()


def _is_trusted(digest: str) -> bool:
    if digest not in _trusted:
        with suppress(OSError):
            _trusted.update(line.split(" ", 1)[0] for line in _file().read_text(encoding="utf-8").splitlines())
    return digest in _trusted


def _file() -> Path:
    # Imported here so that commands without code of the user start faster.
    from platformdirs import user_state_path

    return user_state_path("longpipe") / "trusted"


def _append(digest: str, name: str) -> None:
    path = _file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{digest} {' '.join(name.split())}\n")
