"""Start of a run over satellites: a date and time in UTC, or for a shell also a time after the shell's epoch."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from longpipe.scenario.base import Checked, Conversion, Instant
from longpipe.units import TIME

_INSTANT: Final = next(one for one in Instant.__metadata__ if isinstance(one, Checked))  # type: ignore[attr-defined]


def _date_text(value: object) -> object:
    """Returns the text of a date, with or without a time, as TOML and Python have them; any other value unchanged."""
    return value.isoformat() if isinstance(value, date) else value


def _check(value: object) -> str:
    value = _date_text(value)
    if not isinstance(value, str) or _is_time(value):
        return str(_INSTANT.func(value))  # type: ignore[call-arg]
    # Imported here because importing the package of satellites takes long.
    from longpipe.satellites.epochs import instant_of_shell

    return instant_of_shell(value).replace(tzinfo=None).isoformat()


def begin_ps(begin: str) -> int:
    """Returns a valid start as a time [ps] after the epoch, which is negative before it."""
    if _is_time(begin):
        return TIME.parse(begin)
    from longpipe.satellites.epochs import after_epoch_ps, instant_of_shell

    return after_epoch_ps(instant_of_shell(begin))


def parse_begin_ps(text: str) -> int:
    """Returns the start that a text states as a time [ps] after the epoch. Raises ValueError for any other text."""
    return begin_ps(_check(text))


def _is_time(text: str) -> bool:
    try:
        TIME.parse(text)
    except ValueError:
        return False
    return True


UtcBegin = Annotated[str, Conversion(_date_text)]
ShellBegin = Annotated[str, Checked(_check, accepts=f"{_INSTANT.accepts}, or a date and time in UTC")]
