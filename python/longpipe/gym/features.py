"""Measurements of agents in one step, from which observations and rewards are computed."""

from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from longpipe import _core

Array = NDArray[np.float64]
# Names of the measurements, and of these and the quantities that the core derives from them.
NAMES: Final = tuple(_core.Environments.features())
_ALL_NAMES: Final = (*NAMES, *_core.Environments.derived())


class Features:
    """Measurements of agents, each an array with one value per agent; times [s], sizes [byte], rates [bit/s].

    `now`, `duration`, `acks`, `acked`, `delivered`, `lost`, `marked` and `sent` are values of the step, and so are
    `send_rate`, `delivery_rate` (sent and delivered bytes over the duration) and `loss_rate` (lost bytes as a share
    of lost and delivered bytes); `receive_rate` is PCC-RL's delivery rate, which excludes one packet of the step.
    `rtt` is the mean RTT of the step, `lowest_rtt` its smallest one, `rtt_increase` the mean of the later half of
    its RTT samples minus that of the earlier half; without a sample they are 0. RTT samples are those of the
    retransmission timer, from which `srtt` is computed and which the trace `rtt` contains; they include the
    receiver's delay of the ACK. `srtt`, `min_rtt`, `in_flight`, `window`, `rate` and `mss` are values of the
    connection. `min_rtt` is the minimum over the last segment that each ACK reports, without the handshake, as in
    `ack.min_rtt` of a congestion control. Of `window` and `rate`, the action sets one; the other one corresponds to
    it at `srtt`: the rate is 8 window / srtt. `lowest_mean_rtt` and `highest_delivery_rate` are extremes over the
    steps of the episode.
    """

    now: Array
    duration: Array
    acks: Array
    acked: Array
    delivered: Array
    lost: Array
    marked: Array
    sent: Array
    rtt: Array
    lowest_rtt: Array
    rtt_increase: Array
    srtt: Array
    min_rtt: Array
    in_flight: Array
    window: Array
    rate: Array
    mss: Array
    send_rate: Array
    delivery_rate: Array
    receive_rate: Array
    loss_rate: Array
    lowest_mean_rtt: Array
    highest_delivery_rate: Array

    def __init__(self, measured: Array, lowest_mean_rtt: Array, highest_delivery_rate: Array) -> None:
        """Takes rows of measurements in the order of NAMES, and the extremes, which this step updates."""
        columns = _core.Environments.extend(measured, lowest_mean_rtt, highest_delivery_rate)
        vars(self).update(zip(_ALL_NAMES, columns, strict=True))


def blank(count: int) -> Features:
    """Returns the measurements as they are before the first step."""
    return Features(np.zeros((count, len(NAMES))), np.full(count, np.inf), np.zeros(count))


def has_nan(values: Array) -> bool:
    """Returns whether any value is nan, in which case the sum of squares is nan, too; `np.isnan` takes longer."""
    return isnan(np.vdot(values, values))


def ratio(dividend: Array, divisor: Array, otherwise: float | Array) -> Array:
    """Returns quotients, and `otherwise` where the divisor is 0."""
    quotients = np.empty(dividend.shape)
    quotients[...] = otherwise
    return np.divide(dividend, divisor, out=quotients, where=divisor != 0)
