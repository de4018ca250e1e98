"""Measurements of agents in one step, from which observations and rewards are computed."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from longpipe import _core

Array = NDArray[np.float64]
NAMES: Final = tuple(_core.Environments.features())
_SENT_AND_DELIVERED: Final = [NAMES.index("sent"), NAMES.index("delivered")]


class Features:
    """Measurements of agents, each an array with one value per agent; times [s], sizes [byte], rates [bit/s].

    `now`, `duration`, `acks`, `acked`, `delivered`, `lost`, `marked` and `sent` are values of the step, and so are
    `send_rate`, `delivery_rate` (sent and delivered bytes over the duration) and `loss_rate` (lost bytes as a share of
    lost and delivered bytes). `rtt` is the mean RTT of the step, `lowest_rtt` its smallest one, `rtt_increase` the mean
    of the later half of its RTT samples minus that of the earlier half; without a sample they are 0. RTT samples are
    those of the retransmission timer, from which `srtt` is computed and which the trace `rtt` contains; they include
    the receiver's delay of the ACK. `srtt`, `min_rtt`, `in_flight`, `window`, `rate` and `mss` are values of the
    connection. `min_rtt` is the minimum over the last segment that each ACK reports, without the handshake, as in
    `ack.min_rtt` of a congestion control. Of `window` and `rate`, the action sets one; the other one corresponds to it
    at `srtt`: the rate is 8 window / srtt. `lowest_mean_rtt` and `highest_delivery_rate` are extremes over the steps of
    the episode.
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
    lowest_mean_rtt: Array
    highest_delivery_rate: Array

    def __init__(self, measured: Array, lowest_mean_rtt: Array, highest_delivery_rate: Array) -> None:
        """Takes rows of measurements in the order of NAMES, and the extremes, which this step updates."""
        columns = measured.T.copy()
        columns[np.isnan(columns)] = 0.0
        vars(self).update(zip(NAMES, columns, strict=True))
        self.send_rate, self.delivery_rate = ratio(8 * columns[_SENT_AND_DELIVERED], self.duration, 0.0)
        self.loss_rate = ratio(self.lost, self.lost + self.delivered, 0.0)
        has_rtt = self.rtt > 0
        np.minimum(lowest_mean_rtt, self.rtt, out=lowest_mean_rtt, where=has_rtt)
        np.maximum(highest_delivery_rate, self.delivery_rate, out=highest_delivery_rate)
        self.lowest_mean_rtt = np.where(np.isfinite(lowest_mean_rtt), lowest_mean_rtt, 0.0)
        self.highest_delivery_rate = highest_delivery_rate.copy()

    @cached_property
    def receive_rate(self) -> Array:
        """PCC-RL's delivery rate [bit/s], which excludes one packet of the step."""
        return ratio(8 * (self.delivered - self.mss), self.duration, 0.0)


def blank(count: int) -> Features:
    """Returns the measurements as they are before the first step."""
    return Features(np.zeros((count, len(NAMES))), np.full(count, np.inf), np.zeros(count))


def ratio(dividend: Array, divisor: Array, otherwise: float | Array) -> Array:
    """Returns quotients, and `otherwise` where the divisor is 0."""
    quotients = np.empty(dividend.shape)
    quotients[...] = otherwise
    return np.divide(dividend, divisor, out=quotients, where=divisor != 0)
