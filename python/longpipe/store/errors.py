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


class StoreError(RunError):
    """The database failed while it was in use; what it held before is safe."""


def reason(error: Exception) -> str:
    """The first line of what a driver says, or what it comes to."""
    text = error.strerror if isinstance(error, OSError) else str(getattr(error, "orig", None) or error)
    text = (text or str(error)).strip()
    for said, meant in _KNOWN.items():
        if said in text.lower():
            return meant
    return text.splitlines()[0] if text else type(error).__name__
