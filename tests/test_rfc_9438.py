"""RFC 9438, Tables 1 and 2: mean windows where a share of the segments is lost, of whole connections."""

from typing import Any

import pytest

from longpipe import Scenario, simulate

MSS = 1000
# Round trip [ms], control, and the mean window [segments] at a loss in 1000, 10 000 and 100 000.
TABLES = [
    (100, "aimd", (38, 120, 379)),
    (100, "highspeed", (38, 263, 1795)),
    (100, "cubic", (38, 187, 1054)),
    (10, "aimd", (38, 120, 379)),
    (10, "cubic", (38, 120, 379)),
]
LOSSES = {1_000: 200, 10_000: 50, 100_000: 25}


def mean_window(control: str, round_trip_ms: int, period: int, expected: int) -> float:
    """Segments delivered in a round trip, while one in `period` is lost and nothing queues."""
    options: dict[str, dict[str, Any]] = {
        "cubic": {"rules": "rfc-9438", "hystart": "none", "fast_convergence": False},
        "highspeed": {"rules": "rfc-3649"},
    }
    losses = LOSSES[period]
    # The first one falls where slow start ends, at the window that such a mean has at a loss.
    at_loss = 1.08 * expected
    begins = int(2.1 * at_loss)
    seconds = round(1.2 * losses * period / expected * round_trip_ms / 1000, 3)
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": f"{seconds} s",
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Tbit/s",
            "trunk_rate": "100 Gbit/s",
            "access_delay": "0 s",
            "exit_delay": "0 s",
            "trunk_delay": f"{round_trip_ms / 2} ms",
            "trunk_loss": {"kind": "packets", "indices": [begins + period * loss for loss in range(3 * losses)]},
        },
        "switch": {"buffer": "1000000 packets"},
        "tcp": {
            "profile": "linux-6",
            "congestion": {"kind": control, **options.get(control, {})},
            "mss": f"{MSS} B",
            "receiver_window": "1 GiB",
            "initial_ssthresh": f"{int(at_loss * MSS)} B",
            "ack": "immediate",
        },
    }
    result = simulate(Scenario(**fields), 1)
    assert result.flows["timeouts"].sum() == 0
    return float(result.flows["throughput_bps"].sum()) / 8 / MSS * round_trip_ms / 1000


@pytest.mark.parametrize(("round_trip_ms", "control", "windows"), TABLES)
def test_rfc_9438_section_5_1_windows_at_a_share_of_segments_lost(
    round_trip_ms: int, control: str, windows: tuple[int, ...]
) -> None:
    for period, expected in zip((1_000, 10_000, 100_000), windows, strict=True):
        assert mean_window(control, round_trip_ms, period, expected) == pytest.approx(expected, rel=0.05)
