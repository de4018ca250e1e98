"""Time from a tick of the guest's clock (every 10 ms) to the first segment of a case.

Linux's timers and the clocks of CUBIC, BIC, H-TCP and Westwood count ticks. On paths with few losses, results depend on
this time: on one path, Westwood's goodput varies by up to 13 %. Because the guest runs in virtual time, all waits
before a case are known.
"""

from collections.abc import Sequence
from typing import Final

from longpipe_evidence.validate.linux import LinuxCase, seconds
from longpipe_evidence.validate.linux_disciplines import TICK_PS
from longpipe_evidence.validate.linux_guest.load import IDLE_ROUND_TRIPS, IDLE_S

# Time from a tick to the first connection after a start of the guest, measured by the times at which the timers of
# delayed ACKs expire: 0.46 to 0.55 ms in three starts. All further work of the guest takes microseconds. The clock
# CLOCK_MONOTONIC_COARSE does not show the ticks of timers: it falls behind them by 0.8 ms per minute. The half of
# a microsecond stands for the unknown phase within a microsecond.
FIRST_S: Final = 0.5005e-3


def after(cases: Sequence[LinuxCase]) -> float:
    """Returns the time [s] from a tick to the first segment of the last of several cases in one start of the guest."""
    total_s = FIRST_S
    for number, case in enumerate(cases):
        round_trips = len(case.flows) + IDLE_ROUND_TRIPS
        total_s += IDLE_S + round_trips * seconds(case.round_trip)
        if number < len(cases) - 1:
            total_s += seconds(case.duration)
    return total_s % (TICK_PS / 1e12)
