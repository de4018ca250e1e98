"""A connection over an idle path behaves the same whenever it starts.

Linux initializes a control when the connection is established (`bbr_init` sets `min_rtt_stamp` to the current time), so
a control must not measure an age or an interval from the beginning of the run.
"""

from typing import Any, get_args

import pytest

from longpipe import Scenario, simulate
from longpipe.scenario.tcp import Tcp

CONTROLS = [
    kind.model_fields["kind"].default
    for kind in get_args(Tcp.model_fields["congestion"].annotation)
    if kind.__name__ not in ("Module", "Python")
]
# The controls that need a kind of ECN.
L4S = {"kind": "accurate", "ect": 1}
ECN: dict[str, Any] = {"dctcp": "dctcp", "prague": L4S, "udp-prague": L4S}
# Paths that drop packets or mark them, and connections that know no RTT when they start.
PATHS: dict[str, dict[str, Any]] = {
    "drops": {"switch.buffer": "20 packets", "tcp.profile": "linux-6"},
    "marks": {
        "switch": {"policy": "dualpi2", "buffer": "200 packets"},
        "tcp": {"profile": "linux-6", "ecn": "classic"},
    },
    "no handshake": {"switch.buffer": "20 packets", "tcp": {"profile": "linux-6", "handshake": False}},
}


def completion(congestion: str, path: str, start: int) -> tuple[float, ...]:
    """Returns the time that a transfer takes [s], and the numbers of transmissions, retransmissions and timeouts."""
    fields = {
        "framing": "ip",
        "duration": f"{start + 60} s",
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "50 ms"},
        "traffic": {"kind": "transfer", "size": "3 MB"},
        "start": {"kind": "fixed", "at": f"{start} s"},
        **PATHS[path],
        "tcp.congestion": congestion,
        **({"tcp.ecn": ECN[congestion]} if congestion in ECN else {}),
    }
    flow = simulate(Scenario(defaults="1996").with_(**fields), seed=3).flows.iloc[0]
    counts = flow["sent_segments"], flow["retransmitted_segments"], flow["timeouts"]
    return round(float(flow["completion_s"]) - start, 9), *map(int, counts)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("congestion", CONTROLS)
def test_results_do_not_depend_on_the_start_time(congestion: str, path: str) -> None:
    assert completion(congestion, path, 40) == completion(congestion, path, 0)
