"""Active queue management: invalid settings, and observable behavior."""

import math
from pathlib import Path
from typing import Any, Final

import pytest

import pi_witness
from longpipe import Result, Scenario, ScenarioError, simulate
from pcap import needs_tshark, tshark

MBIT: Final = 10
PACKET_BITS: Final = 8 * 1500
TRUNK: Final = "switch1->switch2"
# A long path over routers whose buffers contain more than half a second of data.
LINK: Final = Scenario(defaults="1996", name="link", duration="30 s").with_(
    **{
        "framing": "ip",
        "network.sources": 4,
        "network.trunk_rate": f"{MBIT} Mbit/s",
        "network.access_rate": "1 Gbit/s",
        "network.trunk_delay": "20 ms",
        "network.access_delay": "0 s",
        "network.exit_delay": "0 s",
        "switch.buffer": "500 packets",
        "tcp.profile": "linux-6",
        "tcp.mss": "1448 B",
        "tcp.receiver_window": "auto",
    }
)
POLICIES: Final[dict[str, dict[str, Any]]] = {
    "red": {"kind": "red"},
    "red as in Linux": {"kind": "red", "gap": "drawn", "gentle": False},
    "adaptive red": {"kind": "red", "adaptive": True, "gap": "wait"},
    "red by bytes": {"kind": "red", "unit": "bytes", "min": 7500, "max": 22500},
    "pie": {"kind": "pie"},
    "pie by rate": {"kind": "pie", "delay": "departure-rate", "rules": "ns-3"},
    "pie by time": {"kind": "pie", "delay": "departure-time"},
    "blue": {"kind": "blue"},
    "avq": {"kind": "avq"},
    "pi": {"kind": "pi", "target": 10},
    "codel": {"kind": "codel"},
    "codel as in Linux": {"kind": "codel", "arithmetic": "linux"},
    "fq-codel": {"kind": "fq-codel"},
    "fq-codel as in Linux": {"kind": "fq-codel", "rules": "linux", "arithmetic": "linux", "queues": 1024},
    "fq-pie": {"kind": "fq-pie"},
}


def trunk(result: Result) -> dict[str, Any]:
    return {str(name): value for name, value in result.ports.set_index("port").loc[TRUNK].items()}


def mean_delay_ms(result: Result) -> float:
    return float(trunk(result)["mean_queue_packets"] * PACKET_BITS / (MBIT * 1e3))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"switch.policy": {"kind": "red", "min": 9, "max": 3}}, "switch.policy.max: 3; needs more than min, 9"),
        (
            {"switch.policy": {"kind": "red", "gap": "drawn"}},
            "switch.policy.gap: drawn; needs gentle = false and adaptive = false, as in Linux",
        ),
        (
            {"switch.policy": {"kind": "codel", "target": "200 ms"}},
            "switch.policy.interval: 100 ms; needs at least the target, 200 ms",
        ),
        (
            {"switch.policy": {"kind": "pi", "b": 0.001}},
            "switch.policy.b: 0.001; needs at most a, 1.822e-05",
        ),
        (
            {"switch.policy": {"kind": "fq-codel", "interval": "1 ms"}},
            "switch.policy.interval: 1 ms; needs at least the target, 5 ms",
        ),
        (
            {"tcp.congestion": "dctcp"},
            "tcp.ecn: off; needs dctcp or accurate for congestion = 'dctcp', which uses the share of marks",
        ),
        (
            {"tcp.congestion": "dctcp", "tcp.ecn": "classic"},
            "tcp.ecn: classic; needs dctcp or accurate for congestion = 'dctcp', which uses the share of marks",
        ),
    ],
    ids=str,
)
def test_invalid_queue_is_rejected_in_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        LINK.with_(**changes).resolve()
    assert list(error.value.problems) == [line]


@pytest.mark.parametrize("kind", ["pie", "blue", "codel", "fq-codel"])
def test_switches_of_cells_reject_queue_disciplines(kind: str) -> None:
    with pytest.raises(ScenarioError, match=f"^switch.policy: {kind}; is for IP packets, ATM switches accept tail-dr"):
        Scenario(defaults="1996").with_(**{"switch.policy": kind}).resolve()


@pytest.mark.parametrize(
    ("framing", "policy", "line"),
    [
        ("aal5", {}, "unit: packets; is for IP packets, ATM switches count cells"),
        ("ip", {"unit": "cells"}, "unit: cells; is for ATM switches, IP routers count packets or bytes"),
        ("ip", {"per_vc": True}, "per_vc: true; needs unit = 'cells', because IP has no VCs"),
        (
            "aal5",
            {"unit": "cells", "ecn": True},
            "ecn: true; needs false with unit = 'cells', because cells have no ECN field",
        ),
    ],
    ids=str,
)
def test_red_counts_cells_in_switches_and_nowhere_else(framing: str, policy: dict[str, Any], line: str) -> None:
    changes = {"framing": framing, "switch.policy": {"kind": "red", **policy}, "switch.buffer": "1 BDP"}
    with pytest.raises(ScenarioError) as error:
        Scenario(defaults="1996").with_(**changes).resolve()
    assert list(error.value.problems) == [f"switch.policy.{line}"]


@pytest.mark.parametrize("per_vc", [False, True], ids=["port", "vc"])
def test_red_of_frames_keeps_the_mean_of_cells_between_its_thresholds(per_vc: bool) -> None:
    red = {"kind": "red", "unit": "cells", "min": 300, "max": 900, "weight": 0.01, "mean_packet": "552 B"}
    changes = {"network.trunk_delay": "5 ms", "switch.buffer": "4000 cells", "duration": "3 s"}
    both = [
        simulate(
            Scenario(defaults="1996").with_(**{"switch.policy": {**red, "per_vc": per_vc}, "engine": engine, **changes})
        )
        for engine in ("trains", "reference")
    ]
    assert both[0].state_hash == both[1].state_hash
    port = trunk(both[0])
    assert port["cells_lost_aqm"] > 0
    assert 0 < port["mean_queue_cells"] < (900 if not per_vc else 15 * 900)


def test_cells_carry_no_marks() -> None:
    with pytest.raises(ScenarioError, match=r"^tcp\.ecn: classic; needs off under AAL5"):
        Scenario(defaults="1996").with_(**{"tcp.ecn": "classic"}).resolve()


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("switch.policy", "rde", "did you mean 'red'?"),
        ("switch.policy", "coddel", "did you mean 'codel'?"),
        ("tcp.ecn", "clasic", "did you mean 'classic'?"),
    ],
)
def test_a_mistyped_name_gets_the_nearest(field: str, value: str, accepted: str) -> None:
    with pytest.raises(ScenarioError) as error:
        LINK.with_(**{field: value})
    (line,) = error.value.problems
    assert line.startswith(f"{field}: ")
    assert accepted in line


def test_codel_keeps_the_delay_near_its_target() -> None:
    assert mean_delay_ms(simulate(LINK)) > 300
    kept = simulate(LINK.with_(**{"switch.policy": "codel"}))
    assert 2.5 < mean_delay_ms(kept) < 15
    assert kept.efficiency > 0.95


def test_red_and_pie_keep_their_queue_targets() -> None:
    red = simulate(LINK.with_(**{"switch.policy": {"kind": "red", "min": 5, "max": 15}}))
    assert 5 < trunk(red)["mean_queue_packets"] < 15
    assert 15 / 1.5 < mean_delay_ms(simulate(LINK.with_(**{"switch.policy": "pie"}))) < 15 * 1.5


def test_only_fq_codel_shares_equally_among_different_rtts() -> None:
    delays = {"near": "1 ms", "middle": "10 ms", "far": "40 ms"}
    access = [{"between": [host, "r1"], "rate": "1 Gbit/s", "delay": delay} for host, delay in delays.items()]
    ends = [{"between": ["r2", f"{host}-sink"], "rate": "1 Gbit/s", "delay": "0 s"} for host in delays]
    network = {
        "kind": "graph",
        "nodes": [
            *({"name": name, "kind": "switch"} for name in ("r1", "r2")),
            *({"name": name, "kind": "host"} for host in delays for name in (host, f"{host}-sink")),
        ],
        "links": [{"between": ["r1", "r2"], "rate": f"{MBIT} Mbit/s", "delay": "5 ms"}, *access, *ends],
        "flows": [{"name": host, "from": host, "to": f"{host}-sink"} for host in delays],
    }
    mixed = LINK.with_(network=network, duration="60 s")
    shared = simulate(mixed.with_(**{"switch.policy": "fq-codel"}))
    assert shared.fairness > 0.99
    assert simulate(mixed.with_(**{"switch.policy": "codel"})).fairness < shared.fairness


def test_per_flow_queues_reduce_web_delays_beside_downloads() -> None:
    groups = [{"name": "bulk", "count": 3}, {"name": "web", "traffic": {"kind": "web", "cycle": "20 s"}}]
    beside = LINK.with_(**{"network.sources": 4, "network.group": groups, "duration": "60 s"})
    waits = {
        policy: float(simulate(beside.with_(**{"switch.policy": policy})).part("waiting")["median_s"][0])
        for policy in ("tail-drop", "fq-codel")
    }
    assert waits["fq-codel"] < waits["tail-drop"] / 3


def marked(rate: float, round_trip: float, threshold: int, **tcp: Any) -> tuple[float, float]:  # noqa: ANN401 - fields
    """Returns the marked fraction and the mean queue of a single DCTCP flow over half a minute; no packet is lost."""
    one = LINK.with_(
        **{
            "duration": "30 s",
            "network.sources": 1,
            "network.trunk_rate": f"{rate} bit/s",
            "network.access_rate": "10 Gbit/s",
            "network.trunk_delay": f"{round_trip / 2} s",
            "switch.buffer": "2000 packets",
            "switch.policy": {"kind": "step-marking", "threshold": threshold},
            "tcp": {
                "recovery": "sack",
                "congestion": "dctcp",
                "ecn": "dctcp",
                "timer": "fine",
                "mss": "1460 B",
                "receiver_window": "auto",
                **tcp,
            },
        }
    )
    port = trunk(simulate(one))
    assert port["packets_lost_overflow"] == port["packets_lost_aqm"] == 0
    return float(port["packets_marked"] / port["packets_in"]), float(port["mean_queue_packets"])


def test_dctcp_marked_share_follows_theory() -> None:
    """alpha = sqrt(2 / (C RTT + K)), for one flow with immediate ACKs (Alizadeh et al. 2010 section 3.3)."""
    for rate, round_trip, threshold in ((100e6, 0.01, 65), (1e9, 0.002, 40)):
        theory = math.sqrt(2 / (rate * round_trip / PACKET_BITS + threshold))
        share, queue = marked(rate, round_trip, threshold)
        assert share == pytest.approx(theory, rel=0.05)
        assert queue == pytest.approx(threshold, rel=0.1)


@pytest.mark.parametrize(
    ("rate", "round_trip", "threshold", "ack"),
    [
        (100e6, 0.01, 20, "immediate"),
        (100e6, 0.01, 12, "immediate"),
        (100e6, 0.005, 20, "immediate"),
        (100e6, 0.01, 65, "delayed"),
    ],
)
def test_marked_share_follows_the_delayed_feedback_model(
    rate: float, round_trip: float, threshold: int, ack: str
) -> None:
    """The cycle is as in the theory plus one RTT, in which marked ACKs do not increase the window (RFC 3168 section
        6.1.2).

    If marks are rarer, with windows above 246 segments, alpha with a gain of 1/16 decays between two marks.
    """
    window = rate * round_trip / PACKET_BITS + threshold
    # With one ACK per two segments, the window increases by half a segment per RTT.
    growth = 0.5 if ack == "delayed" else 1.0

    def share(alpha: float) -> float:
        top, low = window + growth, (window + growth) * (1 - alpha / 2)
        return window / ((top**2 - low**2) / (2 * growth) + low)

    below, above = 1e-6, 1.0
    for _ in range(60):
        middle = (below + above) / 2
        below, above = (middle, above) if share(middle) > middle else (below, middle)
    assert marked(rate, round_trip, threshold, ack=ack)[0] == pytest.approx(below, rel=0.1)


@pytest.mark.parametrize("ecn", [False, True], ids=["drops", "marks"])
@pytest.mark.parametrize("policy", POLICIES)
def test_both_engines_agree(policy: str, ecn: bool) -> None:
    scenario = LINK.with_(
        **{
            "duration": "5 s",
            "switch.buffer": "60 packets",
            "switch.policy": {**POLICIES[policy], "ecn": ecn},
            "tcp.ecn": "classic" if ecn else "off",
        }
    )
    fast = simulate(scenario)
    assert fast.state_hash == simulate(scenario.with_(engine="reference")).state_hash
    port = trunk(fast)
    assert (port["packets_marked"] > 0) == ecn
    assert ecn or port["packets_lost_aqm"] > 0


def test_table_of_pi_is_that_of_independent_program() -> None:
    lines = pi_witness.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines == [pi_witness.HEADER, *pi_witness.rows()]


@needs_tshark
@pytest.mark.parametrize("policy", ["red", "codel"])
def test_a_capture_has_the_marks_and_their_answers(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "sink.pcapng"
    scenario = LINK.with_(
        **{
            "duration": "10 s",
            "network.sources": 1,
            "switch.policy": {"kind": policy, "ecn": True},
            "tcp.ecn": "classic",
        }
    )
    result = simulate(scenario, captures={"host:sink1": path})
    packets = tshark(path, "ip.dsfield.ecn", "tcp.flags.cwr", "tcp.flags.ece", "tcp.len", "ip.src")
    data = packets[packets["tcp.len"].astype(int) > 0]
    marked, reduced = data["ip.dsfield.ecn"] == "3", data["tcp.flags.cwr"].isin(["1", "True"])
    told = packets["tcp.flags.ece"].isin(["1", "True"]) & (packets["tcp.len"].astype(int) == 0)
    assert trunk(result)["packets_marked"] > 0
    # Packets that are in flight at the end of the run are in no capture.
    assert abs(int(marked.sum()) - trunk(result)["packets_marked"]) <= 1
    assert abs(int(reduced.sum()) - int(result.flows["mark_reductions"].sum())) <= 1
    assert int(told.sum()) >= int(reduced.sum()) - 1


@pytest.mark.parametrize("engine", ["trains", "reference"])
@pytest.mark.parametrize("fates", [{}, {"arriving": "drop", "in_service": "drop"}], ids=["waiting", "all"])
@pytest.mark.parametrize(("framing", "policy"), [("ip", "tail-drop"), ("ip", "fq-codel"), ("aal5", "tail-drop")])
def test_traced_queue_contains_packets_dropped_by_outages(
    framing: str, policy: str, fates: dict[str, str], engine: str
) -> None:
    """The mean of the trace's samples is the mean queue, which the port computes from its counters."""
    changes = {"engine": engine, "framing": framing, "switch.policy": policy, "duration": "10 s", "network.sources": 2}
    outages = {"every": "1 s", "gap": "150 ms", "phase": "500 ms", "waiting": "drop", **fates}
    result = simulate(LINK.with_(**{**changes, "network.path": {"outages": outages}, "traces.vc_queue": True}))
    trace, unit = result.traces["vc_queue"], "packets" if framing == "ip" else "cells"
    trace = trace[trace["port"] == TRUNK]
    # A row holds from its time to the next row of the same direction of a flow, or to the end of the run.
    until_s = trace.groupby(["flow", "acks"])["time_s"].shift(-1).fillna(10)
    mean = (trace[f"queue_{unit}"] * (until_s - trace["time_s"])).sum() / 10
    ports = result.ports.set_index("port").loc[TRUNK]
    assert ports[f"{unit}_lost_outage"] > 0
    assert mean == pytest.approx(ports[f"mean_queue_{unit}"], rel=0.01)
