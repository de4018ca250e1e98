"""RFC 7928: characterization guidelines for active queue management."""

from typing import Any, Final

from longpipe_evidence.suites.suite import Suite, SuitePart, over

# Path with an RTT of 100 ms (section 3.1 leaves it open), of which the access links contribute 2 ms.
LINK: Final[dict[str, Any]] = {
    "kind": "dumbbell",
    "access_rate": "1 Gbit/s",
    "access_delay": "1 ms",
    "trunk_rate": "10 Mbit/s",
    "trunk_delay": "48 ms",
    "exit_delay": "1 ms",
}
# Number of packets that the trunk and a buffer of 1 BDP can hold together.
STORED: Final = 2 * 83
QUEUES: Final = over(
    "switch.policy",
    {
        "tail-drop": "tail-drop",
        # Floyd, Gummadi and Shenker 2001: 1 - exp(-1/C), for C = 833 packets per second.
        "adaptive red": {"kind": "red", "adaptive": True, "weight": 0.0012},
        "pie": "pie",
        "codel": "codel",
        "fq-codel": "fq-codel",
    },
)
CONTROLS: Final = over("tcp.congestion", {"reno": "aimd", "cubic": "cubic"})
PORT: Final = "port:switch1->switch2"
# Measures of section 2: latency and loss.
QUEUE: Final = (f"delay={PORT}.queueing_mean", f"p95={PORT}.queueing_p95", f"loss={PORT}.loss")
GOODPUT: Final = "goodput=flow:*.throughput"


def scenario(name: str, *groups: dict[str, Any], network: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns a 60 s scenario with groups of flows over the link; the flows start within the first second."""
    return {
        "name": f"RFC 7928 {name}",
        "framing": "ip",
        "duration": "60 s",
        "start": {"kind": "random", "over": "1 s"},
        "network": network or {**LINK, "group": groups},
        "switch": {"buffer": "1 BDP"},
        "tcp": {"profile": "linux-6"},
        "traces": {"delay": True},
    }


def _reno(window: str) -> dict[str, Any]:
    return {"profile": "linux-6", "congestion": "aimd", "initial_window": window}


def _pair(other_ms: float) -> dict[str, Any]:
    """Returns a 4 ms trunk shared by two flows: one with a total RTT of 100 ms, the other with the given RTT."""
    ends = {"near": 0.25 * (100 - 4), "far": 0.25 * (other_ms - 4)}
    links = [
        {"between": [end, router], "rate": "1 Gbit/s", "delay": f"{delay:g} ms"}
        for name, delay in ends.items()
        for end, router in ((name, "switch1"), (f"{name}-sink", "switch2"))
    ]
    trunk = {"between": ["switch1", "switch2"], "rate": "10 Mbit/s", "delay": "2 ms"}
    nodes = [{"name": f"switch{k}", "kind": "switch"} for k in (1, 2)]
    nodes += [{"name": name, "kind": "host"} for end in ends for name in (end, f"{end}-sink")]
    flows = [
        {"name": name, "from": end, "to": f"{end}-sink"} for name, end in (("of-100-ms", "near"), ("other", "far"))
    ]
    return {"kind": "graph", "nodes": nodes, "links": [trunk, *links], "flows": flows}


def _round_trip(other_ms: float) -> dict[str, Any]:
    # The BDP for an RTT of 100 ms, independent of the other flow's RTT.
    return {"network": _pair(other_ms), "switch.buffer": "83 packets"}


MIX: Final = (
    {"name": "bulk", "count": 2},
    {"name": "web", "count": 3, "traffic": "web"},
    {"name": "video", "traffic": {"kind": "video", "rate": "1 Mbit/s"}},
    {"name": "cbr", "traffic": {"kind": "cbr", "rate": "500 kbit/s"}},
)
LATENCIES: Final = ("video=datagrams:video.p95", "cbr=datagrams:cbr.p95", "page=web.p95")
# Morris 2000: if the path and buffer together hold S packets, N flows lose the share l = 0.76 N^2/S^2; levels for l =
# 0.1, 0.5 and 1 %.
LEVELS: Final = {
    name: round((share / 0.76) ** 0.5 * STORED) for name, share in (("mild", 0.001), ("medium", 0.005), ("heavy", 0.01))
}

SUITE: Final = Suite(
    id="rfc-7928",
    title="Characterization guidelines for active queue management (RFC 7928, July 2016)",
    conditions=(
        "10 Mbit/s, 100 ms, a buffer of 1 BDP (83 packets), 60 s, each policy with its defaults, RED adaptive; Linux's "
        "TCP with SACK and RACK. goodput is the total of all flows. delay and p95 are the mean and the 95 % quantile "
        "of all packets' queueing delay at the bottleneck, loss the share of packets that it dropped. video, cbr "
        "(constant bit rate) and voice are 95 % quantiles of one-way delays over the whole path, page is the 95 % "
        "quantile of page load times; jain is Jain's fairness index, 1 if all flows get the same. Numbers that the RFC "
        "leaves open are those of the ns-3 suite of Deepak, Shravya and Tahiliani (2017), at ten times its rate."
    ),
    parts=(
        SuitePart(
            "5.1.1",
            "TCP-friendly sender: one flow of Reno",
            scenario("5.1.1", {"name": "bulk"}),
            {"queue": QUEUES, "window": {n: {"tcp": _reno(f"{n} segments")} for n in (3, 10)}},
            (GOODPUT, *QUEUE),
        ),
        SuitePart(
            "5.1.2",
            "TCP-friendly senders with different initial windows: Reno with 3 and with 10 segments",
            scenario(
                "5.1.2", {"name": "three", "tcp": _reno("3 segments")}, {"name": "ten", "tcp": _reno("10 segments")}
            ),
            {"queue": QUEUES},
            ("three=flow:three.throughput", "ten=flow:ten.throughput", *QUEUE),
        ),
        SuitePart(
            "5.2",
            "Aggressive transport sender: one flow of CUBIC, and one of BBR",
            scenario("5.2", {"name": "bulk"}),
            {"queue": QUEUES, "tcp": over("tcp.congestion", {"cubic": "cubic", "bbr": "bbr"})},
            (GOODPUT, *QUEUE),
        ),
        SuitePart(
            "5.3 alone",
            "Unresponsive transport sender: datagrams at ten times the rate",
            scenario("5.3 alone", {"name": "cbr", "traffic": {"kind": "cbr", "rate": "100 Mbit/s"}}),
            {"queue": QUEUES},
            (GOODPUT, *QUEUE),
        ),
        SuitePart(
            "5.3",
            "Unresponsive transport sender with TCP: datagrams at .8 of the rate",
            scenario("5.3", {"name": "cbr", "traffic": {"kind": "cbr", "rate": "8 Mbit/s"}}, {"name": "bulk"}),
            {"queue": QUEUES, "tcp": CONTROLS},
            ("tcp_goodput=flow:bulk.throughput", "cbr_loss=datagrams:cbr.loss", *QUEUE),
        ),
        SuitePart(
            "5.4",
            "Less-than-best-effort transport sender: LEDBAT and Reno",
            scenario(
                "5.4",
                {"name": "ledbat", "tcp": {"profile": "linux-6", "congestion": "ledbat"}},
                {"name": "bulk", "tcp": _reno("10 segments")},
            ),
            {"queue": QUEUES},
            ("ledbat=flow:ledbat.throughput", "reno=flow:bulk.throughput", *QUEUE),
        ),
        SuitePart(
            "6.2",
            "Round-trip time fairness: 100 ms and 5 to 500 ms",
            scenario("6.2", network=_pair(100)),
            {
                "queue": QUEUES,
                "tcp": CONTROLS,
                "other_ms": {other: _round_trip(other) for other in (5, 20, 50, 100, 200, 500)},
            },
            ("of_100_ms=flow:of-100-ms.throughput", "other=flow:other.throughput", "jain=flow:*.fairness", *QUEUE),
        ),
        SuitePart(
            "7.2",
            "Burst absorption: web pages, video frames and constant-rate traffic with bulk transfers",
            scenario("7.2", *MIX),
            {"queue": QUEUES, "tcp": CONTROLS},
            ("bulk=flow:bulk*.throughput", *LATENCIES, *QUEUE),
        ),
        SuitePart(
            "8.2",
            "Stability: mild, medium and heavy congestion (8.2.2 to 8.2.4)",
            scenario("8.2", network={**LINK, "sources": LEVELS["mild"]}),
            {"queue": QUEUES, "tcp": CONTROLS, "congestion": over("network.sources", LEVELS)},
            (GOODPUT, "jain=flow:*.fairness", *QUEUE),
            note=f"{', '.join(f'{name}: {count} flows' for name, count in LEVELS.items())}, for .1, .5 and 1 % of loss "
            "under tail drop at 10 Mbit/s and 100 ms by Morris 2000, l = .76 N^2/S^2.",
        ),
        SuitePart(
            "8.2.5",
            "Stability under varying congestion: mild, from 20 s on medium, from 40 s on heavy",
            scenario(
                "8.2.5",
                {"name": "mild", "count": LEVELS["mild"]},
                {
                    "name": "medium",
                    "count": LEVELS["medium"] - LEVELS["mild"],
                    "start": {"kind": "fixed", "at": "20 s"},
                },
                {
                    "name": "heavy",
                    "count": LEVELS["heavy"] - LEVELS["medium"],
                    "start": {"kind": "fixed", "at": "40 s"},
                },
            ),
            {"queue": QUEUES, "tcp": CONTROLS},
            (GOODPUT, *QUEUE),
            note="Flows do not pause, so congestion grows and does not decrease again.",
        ),
        SuitePart(
            "9.1",
            "Traffic mix: more bulk and web traffic, and voice in both directions",
            scenario(
                "9.1",
                {"name": "bulk", "count": 5},
                {"name": "web", "count": 10, "traffic": "web"},
                *MIX[2:],
                {"name": "voice", "traffic": "voice"},
                {"name": "heard", "traffic": "voice", "direction": "back"},
            ),
            {"queue": QUEUES, "tcp": CONTROLS},
            ("bulk=flow:bulk*.throughput", *LATENCIES, "voice=datagrams:voice.p95", *QUEUE),
        ),
        SuitePart(
            "9.2",
            "Bidirectional traffic: three flows in each direction",
            scenario("9.2", {"name": "forth", "count": 3}, {"name": "back", "count": 3, "direction": "back"}),
            {"queue": QUEUES, "tcp": CONTROLS},
            ("forth=flow:forth*.throughput", "back=flow:back*.throughput", *QUEUE),
        ),
    ),
    left_out=(
        "8.2.6: variation of the available capacity is not part of this suite.",
        "10: several policies in series need a graph with a policy for each link; there is no part for them.",
    ),
)
