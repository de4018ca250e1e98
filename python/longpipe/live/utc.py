"""Starlink paths on the wall clock: their slots begin at the seconds of UTC at which those of the satellites do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError
from longpipe.scenario.starlink_paths import has_starlink, with_starlink

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

# Least time [s] from reading the clock to the start of the path, in which the hosts are prepared.
HEAD_S: Final = 3.0
# Time [s] by which the path may begin late without a line about it.
_LATE_S: Final = 0.05


def at_present(scenario: Scenario) -> tuple[Scenario, float]:
    """Returns the scenario with Starlink paths that begin at a whole second soon, and that Unix time [s].

    Raises ScenarioError if it has no Starlink path.
    """
    if not has_starlink(scenario):
        raise ScenarioError("--clock: utc; needs a path of kind starlink, whose slots are those of UTC")
    begin_s = float(math.ceil(time.time() + HEAD_S))
    begin = f"{datetime.fromtimestamp(begin_s, UTC):%Y-%m-%dT%H:%M:%S}"
    return with_starlink(scenario, lambda path: path.model_copy(update={"begin": begin})), begin_s


def wait_until(begin_s: float | None, tell: Callable[[str], None]) -> None:
    """Sleeps until a Unix time [s]; tells how late it is if that has passed. Returns at once without a time."""
    if begin_s is None:
        return
    left_s = begin_s - time.time()
    if left_s > 0:
        time.sleep(left_s)
    elif -left_s > _LATE_S:
        tell(f"slots of the path are {-left_s:.2f} s behind UTC, because preparing the hosts took longer than usual")
