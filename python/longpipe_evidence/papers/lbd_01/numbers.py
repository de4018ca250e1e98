"""Every number that lbd-01 prints, compared with the simulated one."""

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd

from longpipe_evidence.papers.lbd_01.claims import utilization
from longpipe_evidence.papers.lbd_01.courses import Course
from longpipe_evidence.papers.lbd_01.transfers import W_STARS, Transfer, published

# Buffers: half a bandwidth-delay product in Figures 3 to 5 and Table 2, a quarter of the largest in Figure 6.
HALF: Final = 0.5
FIGURE_6: Final = {tcp: Transfer(640, 0.25, tcp) for tcp in ("reno", "newreno")}
WATCHED: Final = (
    *(Transfer(w_star, HALF, tcp) for tcp in ("reno", "sack", "newreno") for w_star in W_STARS),
    *FIGURE_6.values(),
)
# Maximum time from the first loss to the timeout of the first overflow; a later reduction is another one.
SECOND_FALL_S: Final = 0.9
SLOPES: Final = ("reno", "sack")

Courses = Mapping[Transfer, Course]


def slopes(courses: Courses) -> pd.DataFrame:
    """Returns Table 2: slope of T_N [1/s], a row per W* and a column per flavor."""
    values = {tcp: [courses[Transfer(w, HALF, tcp)].slope_per_s() for w in W_STARS] for tcp in SLOPES}
    return pd.DataFrame(values, index=pd.Index(W_STARS, name="w_star_packets"))


def numbers(runs: pd.DataFrame, courses: Courses) -> pd.DataFrame:
    """Returns the published numbers with `simulated` and with `error`, which is relative to the published number."""
    table_2 = slopes(courses)
    reno, newreno = (courses[transfer] for transfer in FIGURE_6.values())

    def run(row: pd.Series, column: str, tcp: str | None = None) -> float:
        chosen = (runs["tcp"] == (tcp or row["tcp"])) & (runs["w_star_packets"] == row["w_star_packets"])
        return float(runs.loc[chosen & (runs["buffer_bdp"] == row["buffer_bdp"]), column].iloc[0])

    def sent_again_s(number: int) -> float:
        return float(reno.sent.loc[reno.sent["again"], "s"].iloc[number])

    def gain(row: pd.Series) -> float:
        at_quarter = utilization(runs, row["tcp"], 0.25, row["w_star_packets"])
        return utilization(runs, row["tcp"], row["buffer_bdp"], row["w_star_packets"]) / at_quarter

    simulate: dict[str, Callable[[pd.Series], float]] = {
        "slope_tn": lambda row: float(table_2.loc[row["w_star_packets"], row["tcp"]]),
        "completion_time": lambda row: run(row, "completion_time_s"),
        "utilization_difference_reno_minus_newreno": lambda row: (
            run(row, "utilization", "reno") - run(row, "utilization", "newreno")
        ),
        # According to the paper's text, SACK has the lower value here.
        "utilization_difference_sack_reno": lambda row: (
            run(row, "utilization", "reno") - run(row, "utilization", "sack")
        ),
        "completion_time_difference_sack_reno": lambda row: (
            run(row, "completion_time_s", "sack") - run(row, "completion_time_s", "reno")
        ),
        "ssthresh_estimate": lambda _: newreno.estimate_packets,
        "slow_start_losses": lambda _: len(newreno.first_overflow),
        "first_loss_time": lambda _: float(newreno.first_overflow["s"].iloc[0]),
        "last_loss_time": lambda _: float(newreno.first_overflow["s"].iloc[-1]),
        "first_fast_retransmit_time": lambda _: sent_again_s(0),
        "second_fast_retransmit_time": lambda _: sent_again_s(1),
        "retransmission_timeout_time": lambda _: sent_again_s(2),
        "buffer_gain": gain,
        "completion_time_difference_newreno_reno": lambda row: (
            run(row, "completion_time_s", "newreno") - run(row, "completion_time_s", "reno")
        ),
        "recovery_duration": lambda row: courses[_of(row)].recovery_s,
        "recovered_time": lambda row: courses[_of(row)].recovered_s,
        "avoidance_time": lambda row: courses[_of(row)].avoidance_s()[0],
        "pipe_full_time": lambda row: courses[_of(row)].pipe_full_s,
        "second_loss_time": lambda row: courses[_of(row)].second_loss_s,
    }
    table = published().rename(columns={"value": "published"})
    table["simulated"] = [simulate[str(row["quantity"])](row) for _, row in table.iterrows()]
    table["error"] = table["simulated"] / table["published"] - 1
    return table


def _of(row: pd.Series) -> Transfer:
    """Returns the transfer to which a published number refers."""
    return Transfer(int(row["w_star_packets"]), float(row["buffer_bdp"]), str(row["tcp"]))


def falls_again(courses: Courses) -> pd.Series:
    """Returns the time of Reno's first reduction after the timeout of its first overflow, by W* [s]; B = W*/2."""
    times_s = {}
    for w_star in W_STARS:
        course = courses[Transfer(w_star, HALF, "reno")]
        later_falls_s = [s for s in course.reductions_s if s > float(course.lost["s"].iloc[0]) + SECOND_FALL_S]
        times_s[w_star] = later_falls_s[0]
    return pd.Series(times_s)


def stall(courses: Courses) -> float:
    """Returns NewReno's mean T_N between 1 and 11 s of Figure 6."""
    steps = courses[FIGURE_6["newreno"]].throughput()
    return float(steps.loc[steps["s"].between(1.0, 11.0), "throughput"].mean())


def gains(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns Figure 7: `gain`, mu divided by mu with B = W*/4, for each row of `runs`."""
    quarter = runs[runs["buffer_bdp"] == 0.25].set_index(["tcp", "w_star_packets"])["utilization"]
    keys = pd.MultiIndex.from_frame(runs[["tcp", "w_star_packets"]])
    table = runs[["tcp", "w_star_packets", "buffer_bdp"]].copy()
    table["gain"] = runs["utilization"].to_numpy() / quarter.reindex(keys).to_numpy()
    return table
