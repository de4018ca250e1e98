"""What can go wrong with a database, each in one line."""

from typing import Final

from longpipe.errors import RunError

READ_ONLY: Final = "is read-only; needs a store that can be written, or a copy of it"
# What drivers say, and what it comes to.
_KNOWN: Final = {
    "attempt to write a readonly database": READ_ONLY,
    "read-only transaction": READ_ONLY,
    "database or disk is full": "the disk is full; needs space",
    "no space left on device": "the disk is full; needs space",
    "disk i/o error": "the disk failed or is full; needs space",
}
# Messages of SQLite about a file whose bytes are damaged. Without a name these are about a table or a column that a
# store of this version has.
_DAMAGE: Final = ("malformed", "no such table", "no such column", "could not decode", "utf-8")
# SQLAlchemy's errors name the statement and its values, too, which can be of any length.
_LONGEST: Final = 300


class StoreError(RunError):
    """The database failed while it was in use; what it held before is safe."""


class DamagedError(StoreError):
    """Bytes of the store are not those that were written; `what` is what they were of."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"damaged: {what}; restore the store from a copy, or name another one, in which the runs are done again"
        )
        self.what = what

    def __reduce__(self) -> tuple[type["DamagedError"], tuple[str]]:
        return type(self), (self.what,)


def reason(error: Exception) -> str:
    """The first line of what a driver says, or what it comes to."""
    text = error.strerror if isinstance(error, OSError) else str(getattr(error, "orig", None) or error)
    text = (text or str(error)).strip()
    for said, meant in _KNOWN.items():
        if said in text.lower():
            return meant
    return text.splitlines()[0][:_LONGEST] if text else type(error).__name__


def damage(error: Exception) -> DamagedError | None:
    """The error that damaged bytes are reported by, if a driver's error comes of them."""
    text = reason(error)
    return DamagedError(text) if any(said in text.lower() for said in _DAMAGE) else None
