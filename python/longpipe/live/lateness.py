"""The limit of lateness that users state: a time, or a share of the packets within a time."""

import re
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.units import TIME

_QUANTILE: Final = re.compile(r"(?P<percent>\d*\.?\d+) ?% +within +(?P<time>.+)")


def lateness_limit(name: str, text: str) -> tuple[float, float]:
    """Returns the limit of lateness [s], and the share of the packets that may be later.

    `name` is that of the option or parameter. Raises ScenarioError unless the text is as "1 ms" or
    "99.9 % within 1 ms".
    """
    match = _QUANTILE.fullmatch(text.strip())
    if match is None:
        return seconds(name, text), 0.0
    percent = float(match["percent"])
    if not 0 < percent <= 100:
        raise ScenarioError(f"{name}: {text!r}; needs a percentage above 0 and at most 100, as in '99.9 % within 1 ms'")
    return seconds(name, match["time"]), round(1 - percent / 100, 12)


def seconds(name: str, text: str) -> float:
    """Returns the time [s] that a text states; raises ScenarioError, which begins with `name`, for any other text."""
    try:
        return TIME.parse(text) / 1e12
    except ValueError as error:
        raise ScenarioError(f"{name}: {error}") from None
