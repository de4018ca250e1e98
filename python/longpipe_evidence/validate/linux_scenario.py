"""Translates a scenario with one bottleneck into a case of `linux`, and compares its goodput with that of TCP in Linux.

The path has the scenario's rate, minimum RTT, buffer, queue, losses, jitter and the changes of these over time.
`docs/linux.md` lists the differences between the kernel's TCP and the scenario's, for example its clock of 100 ticks
per second.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import pandas as pd

from longpipe import Scenario, simulate
from longpipe.analysis.intervals import CONFIDENCE
from longpipe.analysis.quantiles import t_quantile
from longpipe.errors import ScenarioError
from longpipe.ip import transmission_ps
from longpipe.scenario.network import Dumbbell
from longpipe.units import TIME
from longpipe_evidence.validate.linux import PACKET_BYTES, LinuxCase, LinuxControl, LinuxFlow, run_each
from longpipe_evidence.validate.linux_compare import NAMES
from longpipe_evidence.validate.linux_disciplines import ETHERNET_BYTES, WIRE_BYTES
from longpipe_evidence.validate.linux_guest.load import WRITE_S

PS_PER_S: Final = 10**12
STEP_PS: Final = round(WRITE_S * PS_PER_S)
# Length of a pure ACK [bytes]: IP 20, TCP 20, timestamps 12.
ACK_BYTES: Final = 52
# Minimum rate of the return path, as a share of the trunk's: below this share, ACKs would queue, and the guest has no
# bottleneck on the return path.
MIN_RETURN: Final = 0.1
# Number of packets that stands for an unlimited buffer.
UNLIMITED: Final = 1_000_000
# Fields of a resolved link that Linux's path can represent.
_LINK: Final = {"from", "to", "rate_bps", "delay_ps", "buffer", "policy", "loss", "scheduler", "motion", "conditioners"}


@dataclass(frozen=True)
class LinuxReplay:
    """Goodput [bit/s] in Linux and in longpipe: for each flow, a list with one value per seed."""

    controls: tuple[str, ...]
    linux: tuple[tuple[float, ...], ...]
    longpipe: tuple[tuple[float, ...], ...]

    @property
    def frame(self) -> pd.DataFrame:
        """Returns a row per flow: `control`, mean goodputs [Mbit/s], their minima and maxima, and `difference`.

        The difference of the means and `margin`, the half-width of its 95 % interval, are relative to Linux's mean;
        with only one seed, the margin is NaN.
        """
        rows = []
        for control, linux, longpipe in zip(self.controls, self.linux, self.longpipe, strict=True):
            row: dict[str, Any] = {"control": control}
            for name, values in (("linux", linux), ("longpipe", longpipe)):
                row[f"{name}_mbps"] = sum(values) / len(values) / 1e6
                row[f"{name}_least_mbps"], row[f"{name}_most_mbps"] = min(values) / 1e6, max(values) / 1e6
            row["difference"] = row["longpipe_mbps"] / row["linux_mbps"] - 1 if row["linux_mbps"] else math.inf
            row["margin"] = _margin(linux, longpipe)
            rows.append(row)
        return pd.DataFrame(rows)


def _margin(linux: Sequence[float], longpipe: Sequence[float]) -> float:
    """Returns the half-width of the interval of the difference of two means, relative to Linux's mean.

    The seeds are independent. The degrees of freedom are those of one sample, which is the minimum for Welch's t.
    """
    count, mean = len(linux), statistics.fmean(linux)
    if count < 2 or not mean:
        return math.nan
    error = math.sqrt((statistics.variance(linux) + statistics.variance(longpipe)) / count)
    return t_quantile(CONFIDENCE, count - 1) * error / mean


def replay(scenario: Scenario, seeds: Sequence[int]) -> LinuxReplay:
    """Runs a scenario in Linux, in one start of the guest, and in longpipe, once for each seed.

    Raises ScenarioError if Linux has no such path or the guest is unavailable.
    """
    case = case_of(scenario)
    runs = list(run_each([case] * len(seeds), seed=seeds[0]))
    results = [simulate(scenario, seed) for seed in seeds]
    end = float(runs[0].series["time_s"].iloc[-1])
    delivered = [result.flows["delivered_bytes"].to_numpy(dtype=float) for result in results]
    flows = range(len(case.flows))
    return LinuxReplay(
        tuple(flow.control for flow in case.flows),
        tuple(tuple(run.goodput(0.0, end, flow) for run in runs) for flow in flows),
        tuple(tuple(8 * float(of_run[flow]) / end for of_run in delivered) for flow in flows),
    )


def command(scenarios: Mapping[str, Scenario]) -> list[str] | None:
    """Returns the command that replays scenario files, from scenarios by file name; None if Linux has no such path."""
    try:
        for scenario in scenarios.values():
            case_of(scenario)
    except ScenarioError:
        return None
    return ["longpipe", "validate", "linux", "scenario", *scenarios]


def case_of(scenario: Scenario) -> LinuxCase:
    """Converts a scenario to a case.

    Raises a ScenarioError that names the first field that Linux's path cannot represent.
    """
    if not isinstance(scenario.network, Dumbbell):
        raise ScenarioError(f"network.kind: {scenario.network.kind}; Linux's path needs a dumbbell")
    if scenario.framing != "ip":
        raise ScenarioError(f"framing: {scenario.framing}; Linux's path needs ip")
    resolved = scenario.resolved
    flows, links = resolved["flows"], resolved["links"]
    _check_network(scenario, resolved)
    first = flows[0]
    trunk, back = links[first["route"][1]], links[first["return_route"][1]]
    _check_links(trunk, back, links, first)
    motion = trunk.get("motion", {})
    rates = _rates(trunk)
    rounds = _round_trips(links, first, rates, motion, back.get("motion", {}))
    # If a flow has no handshake, this setting is absent, and `_flow` later rejects the flow.
    handshake_ps = max(flow["tcp"].get("handshake", False) * rounds[0] for flow in flows)
    return LinuxCase(
        rate=rates[0],
        rates=tuple((_time(at), rate) for at, rate in rates.items() if at),
        round_trip=_time(rounds[0]),
        round_trips=tuple((_time(at), _time(value)) for at, value in rounds.items() if at),
        buffer=_packets(trunk["buffer"]),
        discipline=_discipline(trunk["policy"]),
        loss=trunk["loss"].get("probability", 0.0),
        lose=tuple(trunk["loss"].get("indices", ())),
        jitter=_jitter(trunk),
        hystart=_hystart(flows),
        flows=tuple(_flow(scenario, number, handshake_ps) for number in range(len(flows))),
        duration=scenario.duration,
    )


def _check_network(scenario: Scenario, resolved: Mapping[str, Any]) -> None:
    """Raises ScenarioError for parts, other than links, that Linux's path cannot represent."""
    network = scenario.network
    for name in ("pep", "vbr", "access", "return_access", "exit_access", "exit_return_access"):
        if getattr(network, name) is not None:
            raise ScenarioError(f"network.{name}: present; Linux's path has none")
    if any(node.get("send_jitter_ps") for node in resolved["nodes"]):
        raise ScenarioError("network.send_jitter: above 0; Linux's senders have none")
    links = resolved["links"]
    # Rates and delays of all links of a flow's round trip, which must be equal for all flows.
    round_trips = {
        tuple((links[place]["rate_bps"], links[place]["delay_ps"]) for place in (*flow["route"], *flow["return_route"]))
        for flow in resolved["flows"]
    }
    trunks = {flow["route"][1] for flow in resolved["flows"]}
    if len(round_trips) > 1 or len(trunks) > 1:
        raise ScenarioError("network.group: flows in two directions or with several RTTs; Linux's path has one of each")


def _check_links(
    trunk: Mapping[str, Any], back: Mapping[str, Any], links: Sequence[Mapping[str, Any]], flow: Mapping[str, Any]
) -> None:
    """Raises ScenarioError for features of links that Linux's path cannot represent."""
    slowest = min(rate for _, rate in _steps(back))
    fastest = max(rate for _, rate in _steps(trunk))
    if slowest < MIN_RETURN * fastest:
        raise ScenarioError(
            f"network.return_rate: {slowest} bit/s; Linux's path does not queue ACKs, so it needs {MIN_RETURN:.0%} "
            "of network.trunk_rate"
        )
    for place in (flow["route"][0], flow["route"][2]):
        if links[place]["rate_bps"] < fastest:
            raise ScenarioError("network.access_rate: below network.trunk_rate; Linux's bottleneck is the trunk")
    if back["loss"]["kind"] != "none":
        raise ScenarioError(f"network.return_loss: {back['loss']['kind']}; Linux's path does not lose ACKs")
    if back.get("conditioners"):
        raise ScenarioError("network.return_conditioners: present; Linux's path has none")
    if trunk["loss"]["kind"] not in ("none", "bernoulli", "packets"):
        raise ScenarioError(f"network.trunk_loss: {trunk['loss']['kind']}; accepts none, bernoulli, packets")
    for link, name in ((trunk, "path"), (back, "return_path")):
        if unsupported := sorted(link.keys() - _LINK):
            raise ScenarioError(f"network: {', '.join(unsupported)} of the trunk; Linux's path has none")
        _check_motion(link.get("motion", {}), f"network.{name}")


def _check_motion(motion: Mapping[str, Any], field: str) -> None:
    """Raises ScenarioError if a time-varying link has features that Linux's path lacks."""
    if unsupported := sorted(motion.keys() - {"delay", "order", "service"}):
        raise ScenarioError(f"{field}: {', '.join(unsupported)}; Linux's path only has changes of rate and delay")
    if "delay" in motion and motion["delay"]["between"] != "hold":
        raise ScenarioError(f"{field}.between: {motion['delay']['between']}; Linux's path needs hold")
    if motion.get("order", "fifo") != "fifo":
        raise ScenarioError(f"{field}.order: {motion['order']}; Linux's path needs fifo")
    service = motion.get("service", {"kind": "steps"})
    if service["kind"] != "steps" or service.get("cycle_ps"):
        raise ScenarioError(f"{field}: a schedule or a cycle of rates; Linux's path needs steps of the rate")


def _steps(link: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Returns a link's rates [bit/s], each with the instant [ps] from which it applies; the first is at 0."""
    steps = [(int(at), int(rate)) for at, rate in link.get("motion", {}).get("service", {}).get("steps", ())]
    return steps if steps and steps[0][0] == 0 else [(0, int(link["rate_bps"])), *steps]


def _rates(trunk: Mapping[str, Any]) -> dict[int, str]:
    """Returns the token bucket's rate, including Ethernet's headers, by instant [ps]."""
    rates = {}
    for at, rate in _steps(trunk):
        if rate == 0:
            raise ScenarioError("network.path.rate: 0 bit/s; Linux's bottleneck needs a rate above 0")
        rates[_rounded(at)] = f"{-(-rate * ETHERNET_BYTES // WIRE_BYTES)} bit/s"
    return rates


def _round_trips(
    links: Sequence[Mapping[str, Any]],
    flow: Mapping[str, Any],
    rates: Mapping[int, str],
    forth: Mapping[str, Any],
    back: Mapping[str, Any],
) -> dict[int, int]:
    """Returns the minimum RTT [ps] by instant [ps]: the delays of all links plus a packet's transmission times."""
    fixed = sum(transmission_ps(WIRE_BYTES, links[place]["rate_bps"]) for place in (flow["route"][0], flow["route"][2]))
    fixed += sum(transmission_ps(ACK_BYTES, links[place]["rate_bps"]) for place in flow["return_route"])
    fixed += sum(links[way[end]]["delay_ps"] for way in (flow["route"], flow["return_route"]) for end in (0, 2))
    series = [
        {at: transmission_ps(PACKET_BYTES, int(rate.split()[0])) for at, rate in rates.items()},
        *(_delays(links[way[1]], motion) for way, motion in ((flow["route"], forth), (flow["return_route"], back))),
    ]
    now, round_trips_ps = [delays[0] for delays in series], {}
    for at in sorted({at for delays in series for at in delays}):
        now = [delays.get(at, latest) for delays, latest in zip(series, now, strict=True)]
        round_trips_ps[at] = fixed + sum(now)
    return round_trips_ps


def _delays(link: Mapping[str, Any], motion: Mapping[str, Any]) -> dict[int, int]:
    """Returns a link's delay [ps] by instant [ps]."""
    knots = [(int(at), int(delay)) for at, delay in motion.get("delay", {}).get("knots_ps", ())]
    # The first delay applies from the beginning.
    first = knots[0][1] if knots else int(link["delay_ps"])
    return {0: first, **{_rounded(at): delay for at, delay in knots}}


def _rounded(at_ps: int) -> int:
    """Returns the nearest instant [ps] at which the guest can change its path."""
    return round(at_ps / STEP_PS) * STEP_PS


def _time(time_ps: int) -> str:
    return TIME.canonical(f"{time_ps} ps")


def _packets(buffer: Mapping[str, Any] | None) -> int:
    """Returns tc's limit, which does not count the packet in transmission."""
    if buffer is None:
        return UNLIMITED
    limit = int(buffer["limit"]) if buffer["unit"] == "packets" else int(buffer["limit"]) // WIRE_BYTES
    return max(1, limit - 1)


def _discipline(policy: Mapping[str, Any]) -> str:
    """Returns a queue in tc's syntax, without its limit."""
    kind = policy["kind"]
    if policy.get("ecn"):
        raise ScenarioError("switch.policy.ecn: true; neither the scenario's TCP nor Linux's uses it here")
    if kind == "tail-drop":
        return "pfifo"
    if kind in ("codel", "fq-codel"):
        times = (f"{word} {policy[f'{word}_ps'] // 10**6}us" for word in ("target", "interval"))
        return f"{kind.replace('-', '_')} {' '.join(times)} noecn"
    if kind == "pie":
        return f"pie target {policy['target_ps'] // 10**6}us tupdate {policy['update_ps'] // 10**6}us"
    raise ScenarioError(f"switch.policy: {kind}; Linux's path accepts tail-drop, codel, fq-codel, pie")


def _jitter(trunk: Mapping[str, Any]) -> tuple[str, str] | None:
    """Returns mean and half-width of the trunk's jitter; None without jitter.

    Raises ScenarioError for other conditioners.
    """
    conditioners = trunk.get("conditioners") or ()
    if not conditioners:
        return None
    if len(conditioners) > 1 or conditioners[0]["kind"] != "jitter":
        kinds = ", ".join(conditioner["kind"] for conditioner in conditioners)
        raise ScenarioError(f"network.conditioners: {kinds}; Linux's path needs at most one, of kind jitter")
    [jitter] = conditioners
    for name, needed in (("order", "fifo"), ("correlation", 0.0)):
        if jitter[name] != needed:
            raise ScenarioError(f"network.conditioners.{name}: {jitter[name]}; Linux's path needs {needed}")
    if "table" in jitter:
        raise ScenarioError("network.conditioners.distribution: a table; Linux's path needs uniform")
    return _time(jitter["delay_ps"]), _time(jitter["jitter_ps"])


def _hystart(flows: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether CUBIC uses HyStart, a setting that all of Linux's CUBIC flows share."""
    settings = {flow["tcp"]["congestion"]["hystart"] for flow in flows if _kind(flow["tcp"]["congestion"]) == "cubic"}
    if not settings <= {"linux", "none"} or len(settings) > 1:
        raise ScenarioError(
            f"tcp.congestion.hystart: {', '.join(sorted(settings))}; Linux accepts linux or none, for all flows"
        )
    return "none" not in settings


def _flow(scenario: Scenario, number: int, handshake_ps: int) -> LinuxFlow:
    """Returns a flow, which starts later by its handshake, because Linux's connections exist from the start."""
    flow = scenario.resolved["flows"][number]
    if flow["traffic"]["kind"] != "greedy":
        raise ScenarioError(f"traffic: {flow['traffic']['kind']}; needs greedy")
    if flow["start"]["kind"] != "fixed":
        raise ScenarioError(f"start: {flow['start']['kind']}; needs {{kind = 'fixed', at = '0 s'}}")
    congestion = flow["tcp"]["congestion"]
    kind = _kind(congestion)
    name = next((linux for linux, names in NAMES.items() if kind in names), kind)
    control_of: dict[str, LinuxControl] = {arg: arg for arg in get_args(LinuxControl)}
    if name not in control_of:
        raise ScenarioError(f"tcp.congestion: {kind}; Linux's are {', '.join(control_of)}")
    for field in _unlike_linux(scenario, flow):
        raise ScenarioError(f"tcp.{field}: differs from profile = 'linux-6'; Linux's TCP cannot be changed")
    return LinuxFlow(control=control_of[name], start=_time(flow["start"]["at_ps"] + handshake_ps))


def _unlike_linux(scenario: Scenario, flow: Mapping[str, Any]) -> Iterator[str]:
    """Yields the fields of a flow's TCP that differ from those in Linux's profile with the same control."""
    congestion = flow["tcp"]["congestion"]
    bare: Any = _kind(congestion)
    if bare == "cubic" and congestion["hystart"] == "none":
        bare = {"kind": bare, "hystart": "none"}
    changes: dict[str, object] = {"network.group": None, "tcp": {"profile": "linux-6", "congestion": bare}}
    linux = scenario.with_(**changes).resolved["flows"][0]["tcp"]
    yield from (name for name in sorted({*linux, *flow["tcp"]}) if linux.get(name) != flow["tcp"].get(name))


def _kind(part: object) -> str:
    return str(part["kind"]) if isinstance(part, Mapping) else str(part)
