"""Random scenarios that are small enough to run in milliseconds."""

from typing import Any, get_args

from hypothesis import strategies as st

from drawn import kinds_of
from longpipe.scenario import Scenario
from longpipe.scenario.access import Access
from longpipe.scenario.base import kinds_that, models_by_kind
from longpipe.scenario.buffers import Framing
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.control_kinds import BUILT_IN, RECOVERY_OF_MODELS
from longpipe.scenario.framings import BY_OCCUPANCY, FOR_PACKETS
from longpipe.scenario.loss import Loss
from longpipe.scenario.policies import Policy
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.web import Web
from longpipe.units import RATE, SIZE, TIME

CONTROLS = models_by_kind(Congestion)


def kinds(*tables: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of([st.fixed_dictionaries(table) for table in tables])


def times(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


policies = kinds_of(Policy, BY_OCCUPANCY)

phases = kinds({"kind": st.just("fixed")}, {"kind": st.just("common")}, {"kind": st.just("per-flow")})

timers = kinds(
    {"kind": st.just("coarse"), "tick": times("5 ms", "10 ms", "100 ms"), "phase": phases},
    {
        "kind": st.just("fine"),
        "min_rto": times("10 ms", "200 ms"),
        "initial_rto": times("200 ms", "1 s"),
        "timestamps": st.booleans(),
    },
)


def _possible(tcp: dict[str, Any]) -> dict[str, Any]:
    control = CONTROLS[tcp["congestion"]["kind"]]
    recovers = tcp["recovery"]["kind"] == RECOVERY_OF_MODELS
    needed: dict[str, Any] = {"recovery": {"kind": RECOVERY_OF_MODELS}} if control.is_model and not recovers else {}
    if control.measures_delay:
        needed["timer"] = {"kind": "fine", "timestamps": True}
    if tcp["handshake"]:
        needed |= {"initial_rtt": "0 s", "preconnect": "0 s"}
    if control.is_model or not recovers:
        needed |= {"careful_resume": "off", "rapid_start": "off"}
    elif tcp["rapid_start"] != "off":
        needed["careful_resume"] = "off"
    if control.is_model:
        needed["rate_limited"] = "control"
    return tcp | needed


def _marked(tcp: dict[str, Any], ecn: dict[str, Any]) -> dict[str, Any]:
    """Returns the connection settings for packets that can be marked."""
    feedback = CONTROLS[tcp["congestion"]["kind"]].needs_marks
    if feedback == "count":
        return tcp | {"ecn": {"kind": "accurate", "ect": 1}}
    return tcp | {"ecn": {"kind": "dctcp"} if feedback == "share" and ecn["kind"] != "accurate" else ecn}


tcps = st.fixed_dictionaries(
    {
        "recovery": kinds_of(Recovery),
        # Cells cannot be marked, so controllers that need marks are drawn only for packets.
        "congestion": kinds_of(Congestion, [kind for kind in BUILT_IN if CONTROLS[kind].needs_marks == "none"]),
        "mss": times("1 B", "200 B", "512 B", "1460 B"),
        "receiver_window": times("1460 B", "4 KiB", "64 KiB"),
        "initial_window": times("1 segment", "10 segments"),
        "initial_ssthresh": times("1460 B", "16 KB", "unlimited"),
        "duplicate_ack_threshold": st.integers(1, 4),
        "fast_retransmit_restarts_timer": st.booleans(),
        "fast_retransmit_interval": times("0 s", "50 ms", "200 ms"),
        "silly_window_avoidance": st.booleans(),
        "idle_restart": st.booleans(),
        "initial_rtt": times("0 s", "30 ms"),
        "preconnect": times("0 s", "1 s"),
        "handshake": st.booleans(),
        "pacing": st.booleans(),
        "careful_resume": st.sampled_from(["off", "previous", {"kind": "saved", "cwnd": "20 KB", "rtt": "30 ms"}]),
        "rapid_start": st.sampled_from(["off", "draft", "quicly"]),
        "rate_limited": st.sampled_from(["control", "none", "linux", "rfc9002", {"kind": "ietf", "shrink": True}]),
        "timer": timers,
        "ack": kinds(
            {"kind": st.just("immediate")},
            {"kind": st.just("delayed"), "timeout": times("20 ms", "200 ms")},
            {"kind": st.just("linux"), "growing_window": st.booleans()},
        ),
    }
).map(_possible)

losses = kinds_of(Loss).filter(lambda loss: loss["kind"] != "over-time" or _ascending(loss["steps"]))


def _ascending(steps: list[list[Any]]) -> bool:
    instants = [TIME.parse(instant) for instant, _ in steps]
    return instants == sorted(set(instants)) != []


schedulers = kinds(
    {"kind": st.just("priority")}, {"kind": st.just("guaranteed-rate"), "share": st.sampled_from([0, 0.1, 0.5, 1])}
)

vbr = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "period": times("9 ms", "10 ms", "300 ms"),
            "duty": st.floats(0.01, 1, allow_subnormal=False),
            "phase": times("0 s", "33 ms"),
            "times": st.sampled_from(["fixed", "exponential", {"kind": "pareto", "shape": 1.5}]),
            "rate": st.one_of(st.none(), times("50 kbit/s", "100 kbit/s")),
        }
    ),
)

dumbbells = st.fixed_dictionaries(
    {
        "kind": st.just("dumbbell"),
        "sources": st.integers(1, 4),
        "access_rate": times("1 Mbit/s", "3.7 Mbit/s"),
        "trunk_rate": times("100 kbit/s", "1 Mbit/s", "5 Mbit/s"),
        "access_delay": times("0 s", "5 us"),
        "trunk_delay": times("0 s", "5 us", "20 ms"),
        "exit_delay": times("0 s", "1 ns"),
        "send_jitter": times("0 s", "1 ms"),
        "trunk_loss": losses,
        "return_loss": losses,
        "vbr": vbr,
    }
)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Returns a strategy for a line of switches with hosts at any of them, and flows between any two hosts."""
    switches = draw(st.integers(1, 3))
    places = draw(st.lists(st.integers(0, switches - 1), min_size=2, max_size=5))
    delay, rate = times("0 s", "1 ms", "7 ms"), times("300 kbit/s", "1 Mbit/s", "2 Mbit/s")
    links = [{"between": [f"s{i}", f"s{i + 1}"], "rate": draw(rate), "delay": draw(delay)} for i in range(switches - 1)]
    links += [{"between": [f"h{i}", f"s{s}"], "rate": draw(rate), "delay": draw(delay)} for i, s in enumerate(places)]
    links[0]["buffer"] = draw(times("40 cells", "3 packets", "unlimited"))
    pairs = st.lists(st.integers(0, len(places) - 1), min_size=2, max_size=2, unique=True)
    ends = draw(st.lists(pairs, min_size=1, max_size=4))
    flows: list[dict[str, Any]] = [{"name": f"f{i}", "from": f"h{a}", "to": f"h{b}"} for i, (a, b) in enumerate(ends)]
    flows[0]["tcp"] = {
        "recovery": "vanilla",
        "congestion": "aimd",
        "mss": "100 B",
        "careful_resume": "off",
        "rapid_start": "off",
    }
    nodes = [{"name": f"s{i}", "kind": "switch"} for i in range(switches)]
    nodes += [{"name": f"h{i}", "kind": "host", "send_jitter": draw(times("0 s", "1 ms"))} for i in range(len(places))]
    return {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}


fields = st.fixed_dictionaries(
    {
        "duration": times("1 ms", "500 ms", "3 s"),
        "network": st.one_of(dumbbells, graphs()),
        "switch": st.fixed_dictionaries(
            {
                "buffer": times("33 cells", "100 cells", "2 packets", "5 packets", "unlimited"),
                "policy": policies,
                "scheduler": schedulers,
                "ties": st.sampled_from(["port-order", "rotating", "random"]),
                "slot_phase": st.floats(0, 0.99, allow_subnormal=False),
            }
        ),
        "tcp": tcps,
        "traffic": kinds(
            {"kind": st.just("greedy")},
            {"kind": st.just("transfer"), "size": times("1 B", "5000 B", "100 KB")},
            {
                "kind": st.just("stream"),
                "rate": times("100 kbit/s", "3 Mbit/s", "1 Gbit/s"),
                "write": times("1000 B", "20 KB"),
                "bursts": st.none(),
            },
            # The application writes segments, which may have 1 byte, so a higher rate would take seconds.
            {"kind": st.just("stream"), "rate": times("100 kbit/s", "3 Mbit/s"), "bursts": st.none()},
            {
                "kind": st.just("stream"),
                "rate": times("100 kbit/s", "3 Mbit/s", "1 Gbit/s"),
                # The sizes ensure that even at the lowest rate, a write takes less time than a burst and the pause
                # after it.
                "write": times("1000 B", "2 KB"),
                "bursts": st.just({"on": "5 ms", "off": "170 ms"}),
            },
            {
                "kind": st.just("web"),
                "cycle": times("1 ms", "300 ms"),
                "cycle_from": st.sampled_from(get_args(Web.model_fields["cycle_from"].annotation)),
                "request": times("1 B", "128 B", "1000 B"),
                "spacing_from": times("0 s", "5 ms"),
                "spacing_to": times("5 ms", "50 ms"),
                "cut": st.sampled_from(get_args(Web.model_fields["cut"].annotation)),
            },
        ),
        "start": kinds(
            {"kind": st.just("fixed"), "at": times("0 s", "100 us")},
            {"kind": st.just("staggered"), "interval": times("0 s", "100 us")},
            {"kind": st.just("random"), "over": times("0 s", "100 us", "1 s")},
        ),
        "stop": st.one_of(
            st.none(),
            kinds(
                {"kind": st.just("at"), "at": times("20 ms", "2 s")},
                {"kind": st.just("after"), "after": times("1 us", "300 ms")},
            ),
        ),
    }
)

arriving = kinds(
    {
        "kind": st.just("flow-arrivals"),
        "rate": st.sampled_from([2, 50, 1000]),
        "sizes": kinds(
            {"kind": st.just("fixed"), "size": times("1 B", "1000 B", "40 KB")},
            {"kind": st.just("pareto"), "mean": times("5 KB", "100 KB"), "shape": st.sampled_from([1.2, 3])},
            {"kind": st.just("web-search")},
        ),
        "flows": st.sampled_from([None, 5]),
        "most_active": st.sampled_from([1, 4, 100]),
    }
)

players = kinds(
    {
        "kind": st.just("adaptive-video"),
        "ladder": st.sampled_from([["100 kbit/s"], ["10 kbit/s", "1 Mbit/s", "20 Mbit/s"]]),
        "chunk": times("100 ms", "500 ms"),
        "buffer": times("500 ms", "10 s"),
        "request": times("1 B", "1000 B"),
        "rule": kinds(
            {"kind": st.just("buffer"), "reservoir": times("0 s", "200 ms"), "cushion": times("0 s", "1 s")},
            {"kind": st.just("throughput"), "chunks": st.sampled_from([1, 5])},
        ),
    }
)

ecns = kinds(
    {"kind": st.just("off")},
    {"kind": st.just("classic"), "abe": st.booleans()},
    {"kind": st.just("dctcp")},
    {"kind": st.just("accurate"), "abe": st.booleans(), "option": st.booleans()},
)

ip_switches = st.fixed_dictionaries(
    {
        "buffer": times("1 packet", "5 packets", "2000 B", "4 KB", "unlimited"),
        "policy": st.one_of(
            st.just({"kind": "tail-drop"}),
            kinds_of(Policy, FOR_PACKETS).filter(lambda policy: policy.get("unit") != "cells"),
        ),
        "ties": st.sampled_from(["port-order", "random"]),
    }
)


@st.composite
def ip_fields(draw: st.DrawFn) -> dict[str, Any]:
    """Returns a strategy for networks like `graphs`', but with IP packets, no VBR, and buffers in packets or bytes."""
    table = draw(fields) | {"framing": "ip", "switch": draw(ip_switches)}
    marked = kinds_of(Congestion, [kind for kind in BUILT_IN if CONTROLS[kind].needs_marks != "none"])
    congestion = draw(st.one_of(st.just(table["tcp"]["congestion"]), marked))
    table["tcp"] = _marked(_possible(table["tcp"] | {"congestion": congestion}), draw(ecns))
    if draw(st.integers(0, 5)) == 0:
        table["traffic"] = draw(st.one_of(arriving, players))
        if table["tcp"]["careful_resume"] == "previous":
            table["tcp"]["careful_resume"] = "off"
    network = {name: value for name, value in table["network"].items() if name != "vbr"}
    if "links" in network:
        network["links"] = [{**link, "buffer": draw(ip_switches)["buffer"]} for link in network["links"]]
    return table | {"network": network}


conditioners = st.lists(kinds_of(Conditioner, distribution="paretonormal"), max_size=2)
accesses = kinds_of(Access, kinds_that(Access, lambda model: model.in_lab), cell="c", modcod="8PSK 3/4")


@st.composite
def ip_fields_of_the_lab(draw: st.DrawFn) -> dict[str, Any]:
    """Returns a strategy for tables that the lab supports: those of `ip_fields` without arriving flows and players, but
    with conditioners and medium access.
    """
    elsewhere = ("flow-arrivals", "adaptive-video")
    table = draw(ip_fields().filter(lambda table: table["traffic"]["kind"] not in elsewhere))
    network = {**table["network"]}
    is_dumbbell = network["kind"] == "dumbbell"
    links = [network] if is_dumbbell else network["links"]
    link = links[draw(st.integers(0, len(links) - 1))]
    parts = {"conditioners": conditioners, "return_conditioners": conditioners, "access": accesses}
    if is_dumbbell:
        parts |= {"exit_return_access": accesses}
    for name in draw(st.lists(st.sampled_from(list(parts)), max_size=2)):
        link[name] = draw(parts[name])
    for holder in (network, *network.get("nodes", ())):
        if draw(st.integers(0, 2)):
            holder.pop("send_jitter", None)
    return table | {"network": network}


def scenarios() -> st.SearchStrategy[Scenario]:
    """Returns a strategy for valid scenarios."""
    return st.one_of(fields, ip_fields()).map(lambda table: Scenario(defaults="1996", **table))


datagrams = kinds(
    {"kind": st.just("cbr"), "rate": times("1 kbit/s", "900 kbit/s", "40 Mbit/s"), "payload": times("1 B", "1472 B")},
    {"kind": st.just("poisson"), "rate": times("3 Mbit/s"), "payload": times("20 B", "1400 B")},
    {"kind": st.just("video"), "rate": times("2 Mbit/s"), "payload": times("480 B", "1200 B")},
    {"kind": st.just("voice")},
)
ups_and_downs = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "rate": st.lists(times("0 bit/s", "300 kbit/s", "6 Mbit/s"), min_size=1, max_size=3).map(
                lambda rates: [["0 s", "1 Mbit/s"], *([f"{100 * i} ms", rate] for i, rate in enumerate(rates, 1))]
            ),
            "rate_cycle": st.sampled_from([None, "450 ms"]),
            "outages": st.fixed_dictionaries(
                {
                    "every": times("170 ms"),
                    "gap": times("30 ms"),
                    "in_service": st.sampled_from(["hold", "drop", "deliver"]),
                    "waiting": st.sampled_from(["hold", "drop"]),
                }
            ),
        }
    ),
)


# Maximum number of packets that the applications of a mix write, so that a run takes only seconds.
MAX_PACKETS = 1_000_000


def packets_per_second(group: dict[str, Any]) -> float:
    """Returns how many packets per second a group's applications write; greedy ones are limited by the trunk."""
    traffic = group["traffic"]
    if "rate" not in traffic:
        return 0.0
    length = traffic.get("payload", group["tcp"]["mss"])
    return float(group["count"] * RATE.parse(traffic["rate"]) / 8 / SIZE.parse(length))


@st.composite
def mixes(draw: st.DrawFn) -> Scenario:
    """Returns a strategy for a dumbbell with different TCP segments, transfers, datagrams, VBR and outages, including
    short runs.
    """
    groups = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "count": st.integers(1, 40),
                    "traffic": st.one_of(
                        datagrams,
                        st.just({"kind": "greedy"}),
                        kinds(
                            {"kind": st.just("transfer"), "size": times("1 B", "480 B", "9000 B")},
                            {"kind": st.just("stream"), "rate": times("100 kbit/s", "20 Mbit/s")},
                        ),
                    ),
                    "tcp": st.fixed_dictionaries(
                        {"mss": times("1 B", "500 B", "512 B", "1460 B"), "silly_window_avoidance": st.booleans()}
                    ),
                    "start": st.just({"kind": "fixed", "at": "0 s"}),
                    "stop": st.sampled_from([None, None, {"kind": "after", "after": "50 ms"}]),
                    "direction": st.sampled_from(["forth", "forth", "forth", "back"]),
                }
            ),
            min_size=1,
            max_size=4,
        )
    )
    framing: Framing = draw(st.sampled_from(get_args(Framing)))
    path = draw(ups_and_downs)
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "access_rate": draw(times("2 Mbit/s", "1 Gbit/s")),
        "trunk_rate": draw(times("64 kbit/s", "1 Mbit/s")),
        "access_delay": "0 s",
        "trunk_delay": draw(times("0 s", "20 ms")),
        "exit_delay": "0 s",
        "group": [{**group, "name": f"g{i}"} for i, group in enumerate(groups)],
    }
    if framing == "ip" and draw(st.integers(0, 3)) == 0:
        network["group"].append({"name": "users", "traffic": draw(arriving)})
    switch: dict[str, Any] = {"buffer": draw(times("40 cells" if framing == "aal5" else "3 packets", "unlimited"))}
    if path is not None:
        network["path"] = {name: value for name, value in path.items() if value is not None}
    elif framing == "aal5":
        network["vbr"] = draw(vbr.map(lambda source: source and {**source, "rate": None}))
        switch["scheduler"] = draw(schedulers)
    rate = sum(map(packets_per_second, groups))
    lengths = ("1 ms", "60 ms", "2 s", "7.3 s")
    longest = max(1, sum(rate * TIME.parse(length) / 1e12 <= MAX_PACKETS for length in lengths))
    duration = draw(times(*lengths[:longest]))
    return Scenario(defaults="1996", framing=framing, duration=duration, network=network, switch=switch)
