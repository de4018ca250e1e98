"""The trace `flight`: bytes in flight, and the limit of a sender."""

from typing import Any

import pandas as pd

from longpipe import Scenario, simulate

MSS = 1000
# A 10 Mbit/s path with an RTT of 40 ms holds 50 kB.
PATH = Scenario(defaults="1996", duration="3 s", framing="ip").with_(
    **{
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "100 Mbit/s",
            "trunk_rate": "10 Mbit/s",
            "trunk_delay": "20 ms",
            "access_delay": "0 s",
            "exit_delay": "0 s",
        },
        "switch.buffer": "100 packets",
        "tcp.mss": f"{MSS} B",
        "traces.flight": True,
    }
)


def flight(**changes: Any) -> pd.DataFrame:  # noqa: ANN401 - values of any fields
    return simulate(PATH.with_(**changes), 1).traces["flight"]


def last(rows: pd.DataFrame) -> tuple[float, str]:
    """Returns the bytes in flight and the limit at the end of a run."""
    row = rows.iloc[-1]
    return row["in_flight_bytes"], row["limited_by"]


def test_a_receiver_window_below_the_pipe_stays_in_flight() -> None:
    rows = flight(**{"tcp.receiver_window": f"{20 * MSS} B"})
    assert last(rows) == (20 * MSS, "receiver-window")
    # In slow start the congestion window is the limit.
    assert rows["limited_by"].iloc[0] == "cwnd"
    assert rows["in_flight_bytes"].max() == 20 * MSS


def test_application_limits_after_the_end_of_a_file() -> None:
    rows = flight(traffic={"kind": "transfer", "size": f"{30 * MSS} B"})
    assert last(rows) == (0, "application")


def test_paced_sender_waits_for_pacer_and_greedy_for_window() -> None:
    paced = flight(**{"tcp.profile": "linux-6", "tcp.congestion": "bbr", "tcp.receiver_window": "1 MB"})
    assert paced.loc[paced["time_s"] > 1, "limited_by"].isin(["pacing", "cwnd"]).all()
    assert (paced["limited_by"] == "pacing").mean() > 0.3
    greedy = flight(**{"tcp.receiver_window": "1 MB"})
    assert set(greedy["limited_by"].astype(str)) == {"cwnd"}


def test_bytes_in_flight_follow_the_segments_and_acks_of_the_sequence_trace() -> None:
    result = simulate(PATH.with_(**{"traces.sequence": True, "tcp.receiver_window": "100 kB", "duration": "1 s"}), 1)
    assert result.flows["retransmitted_segments"].sum() == 0
    rows, sequence = result.traces["flight"], result.traces["sequence"]
    sent = sequence[sequence["event"] == 0]
    acked = sequence[sequence["event"] == 1]
    for time_s in (0.2, 0.5, 0.9):
        until = sent.loc[sent["time_s"] <= time_s]
        una = acked.loc[acked["time_s"] <= time_s, "sequence_bytes"].max()
        expected = (until["sequence_bytes"] + until["length_bytes"]).max() - una
        assert rows.loc[rows["time_s"] <= time_s, "in_flight_bytes"].iloc[-1] == expected
