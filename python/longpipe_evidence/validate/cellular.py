"""Runs of cellular access whose results are closed forms: first packets, HARQ, and fairness over fading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from longpipe import Scenario, simulate
from longpipe_evidence.validate.estimates import Estimate

HEADER_BYTES: Final = 28
# Datagrams that the grant for a request carries, and that need a second grant, with headers [byte].
SHORT_BYTES: Final = 400
LONG_BYTES: Final = 1400
# Interval [s] of first packets: a request is over before the next one, and their phases within a period differ.
FIRST_INTERVAL_S: Final = 0.20037
# Intervals [s] of datagrams that meet no other one, and of those of which each transmission slot has one.
SPARSE_S: Final = 0.1
DENSE_S: Final = 0.001
RUNS: Final = 10
RATE_MBPS: Final = 10
# Proportional fairness: mean rates over this time, after which users are compared.
MEMORY_S: Final = 2
# Load of each user, relative to the rate that it should get.
OVERLOAD: Final = 1.3

# Conditions of a row of `tests/data/access/delays.csv`, by name.
Conditions = Mapping[str, str]


def first_packet(conditions: Conditions, packets: int) -> Estimate:
    """Returns the mean delay [ms] of uplink datagrams that find an idle user of NR."""
    reports = conditions.get("buffer-status") == "yes"
    period = conditions["sr-period"]
    access = {"kind": "cellular", "request_period": f"{period} ms", "block_error": 0}
    scenario = _datagrams(access, LONG_BYTES if reports else SHORT_BYTES, FIRST_INTERVAL_S, max(400, packets // 10))
    name = f"NR, request period {period} ms{', two grants' if reports else ''}: ms"
    return Estimate(name, 1e3 * _mean_delay_s(scenario, 1))


def harq(conditions: Conditions, packets: int) -> Estimate:
    """Returns the mean delay [ms] that retransmissions add."""
    access = {
        "kind": "cellular",
        "preset": "lte",
        "direction": "down",
        "harq_processes": 32,
        "processing_slots": int(conditions["rtt"]) - 4,
    }
    in_order = "order" in conditions
    interval_s = DENSE_S if in_order else SPARSE_S
    errors = 0.0, float(conditions["bler"])
    without, with_errors = (_datagrams(access | {"block_error": error}, 40, interval_s, packets) for error in errors)
    constant_s = _mean_delay_s(without, 1)
    added_ms = [1e3 * (_mean_delay_s(with_errors, seed) - constant_s) for seed in range(1, RUNS + 1)]
    order = ", in order" if in_order else ""
    name = f"HARQ, errors {conditions['bler']}, round trip {conditions['rtt']} ms{order}: ms added"
    return Estimate.of_runs(name, added_ms)


def proportional_fair(conditions: Conditions, packets: int) -> Estimate:
    """Returns the throughput of users over Rayleigh fading, relative to that of one without fading."""
    users = int(conditions["users"])
    duration_s = max(20, packets // 500)
    alone = _served_bps(1, None, duration_s)
    return Estimate(f"proportional fairness, {users} users: gain", _served_bps(users, "1 ms", duration_s) / alone)


def _served_bps(users: int, fading: str | None, duration_s: int) -> float:
    """Returns the rate [bit/s] at which a cell serves users that always have data, after mean rates are known."""
    access = {
        "kind": "cellular",
        "cell": "cell",
        "preset": "lte",
        "direction": "down",
        "block_error": 0,
        "fairness_time": f"{MEMORY_S} s",
    } | ({} if fading is None else {"fading": fading})
    share = sum(1 / k for k in range(1, users + 1)) / users
    names = [f"user{i}" for i in range(users)]
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": "host"} for name in ("server", *names)] + [{"name": "enb", "kind": "switch"}],
        "links": [{"between": ["server", "enb"], "rate": "10 Gbit/s", "delay": "0 s"}]
        + [
            {"between": ["enb", name], "rate": f"{RATE_MBPS} Mbit/s", "delay": "0 s", "access": access}
            for name in names
        ],
        "flows": [{"name": name, "from": "server", "to": name} for name in names],
    }
    result = simulate(
        Scenario.model_validate(
            {
                "defaults": "1996",
                "framing": "ip",
                "duration": f"{duration_s + 5 * MEMORY_S} s",
                "warm_up": f"{5 * MEMORY_S} s",
                "network": network,
                "traffic": {
                    "kind": "cbr",
                    "rate": f"{round(1e6 * OVERLOAD * share * RATE_MBPS)} bit/s",
                    "payload": "1172 B",
                },
                "switch": {"buffer": "200 packets"},
            }
        )
    )
    return float(result.datagrams["received"].sum()) / duration_s


def _datagrams(access: Mapping[str, Any], size_bytes: int, interval_s: float, packets: int) -> Scenario:
    """Returns a scenario of datagrams of a size with headers, one per interval, over a link with medium access."""
    network = {
        "kind": "dumbbell",
        "sources": 1,
        "access_rate": "10 Gbit/s",
        "access_delay": "0 s",
        "trunk_rate": f"{RATE_MBPS} Mbit/s",
        "trunk_delay": "0 s",
        "access": dict(access),
    }
    rate = f"{round(8 * size_bytes / interval_s)} bit/s"
    traffic = {"kind": "cbr", "rate": rate, "payload": f"{size_bytes - HEADER_BYTES} B"}
    return Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": f"{packets * interval_s} s",
            "network": network,
            "traffic": traffic,
            "switch": {"buffer": "1000 packets"},
        }
    )


def _mean_delay_s(scenario: Scenario, seed: int) -> float:
    return float(simulate(scenario, seed=seed).datagrams.iloc[0]["mean_delay_s"])


# Comparison of each quantity of `tests/data/access/delays.csv`.
QUANTITIES: Final[Mapping[str, Callable[[Conditions, int], Estimate]]] = {
    "LTE or NR first packet ms": first_packet,
    "NR first packet ms": first_packet,
    "HARQ mean added ms": harq,
    "proportional fair gain": proportional_fair,
}
