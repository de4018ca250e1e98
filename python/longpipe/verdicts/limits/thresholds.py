"""Thresholds of the evidence for limits: shares of time, of a rate, of the RTT and of packets, and numbers of RTTs.

`tests/remedies.py` judges them: they were chosen with random scenarios, so that the named remedies raise the goodput.
"""

from typing import Final

# Busy share of a link at and above which the link limits a flow.
BUSY: Final = 0.9
# Busy share of a link at and above which a larger buffer in front of it gains little.
NEARLY_BUSY: Final = 0.8
# Busy share of a return link at and above which waiting ACKs explain timeouts and probes of the tail.
BUSY_RETURN: Final = 0.5
# Difference of two busy shares at and above which the larger one counts as larger.
CLEAR_DIFFERENCE: Final = 0.1

# The next four are rates of a flow as fractions of its equal share of the slowest link.
# Fraction at and above which the link limits the flow: losses and windows only keep it from exceeding its share.
FAIR_SHARE: Final = 0.75
# Fraction at and above which the link limits a flow that nothing else limits.
MOST_OF_SHARE: Final = 2 / 3
# Fraction at and above which a larger buffer, or tail drop, only distributes the link among its flows in another way.
# It is also the share of a window, a proxy's buffer, a policer's rate or the time that limits without other evidence.
HALF: Final = 0.5
# Fraction below which a policer may limit a flow although the link behind it is busy with other flows.
STARVED_SHARE: Final = 0.25

# Rate of the next link, as a multiple of that of the slowest one, at and above which its queue loses fewer packets.
MUCH_FASTER: Final = 1.5
# Rate of the next link, as this multiple, below which a faster link gains little.
MIN_HEADROOM: Final = 1.06
# Share of the rate of another link at and above which that link prevents a rise of the goodput by 5 %.
BOUND_RATIO: Final = 0.94

# Share of the RTT that packets wait in queues, below which a faster link shortens the RTT by little.
SHORT_QUEUE: Final = 0.05
# Share of the RTT that packets wait in queues, at and above which flows with random losses also wait for each other.
LONG_QUEUE: Final = 0.25

# Share of a window in flight at and above which it is full.
IN_USE: Final = 0.9
# Share of a window in flight at and above which the flow gains little without its losses, or without queues.
NEARLY_FULL: Final = 0.8
# Share of a proxy's buffer, which varies more, at and above which it is full.
PROXY_IN_USE: Final = 0.85
# Data in flight that a larger window allows, as a multiple of those that fill the slowest link.
BDP_AND_MORE: Final = 1.1
# Number of segments of a window that congestion control does not fall below without losses, or reaches at once.
SMALL_WINDOW: Final = 8
# Number of packets of a buffer that any burst fills.
TINY_BUFFER: Final = 2

# Share of lost datagrams at and above which the path limits their source.
LOST_DATAGRAMS: Final = 0.06
# Share of lost ACKs at and above which they explain window reductions that no loss of data explains.
LOST_ACKS: Final = 0.02
# Share of lost packets below which controls with a model of the path ignore the losses; BBRv3 tolerates 2 %.
TOLERATED: Final = 0.01

# Share of the time in outages at and above which they limit a flow.
OUTAGE_SHARE: Final = 0.1
# Share of the time in outages below which a link that is busy at all other times limits a flow.
SHORT_OUTAGES: Final = 0.25

# Number of RTTs in which no or few data have arrived.
FIRST_ROUND_TRIPS: Final = 5
# Number of RTTs, with full queues, in which data of a flow have arrived unless they were lost.
ARRIVED_ROUND_TRIPS: Final = 2
# Number of RTTs after which slow start has ended for any window.
SLOW_START_ROUND_TRIPS: Final = 40
# Segments per RTT, with full queues, below which a sender waits for a timeout: any window allows at least one.
SEGMENTS_PER_ROUND_TRIP: Final = 0.5
# Minimum RTO [ps] that the remedy for timeouts sets: that of RFC 6298.
PATIENT_PS: Final = 10**12
