"""Time from a tick of the guest's clock (every 10 ms) to the first segment of a case.

Linux's timers and the clocks of CUBIC, BIC, H-TCP and Westwood count ticks. On paths with few losses, results depend on
this time: on one path, Westwood's goodput varies by up to 13 %. Because the guest runs in virtual time, all waits
before a case are known.
"""

from collections.abc import Sequence
from typing import Final

from longpipe.validate.linux import LinuxCase, seconds
from longpipe.validate.linux_disciplines import TICK_PS
from longpipe.validate.linux_guest.load import IDLE_ROUND_TRIPS, IDLE_S

# Time from a tick to the first connection after a start of the guest, measured as CLOCK_MONOTONIC minus
# CLOCK_MONOTONIC_COARSE. All further work of the guest takes microseconds.
FIRST_S: Final = 0.44e-3
# Relative excess of a tick's length: each timer is armed later than the previous one by one reading of the clock.
LATE: Final = 12.773e-6


def after(cases: Sequence[LinuxCase]) -> float:
    """Returns the time [s] from a tick to the first segment of the last of several cases in one start of the guest."""
    total_s = FIRST_S
    for number, case in enumerate(cases):
        round_trips = len(case.flows) + IDLE_ROUND_TRIPS
        total_s += IDLE_S + round_trips * seconds(case.round_trip)
        if number < len(cases) - 1:
            total_s += (1 - LATE) * seconds(case.duration)
    return total_s % (TICK_PS / 1e12)
