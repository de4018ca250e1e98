"""The trace `drops` contains every lost packet exactly once, with its port, flow, first byte of data and cause."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from longpipe import Result, Scenario, _core, simulate
from longpipe.verdicts.limits.causes import OF_CAUSE, OF_COUNTER, Limit

TRUNK = "switch1->switch2"
MSS = 1000


# Two outages of the trunk, which lose all packets that are sent during them.
OUTAGES: dict[str, Any] = {
    "network.return_path": {"kind": "moving"},
    "network.path": {
        "kind": "moving",
        "outages": {
            "intervals": [["100 ms", "150 ms"], ["300 ms", "400 ms"]],
            "arriving": "drop",
            "waiting": "drop",
            "in_service": "drop",
            "in_flight": "drop",
        },
    },
}


def transfer(**changes: object) -> Result:
    """Runs one transfer of 400 segments over a 10 Mbit/s trunk; it ends long before the run does.

    ACKs are sent immediately.
    """
    fields: dict[str, object] = {
        "duration": "60 s",
        "framing": "ip",
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "20 ms"},
        "tcp": {"recovery": "newreno", "mss": f"{MSS} B", "ack": {"kind": "immediate"}},
        "traffic": {"kind": "transfer", "size": f"{400 * MSS} B"},
        "switch.buffer": "1000 packets",
        "traces": {"drops": True, "sequence": True, "arrivals": True},
    }
    return simulate(Scenario(defaults="1996").with_(**{**fields, **changes}), seed=3)


def balance(result: Result) -> tuple[int, int]:
    """Returns the number of segments sent, and the number lost or individually acknowledged, if all ACKs arrive."""
    rows = result.traces["sequence"]
    lost = result.traces["drops"]["sequence_bytes"].notna().sum()
    return int((rows["event"] == 0).sum()), int(lost + (rows["event"] == 1).sum())


def test_injected_losses_are_the_listed_packets_of_the_trunk() -> None:
    lost = [5, 17, 40]
    changes = {"network.trunk_loss": {"kind": "packets", "indices": lost}, "tcp.initial_window": "50 segments"}
    result = transfer(**changes)
    drops = result.traces["drops"]
    # The first 50 packets of the trunk are the first 50 segments.
    assert list(drops["sequence_bytes"]) == [MSS * number for number in lost]
    assert set(drops["cause"]) == {"injected_loss"}
    assert list(drops.columns) == ["time_s", "port", "flow", "sequence_bytes", "cause"]
    assert set(drops["port"]) == {TRUNK}
    assert set(drops["flow"]) == {"flow1"}
    assert len(drops) == 3
    sent, accounted = balance(result)
    assert sent == accounted


PATHS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "overflow": ({"switch.buffer": "8 packets"}, {"overflow"}),
    "aqm": ({"switch.policy": "codel", "network.trunk_rate": "500 kbit/s"}, {"aqm"}),
    "bit errors": ({"network.trunk_loss": {"kind": "bit-errors", "rate": 3e-6}}, {"bit_error"}),
    "moving path": (
        {
            "network.path": {"kind": "moving", "rate": [["0 s", "10 Mbit/s"], ["200 ms", "1 Mbit/s"]]},
            "network.return_path": {"kind": "moving"},
            "network.trunk_loss": {"kind": "bernoulli", "probability": 0.01},
            "switch.buffer": "4 packets",
        },
        {"overflow", "injected_loss"},
    ),
    "outages": (
        OUTAGES,
        {"outage"},
    ),
    "cells that overflow": ({"framing": "aal5", "switch.buffer": "60 cells"}, {"overflow", "partial_frame"}),
    "cells and PPD": (
        {"framing": "aal5", "switch.buffer": "60 cells", "switch.policy": "partial-packet-discard"},
        {"overflow", "partial_frame"},
    ),
    "cells and EPD": (
        {"framing": "aal5", "switch.buffer": "200 cells", "switch.policy": "epd"},
        {"aqm"},
    ),
    "cells with bit errors": (
        {"framing": "aal5", "network.trunk_loss": {"kind": "bit-errors", "rate": 3e-6}},
        {"bit_error"},
    ),
    "cells and injected loss": (
        {"framing": "aal5", "network.trunk_loss": {"kind": "bernoulli", "probability": 0.02}},
        {"injected_loss"},
    ),
    "cells and outages": (
        {"framing": "aal5", **OUTAGES},
        {"outage", "partial_frame"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("engine", ["trains", "reference"])
def test_each_segment_that_is_sent_is_acknowledged_or_lost_once(path: str, engine: str) -> None:
    changes, causes = PATHS[path]
    result = transfer(**changes, engine=engine)
    assert result.flows["completion_s"].notna().all()
    drops = result.traces["drops"]
    assert set(drops["cause"]) <= causes
    assert sorted(causes - {"partial_frame"}) == sorted(set(drops["cause"]) - {"partial_frame"})
    sent, accounted = balance(result)
    assert sent == accounted
    assert drops["time_s"].is_monotonic_increasing


def test_recording_drops_of_cells_does_not_change_the_run() -> None:
    changes = PATHS["cells that overflow"][0]
    plain = transfer(**changes, traces={"drops": False})
    assert transfer(**changes).state_hash == plain.state_hash


def test_ack_filter_and_acks_have_no_sequence() -> None:
    result = transfer(
        **{
            "network.return_rate": "100 kbit/s",
            "switch.policy": "ack-filter",
        }
    )
    drops = result.traces["drops"]
    filtered = drops[drops["cause"] == "ack_filter"]
    assert len(filtered) > 0
    assert filtered["sequence_bytes"].isna().all()


@pytest.mark.parametrize("flow_limit", [1, 7, 30])
@pytest.mark.parametrize("room", [5, 30, 200])
def test_fq_drops_for_the_flow_limit_unless_the_buffer_is_full(flow_limit: int, room: int) -> None:
    """Linux tests `limit` before `flow_limit`, and counts drops by the latter as `flows_plimit` (sch_fq.c)."""
    queue = {"switch.buffer": f"{room} packets", "switch.policy": {"kind": "fq", "flow_limit": flow_limit}}
    result = transfer(**queue)
    causes = result.traces["drops"]["cause"].astype(str).value_counts().to_dict()
    # A packet in transmission is in the buffer, but not in the queue of its flow.
    assert set(causes) == {"flow_limit" if flow_limit + 1 < room else "overflow"}
    assert sum(causes.values()) == result.ports["packets_lost_overflow"].sum()


def test_remedy_for_drops_by_the_flow_limit_raises_it() -> None:
    scenario = Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "duration": "20 s",
            "network.sources": 1,
            "network.trunk_rate": "50 Mbit/s",
            "network.trunk_delay": "100 ms",
            "switch": {"buffer": "1000 packets", "policy": {"kind": "fq", "flow_limit": 10}},
            "tcp": {"profile": "linux-6", "receiver_window": "16 MB"},
        }
    )
    result = simulate(scenario)
    (limit,) = result.flow_limits
    assert (limit.limited_by, str(limit.remedy)) == ("buffer", "switch.policy.flow_limit = 320")
    assert limit.remedy is not None
    faster = simulate(limit.remedy.applied_to(scenario))
    assert faster.flows["delivered_bytes"][0] > 1.5 * result.flows["delivered_bytes"][0]


def test_documentation_has_the_core_s_table_of_causes() -> None:
    page = (Path(__file__).parents[1] / "docs" / "pictures.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", page.split("## Causes of losses")[1], re.MULTILINE)
    documented = [(name, re.findall("`(.*?)`", counters), limit, about) for name, about, counters, limit in rows]
    assert documented == _core.drop_causes()


def test_every_counter_of_losses_has_a_cause_and_a_limit() -> None:
    names = [name for table, columns in _core.result_tables() if table == "ports" for name, *_ in columns]
    endings = {ending for name in names for ending in re.findall("^(?:packets|cells|frames)_lost_(.*)$", name)}
    assert endings == OF_COUNTER.keys()
    assert set(OF_CAUSE.values()) <= set(get_args(Limit))
