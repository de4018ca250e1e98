"""Common TCP evaluation suite: draft-irtf-iccrg-tcpeval-01."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from longpipe_evidence.suites.suite import Suite, SuitePart, over

if TYPE_CHECKING:
    from longpipe_evidence.suites.suite import Levels

# Section 4.1: one-way delays of the edge links of nodes 1 to 3 and 4 to 6 [ms].
NEAR: Final = {"n1": 0.0, "n2": 12.0, "n3": 25.0}
FAR: Final = {"n4": 2.0, "n5": 37.0, "n6": 75.0}
# Delays of section 4.4.1, for the data center.
NEAR_INSIDE: Final = {"n1": 0.01, "n2": 0.01, "n3": 0.1}
FAR_INSIDE: Final = {"n4": 0.01, "n5": 0.1, "n6": 0.1}
# Section 6.1: standard TCP (SACK without ECN), and two other deployed congestion controls.
CONTROLS: Final = over("tcp.congestion", {"reno": "aimd", "cubic": "cubic", "bbr": "bbr"})
# Mean volume per cycle [bit]: five files with a mean of 117.5 KB (1 KB is 1024 bytes; ATM Forum/98-0876 table 1).
CYCLE_BITS: Final = 5 * 117.5 * 1024 * 8
PORT: Final = "port:r2->r1"
# Measures of section 4.5 for the direction with most of the traffic.
METRICS: Final = (f"used={PORT}.utilization", f"loss={PORT}.loss", f"delay={PORT}.queueing_mean")


def _link(a: str, b: str, rate: str, delay_ms: float, **more: object) -> dict[str, Any]:
    return {"between": [a, b], "rate": rate, "delay": f"{delay_ms:g} ms", **more}


def _hosts(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "kind": "host"} for name in names]


ROUTERS: Final = [{"name": name, "kind": "switch"} for name in ("r1", "r2")]


def _clients(load_bps: float, cycle_s: float, prefix: str = "") -> list[dict[str, Any]]:
    """Returns groups of web clients on the nine paths; together they request `load_bps` from right to left."""
    paths = [(far, near) for near in NEAR for far in FAR]
    count = max(len(paths), round(load_bps * cycle_s / CYCLE_BITS))
    traffic = {"kind": "web", "cycle": f"{cycle_s:g} s"}
    return [
        {"name": f"{prefix}client{k + 1}", "from": far, "to": near, "traffic": traffic}
        for k, (far, near) in ((k, paths[k % len(paths)]) for k in range(count))
    ]


def _dumbbell(
    central: dict[str, Any],
    flows: list[dict[str, Any]],
    edge: str = "100 Mbit/s",
    near: dict[str, float] = NEAR,
    far: dict[str, float] = FAR,
) -> dict[str, Any]:
    """Returns the network of figure 2: six nodes, two routers."""
    ends = [*((name, "r1", ms) for name, ms in near.items()), *((name, "r2", ms) for name, ms in far.items())]
    links = [_link(name, router, edge, ms) for name, router, ms in ends]
    return {"kind": "graph", "nodes": [*ROUTERS, *_hosts([*near, *far])], "links": [central, *links], "flows": flows}


def _scenario(name: str, duration: str, network: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a test case of TCPEVAL."""
    return {
        "name": f"tcpeval {name}",
        "framing": "ip",
        "duration": duration,
        "start": {"kind": "random", "over": "2 s"},
        "network": network,
        "switch": {"buffer": "1 BDP"},
        "tcp": {"profile": "linux-6"},
        "traces": {"delay": True},
    }


def _basic(
    section: str,
    title: str,
    central: dict[str, Any],
    rate_bps: float,
    duration: str,
    cycle_s: float,
    **topology: Any,  # noqa: ANN401 - fields of any type
) -> SuitePart:
    """Returns a part with a basic scenario at the three loads of section 4.2."""

    def at(load: float) -> dict[str, Any]:
        return _dumbbell(central, _clients(load * rate_bps, cycle_s), **topology)

    loads: Levels = {name: {"network": at(share)} for name, share in (("60 %", 0.6), ("85 %", 0.85), ("110 %", 1.1))}
    return SuitePart(section, title, _scenario(section, duration, at(0.6)), {"tcp": CONTROLS, "load": loads}, METRICS)


ACCESS: Final = _link("r1", "r2", "100 Mbit/s", 2, buffer="1.25 MB")

# Table 8: one-way delays to T_n1 to T_n4 [ms], by the RTTs of the established and the new flow.
RAMPS: Final = {"80 80": (0, 0, 38, 38), "120 30": (23, 12, 35, 1), "30 120": (12, 23, 1, 35)}


def _ramp(delays: tuple[float, ...]) -> dict[str, Any]:
    """Returns the network for two opposite flows and cross traffic; `delays` are those of their ends [ms]."""
    central = _link("r1", "r2", "10 Mbit/s", 2, buffer="67 packets")
    network = _dumbbell(central, _clients(5e6, 10), "1 Gbit/s")
    ends = [f"t{k}" for k in (1, 2, 3, 4)]
    network["nodes"] += _hosts(ends)
    network["links"] += [
        _link(end, router, "1 Gbit/s", ms)
        for end, router, ms in zip(ends, ("r1", "r1", "r2", "r2"), delays, strict=True)
    ]
    new = {"kind": "transfer", "size": "1.5 MB"}
    slow = {"initial_ssthresh": "14480 B"}
    network["flows"] = [
        {"name": "there", "from": "t3", "to": "t1", "start": {"kind": "fixed", "at": "0 s"}},
        {
            "name": "new",
            "from": "t4",
            "to": "t2",
            "traffic": new,
            "tcp": slow,
            "start": {"kind": "fixed", "at": "30 s"},
        },
        *network["flows"],
    ]
    return {"network": network}


def _transient(flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the network of figure 6: 100 Mbit/s, 1024 packets, 100 ms."""
    ends = ("t", "u", "t-sink", "u-sink")
    links = [_link(end, "r2" if "sink" not in end else "r1", "100 Mbit/s", 12) for end in ends]
    central = _link("r1", "r2", "100 Mbit/s", 26, buffer="1024 packets")
    test = {"name": "test", "from": "t", "to": "t-sink", "start": {"kind": "fixed", "at": "0 s"}}
    return {
        "network": {
            "kind": "graph",
            "nodes": [*ROUTERS, *_hosts(ends)],
            "links": [central, *links],
            "flows": [test, *flows],
        }
    }


def _cross(name: str, rate: str, at: str, stop: bool = False) -> dict[str, Any]:
    kind: dict[str, Any] = {"kind": "cbr", "rate": rate}
    if stop:
        kind = {"kind": "on-off", "rate": rate, "times": "fixed", "on": "30 s", "off": "600 s"}
    return {"name": name, "from": "u", "to": "u-sink", "traffic": kind, "start": {"kind": "fixed", "at": at}}


TRANSIENTS: Final["Levels"] = {
    "75 to 0": _transient([_cross("cross", "75 Mbit/s", "0 s", stop=True)]),
    "0 to 75": _transient([_cross("cross", "75 Mbit/s", "30 s")]),
    "30 steps": _transient([_cross(f"cross{k}", "2.5 Mbit/s", f"{30 + k} s") for k in range(30)]),
}


def _camps(load: float) -> dict[str, Any]:
    """Returns two groups, each with a client on each of nine paths; together they request a share of 10 Mbit/s."""
    cycle_s = 18 * CYCLE_BITS / (load * 10e6)
    a, b = (_clients(load * 5e6, cycle_s, f"{camp}-") for camp in ("a", "b"))
    standard = {"profile": "linux-6", "congestion": "aimd"}
    flows = [*({**group, "tcp": standard} for group in a), *b]
    return _dumbbell(_link("r1", "r2", "10 Mbit/s", 2, buffer="67 packets"), flows, "1 Gbit/s")


def _two(one_ms: float, other_ms: float) -> dict[str, Any]:
    """Returns two flows with the given RTTs over 10 Mbit/s; the central link has a delay of 2 ms."""
    central = _link("r1", "r2", "10 Mbit/s", 2)
    ends = {"one": one_ms, "other": other_ms}
    links = [
        _link(f"{end}{side}", router, "1 Gbit/s", (ms - 4) / 4)
        for end, ms in ends.items()
        for side, router in (("", "r2"), ("-sink", "r1"))
    ]
    hosts = _hosts(f"{end}{side}" for end in ends for side in ("", "-sink"))
    flows = [{"name": end, "from": end, "to": f"{end}-sink"} for end in ends]
    return {"network": {"kind": "graph", "nodes": [*ROUTERS, *hosts], "links": [central, *links], "flows": flows}}


RTTS: Final = (10, 20, 40, 80, 160)
# Buffers in units of 83 packets, the BDP of a flow with an RTT of 100 ms.
BUFFERS: Final = over("switch.buffer", {f"{share} %": f"{round(0.83 * share)} packets" for share in (25, 50, 100, 200)})


def _parking_lot(load: float) -> dict[str, Any]:
    """Returns the network of figure 10: four sources over three 100 Mbit/s links, each source with an RTT of 60 ms."""
    delays = {"n1": 0, "n2": 10, "n3": 10, "n4": 10, "n5": 10, "n6": 10, "n7": 10, "n8": 0}
    at = {"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2", "n5": "r3", "n6": "r3", "n7": "r4", "n8": "r4"}
    links = [_link(f"r{k}", f"r{k + 1}", "100 Mbit/s", 10) for k in (1, 2, 3)]
    links += [_link(node, router, "1 Gbit/s", delays[node]) for node, router in at.items()]
    count = round(load * 100e6 * 10 / CYCLE_BITS)
    traffic = {"kind": "web"}
    flows = [
        {"name": f"{name}-{k + 1}", "from": a, "to": b, "traffic": traffic}
        for name, a, b in (("long", "n1", "n8"), ("a", "n2", "n3"), ("b", "n4", "n5"), ("c", "n6", "n7"))
        for k in range(count)
    ]
    nodes = [*({"name": f"r{k}", "kind": "switch"} for k in (1, 2, 3, 4)), *_hosts(at)]
    return {"network": {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}}


SUITE: Final = Suite(
    id="tcpeval",
    title="Common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01, July 2014)",
    conditions=(
        "Standard TCP with SACK, CUBIC and BBR, each with Linux's recovery, over tail drop. The draft's traffic uses "
        "Tmix traces, which are not available here; web clients request the same amount on average. Measurements cover "
        "whole runs, which begin with empty queues and are shorter than the draft's. used, loss and delay refer to the "
        "central link: the share of time in which it sends, the share of packets that it dropped, and their mean "
        "queueing delay there; jain is Jain's fairness index, 1 if all flows get the same."
    ),
    parts=(
        _basic(
            "4.4.1",
            "Data center: 1 Gbit/s, 10 to 200 us, buffers of 10 ms",
            _link("r1", "r2", "1 Gbit/s", 0, buffer="1.25 MB"),
            1e9,
            "6 s",
            2,
            edge="1 Gbit/s",
            near=NEAR_INSIDE,
            far=FAR_INSIDE,
        ),
        _basic("4.4.2", "Access link: 100 Mbit/s, buffers of 100 ms", ACCESS, 100e6, "40 s", 10),
        _basic(
            "4.4.3",
            "Trans-oceanic link: 1 Gbit/s, 65 ms, buffers of 100 ms",
            _link("r1", "r2", "1 Gbit/s", 65, buffer="12.5 MB"),
            1e9,
            "10 s",
            3,
            edge="1 Gbit/s",
        ),
        _basic(
            "4.4.4",
            "Geostationary satellite: 40 Mbit/s down, 4 Mbit/s up, 300 ms",
            _link("r2", "r1", "40 Mbit/s", 300, buffer="500 KB", return_rate="4 Mbit/s", return_buffer="500 KB"),
            40e6,
            "60 s",
            10,
        ),
        _basic(
            "4.4.6",
            "Dial-up link: 64 kbit/s, 5 ms, buffers of 1.25 s",
            _link("r1", "r2", "64 kbit/s", 5, buffer="10 KB"),
            64e3,
            "1800 s",
            900,
        ),
        SuitePart(
            "5.1",
            "Delay and throughput as a function of the queue: the access link at 85 %",
            _scenario("5.1", "40 s", _dumbbell(ACCESS, _clients(85e6, 10))),
            {
                "tcp": CONTROLS,
                "buffer": {
                    f"{share} %": {
                        "network": _dumbbell({**ACCESS, "buffer": f"{round(8.33 * share)} packets"}, _clients(85e6, 10))
                    }
                    for share in (10, 20, 50, 100, 200)
                },
            },
            METRICS,
        ),
        SuitePart(
            "5.2",
            "Ramp-up time of a new flow: its first 1.5 MB, from 30 s on",
            _scenario("5.2", "90 s", _ramp(RAMPS["80 80"])["network"]),
            {"tcp": CONTROLS, "round_trips": {name: _ramp(delays) for name, delays in RAMPS.items()}},
            ("done=flow:new.completion", "there=flow:there.throughput", *METRICS),
            note="10 Mbit/s; background of half the load. done counts from the run's start; slow start is disabled for "
            "the new flow.",
        ),
        SuitePart(
            "5.3",
            "Transients: 75 Mbit/s of datagrams stop, start, or start in 30 steps",
            _scenario("5.3", "90 s", _transient([])["network"]),
            {"tcp": CONTROLS, "transient": TRANSIENTS},
            ("test=flow:test.throughput", "cross_loss=datagrams:cross*.loss", *METRICS),
        ),
        SuitePart(
            "6.1",
            "Impact on standard TCP: camp a is standard, camp b is under test",
            _scenario("6.1", "120 s", _camps(0.5)),
            {"camp_b": CONTROLS, "load": {"50 %": {"network": _camps(0.5)}, "100 %": {"network": _camps(1.0)}}},
            ("standard=flow:a-*.throughput", "tested=flow:b-*.throughput", *METRICS),
            note="Reno's rows are the baseline: the gain is the ratio of the tested camps, the loss the ratio of the "
            "standard camps.",
        ),
        SuitePart(
            "6.2.2.1",
            "Intra-protocol fairness: two flows with the same RTT, by buffer",
            _scenario("6.2.2.1", "60 s", _two(160, 160)["network"]),
            {"tcp": CONTROLS, "rtt_ms": {ms: _two(ms, ms) for ms in RTTS}, "buffer": BUFFERS},
            ("one=flow:one.throughput", "other=flow:other.throughput", "jain=flow:*.fairness", METRICS[1]),
        ),
        SuitePart(
            "6.2.2.2",
            "Inter-RTT fairness: a flow with 160 ms and a flow with another RTT, by buffer",
            _scenario("6.2.2.2", "60 s", _two(160, 160)["network"]),
            {"tcp": CONTROLS, "other_ms": {ms: _two(160, ms) for ms in RTTS[:-1]}, "buffer": BUFFERS},
            ("of_160_ms=flow:one.throughput", "other=flow:other.throughput", "jain=flow:*.fairness", METRICS[1]),
        ),
        SuitePart(
            "6.3",
            "Multiple bottlenecks: a flow over three links and one on each link",
            _scenario("6.3", "30 s", _parking_lot(0.3)["network"]),
            {"tcp": CONTROLS, "load": {f"{2 * share} %": _parking_lot(share / 100) for share in (30, 40, 50)}},
            ("long=flow:long-*.throughput", "a=flow:a-*.throughput", "loss=port:r2->r3.loss"),
        ),
    ),
    left_out=(
        "4.4.5: the wireless LAN is a shared medium, which longpipe does not have.",
        "5.2 and 6.2 at 1 Gbit/s, and background traffic in 6.2, which would take hours.",
    ),
    seeds=2,
)
