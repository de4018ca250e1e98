"""Runs one work in longpipe; prints delivered packets, and user CPU and peak memory at three times.

Arguments: mode, JSON of the work. A work that takes less than half a CPU second, or LONGPIPE_LEAST_S, is repeated until
this time has passed, and the mean is used.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from simulators import IDLE_BEAM
from works import STARTS_S, Work

from longpipe import Scenario, simulate

MIN_S = float(os.environ.get("LONGPIPE_LEAST_S", "0.5"))
CLASSIC: dict[str, Any] = {
    "recovery": "sack",
    "timer": {"kind": "fine", "granularity": "10 ms", "min_rto": "200 ms", "initial_rto": "1 s"},
}
LINUX: dict[str, Any] = {"profile": "linux-6", "congestion": "cubic"}
TWO_WAY: Final = "two-way cubic"
WIFI: Final = "wi-fi with 10 stations"
CELLULAR: Final = "cellular with 10 users"
DOCSIS: Final = "docsis with 10 modems"
DAMA: Final = "dama with 10 terminals"
# Links from sources to their router that share a medium.
SHARED: dict[str, dict[str, Any]] = {
    WIFI: {
        "access": {"kind": "wifi", "cell": "channel"},
        "return_access": {"kind": "wifi", "cell": "channel"},
    },
    CELLULAR: {
        "access": {"kind": "cellular", "cell": "cell", "direction": "up"},
        "return_access": {"kind": "cellular", "cell": "cell", "direction": "down"},
    },
    DOCSIS: {"access": {"kind": "docsis", "cell": "channel"}, "rate": "100 Mbit/s", "return_rate": "1 Gbit/s"},
    DAMA: {
        "access": {"kind": "dvb-rcs2", "waveform": 22, "cell": "beam", "carriers": 10},
        "rate": "2348 kbit/s",
        "return_rate": "100 Mbit/s",
        "delay": "270 ms",
    },
}
# Policies of the trunk's queue, and senders, that differ from the defaults.
POLICIES: dict[str, Any] = {
    "cells": "epd",
    "step-marking": {"kind": "step-marking", "threshold": 20},
    **{name: name for name in ("red", "pie", "codel", "fq-codel")},
    "cubic over fq-codel": "fq-codel",
    "prague over dualpi2": "dualpi2",
}
SENDERS: dict[str, dict[str, Any]] = {
    "step-marking": {**CLASSIC, "ecn": "classic"},
    **{name: {**LINUX, "congestion": name} for name in ("cubic", "bbr")},
    **dict.fromkeys(("cubic over fq-codel", "cubic through a proxy", TWO_WAY, "arriving short flows"), LINUX),
    "paced cubic over hosts' fq": {**LINUX, "pacing": True},
    "prague over dualpi2": {**LINUX, "congestion": "prague", "ecn": {"kind": "accurate", "ect": 1}},
}
# Additional fields of the network.
NETWORKS: dict[str, dict[str, Any]] = {
    "cubic through a proxy": {"pep": {"at": "switch1", "buffer": "4 MB"}},
    "paced cubic over hosts' fq": {"host_policy": "fq", "host_buffer": "1000 packets", "send_jitter": "0 s"},
}
# Traffic of each flow other than greedy; together, the flows offer nine tenths of the trunk's rate.
TRAFFIC: dict[str, Any] = {
    "arriving short flows": {"kind": "flow-arrivals", "load": 0.06, "sizes": {"kind": "fixed", "size": "30 KB"}},
}
# Paths of the trunk that replace its constant rate.
PATHS: dict[str, Any] = {
    "varying rate": {"rate": [["0 s", "40 Mbit/s"], ["100 ms", "50 Mbit/s"]], "rate_cycle": "200 ms"},
}
Done = TypeVar("Done")


def scenario(work: Work, mode: str) -> Scenario:
    """Returns the work as a scenario of IP packets, with the queue, control or path of the mode, or of ATM cells.

    ATM cells use Early Packet Discard, which drops whole packets as a router does.
    """
    switch: dict[str, Any] = {"buffer": f"{work.buffer_packets} packets"}
    if mode in POLICIES:
        switch["policy"] = POLICIES[mode]
    fields: dict[str, Any] = {
        "name": work.name or "scaling",
        "duration": f"{round(work.duration_s * 1e12)} ps",
        "framing": "aal5" if mode == "cells" else "ip",
        "network": _network(work, mode),
        "switch": switch,
        "tcp": {
            "mss": f"{work.mss_bytes} B",
            "receiver_window": f"{work.window_packets * work.mss_bytes} B",
            **SENDERS.get(mode, CLASSIC),
        },
        "start": {"kind": "staggered", "interval": f"{round(STARTS_S * 1e12) // work.flows} ps"},
    }
    if mode in PATHS:
        fields["network"]["path"] = PATHS[mode]
    if mode in TRAFFIC:
        fields["traffic"] = TRAFFIC[mode]
    return Scenario(defaults="1996", **fields)


def idle_beam() -> Scenario:
    """Returns an hour of a beam with 500 terminals, each of which sends a packet at the beginning."""
    network = {
        "kind": "dumbbell",
        "sources": 500,
        "exit_rate": "100 Mbit/s",
        "exit_delay": "270 ms",
        "exit_return_rate": "2348 kbit/s",
        "exit_return_access": SHARED[DAMA]["access"],
    }
    sent = {"kind": "transfer", "size": "1 KB"}
    return Scenario(
        defaults="1996",
        framing="ip",
        duration="3600 s",
        network=network,
        traffic=sent,
        switch={"buffer": "100 packets"},
    )


def _network(work: Work, mode: str) -> dict[str, Any]:
    if mode in SHARED or mode == TWO_WAY or work.host_pairs != work.flows:
        return _pairs(work, mode)
    return {**_dumbbell(work), **NETWORKS.get(mode, {})}


def _dumbbell(work: Work) -> dict[str, Any]:
    return {
        "kind": "dumbbell",
        "sources": work.flows,
        "access_rate": f"{work.access_bps} bit/s",
        "trunk_rate": f"{work.trunk_bps} bit/s",
        "access_delay": "0 s",
        "trunk_delay": _delay(work),
        "exit_delay": "0 s",
    }


def _pairs(work: Work, mode: str) -> dict[str, Any]:
    access: dict[str, Any] = {"rate": f"{work.access_bps} bit/s", "delay": "0 s"}
    to_router = {"rate": "143.4 Mbit/s", "delay": "0 s", **SHARED[mode]} if mode in SHARED else access
    nodes: list[dict[str, Any]] = [{"name": name, "kind": "switch"} for name in ("switch1", "switch2")]
    links = [{"between": ["switch1", "switch2"], "rate": f"{work.trunk_bps} bit/s", "delay": _delay(work)}]
    for pair in range(work.host_pairs):
        nodes += [{"name": f"{side}{pair}", "kind": "host"} for side in ("source", "sink")]
        links += [
            {"between": [f"source{pair}", "switch1"], **to_router},
            {"between": ["switch2", f"sink{pair}"], **access},
        ]
    used = (flow % work.host_pairs for flow in range(work.flows))
    flows = [{"name": f"flow{flow}", "from": f"source{pair}", "to": f"sink{pair}"} for flow, pair in enumerate(used)]
    if mode == TWO_WAY:
        flows[1::2] = [{**flow, "from": flow["to"], "to": flow["from"]} for flow in flows[1::2]]
    return {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}


def _delay(work: Work) -> str:
    return f"{round(work.delay_s * 1e12)} ps"


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _timed(do: Callable[[], Done]) -> tuple[Done, float]:
    began, times = _user_s(), 0
    while True:
        done, times = do(), times + 1
        if (passed := _user_s() - began) >= MIN_S:
            return done, passed / times


def main() -> None:
    """Runs the work."""
    mode, work = sys.argv[1], Work(**json.loads(sys.argv[2]))

    def described() -> Scenario:
        return idle_beam() if mode == IDLE_BEAM else scenario(work, mode)

    loaded_s, loaded_bytes = _user_s(), _peak_bytes()
    result, whole_s = _timed(lambda: simulate(described()))
    peak_bytes = _peak_bytes()
    # This run measures only the time to build and destroy the network, but flows must start before the end.
    empty = described().with_(start={"kind": "fixed"}, duration="1 us")
    _, read_s = _timed(described)
    _, laid_s = _timed(lambda: simulate(empty))
    delivered = int((result.flows["delivered_bytes"] // work.mss_bytes).sum())
    ready_s = loaded_s + read_s + laid_s
    print(delivered, loaded_s, loaded_bytes, ready_s, peak_bytes, loaded_s + whole_s, peak_bytes)  # noqa: T201


if __name__ == "__main__":
    main()
