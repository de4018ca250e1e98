"""Database errors as one-line messages."""

from typing import Final

from longpipe.errors import RunError

READ_ONLY: Final = "is read-only; needs a writable store, or a copy of it"
# Messages of drivers, each with an explanation.
_KNOWN: Final = {
    "attempt to write a readonly database": READ_ONLY,
    "read-only transaction": READ_ONLY,
    "database or disk is full": "the disk is full; needs space",
    "no space left on device": "the disk is full; needs space",
    "disk i/o error": "the disk failed or is full; needs space",
}
# Classes of PostgreSQL's error codes after which the same transaction may succeed: connection exceptions, conflicts
# with other transactions, and operator intervention, such as a shutdown; and the code for too many connections.
_PASSING: Final = ("08", "40", "57", "53300")
# Messages of SQLite about a damaged file. The messages about a missing table or column are included, because a store of
# this version must have it.
_DAMAGE: Final = ("malformed", "no such table", "no such column", "could not decode", "utf-8")
# SQLAlchemy's errors also contain the statement and its values, of any length.
_LONGEST: Final = 300


class StoreError(RunError):
    """The database failed while it was in use; what had been stored before is safe."""


class LostError(StoreError):
    """The connection to the database was lost, or the server is starting; the same transaction may succeed later."""


class DamagedError(StoreError):
    """The store is damaged; `what` names the damaged item."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"damaged: {what}; restore the store from a copy, or name another one, in which the runs are repeated"
        )
        self.what = what

    def __reduce__(self) -> tuple[type["DamagedError"], tuple[str]]:
        return type(self), (self.what,)


def reason(error: Exception) -> str:
    """Returns the explanation of a driver's message, or its first line if there is none."""
    text = error.strerror if isinstance(error, OSError) else str(getattr(error, "orig", None) or error)
    text = (text or str(error)).strip()
    for phrase, explanation in _KNOWN.items():
        if phrase in text.lower():
            return explanation
    return text.splitlines()[0][:_LONGEST] if text else type(error).__name__


def damage(error: Exception) -> DamagedError | None:
    """Returns a DamagedError if a driver's error indicates damage, otherwise None."""
    text = reason(error)
    return DamagedError(text) if any(phrase in text.lower() for phrase in _DAMAGE) else None


def is_passing(error: Exception) -> bool:
    """Returns whether a driver's error shows a lost connection to a server, or another reason that may soon be gone."""
    if type(error).__name__ not in ("OperationalError", "InterfaceError"):
        return False
    # Only PostgreSQL's driver has this attribute; it is None if no server answered.
    code = getattr(getattr(error, "orig", None), "sqlstate", "")
    return code is None or str(code).startswith(_PASSING)
