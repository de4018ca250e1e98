"""What is said of a scenario, or of a design's points, before it is run: that it can't show what it seems to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from longpipe.analysis.files import doubts_of_files
from longpipe.analysis.paths import Resolved, port_name, window_warnings
from longpipe.units import TIME

if TYPE_CHECKING:
    from longpipe.scenario import Scenario
    from longpipe.scenario.network import Dumbbell, Link

# What draws random numbers, by kind.
DRAWN_TRAFFIC: Final = ("web", "poisson", "video")
DRAWN_LOSSES: Final = ("bernoulli", "over-time", "gilbert-elliott", "gilbert-elliott-in-time", "bit-errors")
DRAWN_QUEUES: Final = ("red", "pie", "blue")
DRAWN_PHASES: Final = ("common", "per-flow")
DRAWN_CONTROLS: Final = ("bbr", "bbr3")
# Recoveries whose receivers tell of data beyond a hole.
SELECTIVE: Final = ("sack", "rfc6675", "rack")
# A path that changes once or twice is meant to stay where it is then.
FEWEST_STEPS: Final = 4

_REMEDY: Final = "needs start = {kind = 'random', over = '1 s'}, or else what is drawn"


def cautions(scenario: Scenario) -> list[str]:
    """Returns a line for each thing that a scenario can't show.

    These are values of files that are implausible, rates and buffers that windows can't fill, and paths that end before
    the run.
    """
    resolved = scenario.resolved
    ways = [*_ended_series(resolved), *_other_ways_back(scenario)]
    return [*doubts_of_files(scenario), *window_warnings(scenario), *ways, *_unsplit(scenario), *_never_wait(resolved)]


def of_points(scenarios: Sequence[Scenario], replications: int) -> list[str]:
    """Lines about the points of a design: the first of the like above, how many have one, and whether seeds matter."""
    found = [(scenario, lines) for scenario in scenarios if (lines := cautions(scenario))]
    said = []
    if found:
        first, lines = found[0]
        said.append(f"{len(found)} of {len(scenarios)} points, as {first.name}: {lines[0]}")
    alike = [line for scenario in scenarios if (line := seedless(scenario))] if replications > 1 else []
    if alike:
        where = "" if len(alike) == len(scenarios) else f"{len(alike)} of {len(scenarios)} points: "
        said.append(where + alike[0])
    return said


def seedless(scenario: Scenario) -> str:
    """A line if the seed draws nothing that makes one run differ from another, else ""."""
    resolved = scenario.resolved
    if resolved["framing"] != "ip" and len(resolved["flows"]) > 1 and resolved["ties"] == "random":
        # Cells of several circuits reach a switch at one instant all the time.
        return ""
    if any(_drawn(resolved)):
        return ""
    if len(resolved["flows"]) == 1 or resolved["ties"] != "random":
        return f"seed: nothing here is drawn by it, replications are copies; {_REMEDY}"
    return f"seed: it draws the order of packets at one instant and no more, replications may be copies; {_REMEDY}"


def _drawn(resolved: Resolved) -> Iterator[bool]:
    """Of each part of a scenario, whether it draws by the seed."""
    for flow in resolved["flows"]:
        start, tcp = flow["start"], flow["tcp"]
        yield start["kind"] == "random" and start["over_ps"] > 1
        yield _draws(flow["traffic"])
        yield tcp["timer"].get("phase", {}).get("kind") in DRAWN_PHASES
        yield _kind(tcp["congestion"]) in DRAWN_CONTROLS
    for link in resolved["links"]:
        yield link["loss"]["kind"] in DRAWN_LOSSES
        yield link["policy"]["kind"] in DRAWN_QUEUES
        # Which flows share one of so many queues.
        yield link["policy"].get("queues") is not None and len(resolved["flows"]) > 1
    yield any(node["send_jitter_ps"] > 0 for node in resolved["nodes"])


def _draws(traffic: Mapping[str, Any]) -> bool:
    """Whether what is sent is drawn; bursts by how their times are distributed."""
    return traffic["kind"] in DRAWN_TRAFFIC or traffic.get("times", {}).get("kind", "fixed") != "fixed"


def _kind(chosen: str | Mapping[str, Any]) -> str:
    return chosen if isinstance(chosen, str) else str(chosen["kind"])


def _other_ways_back(scenario: Scenario) -> Iterator[str]:
    """A line for each path over satellites whose way back is another one, as where an example's path was changed."""
    network = scenario.network
    ways: list[tuple[str, Dumbbell | Link]] = []
    if network.kind == "dumbbell":
        ways.append(("network", network))
    else:
        ways += [(f"network.links[{k}]", link) for k, link in enumerate(network.links)]
    for where, way in ways:
        there, back = way.path, way.return_path
        if there and there.kind == "satellites" and back and back.kind != "satellites":
            yield f"{where}.return_path: {back.kind}; without it, over the satellites of {where}.path too"


def _unsplit(scenario: Scenario) -> Iterator[str]:
    """A line where a proxy lets web traffic pass."""
    network, resolved = scenario.network, scenario.resolved
    splits = network.pep if network.kind == "dumbbell" else any(node.pep for node in network.nodes)
    web = sum(flow["traffic"]["kind"] == "web" for flow in resolved["flows"])
    if splits and web:
        yield f"network.pep: {web} flows of web traffic pass unsplit; proxies split greedy and transfer"


def _never_wait(resolved: Resolved) -> Iterator[str]:
    """A line where ACKs are to wait beyond a hole, which they do by SACK and a round trip that timestamps tell."""
    asked = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"]["ack"].get("sack_delay_ps")]
    if any(_kind(tcp["recovery"]) not in SELECTIVE for tcp in asked):
        yield f"tcp.ack.sack_delay: no ACK waits without SACK; needs tcp.recovery {', '.join(SELECTIVE)}"
    elif not all(tcp["timer"].get("timestamps") for tcp in asked):
        yield "tcp.ack.sack_delay: no ACK waits where no round trip is known; needs tcp.timer.timestamps = true"


def _ended_series(resolved: Resolved) -> Iterator[str]:
    """A line for each path that changes all the time, and then for longer than ever before no more."""
    duration_ps = resolved["duration_ps"]
    changing = [flow for flow in resolved["flows"] if "rerouting" in flow]
    ways = [way for flow in changing for way in (flow, *flow["rerouting"]["changes"])]
    # A series of a link that routes come to and leave again need not go on.
    left = {k for way in ways for k in (*way["route"], *way["return_route"])}
    for k, link in enumerate(resolved["links"]):
        instants = _instants(link)
        if len(instants) < FEWEST_STEPS or k in left:
            continue
        longest = max(after - before for before, after in pairwise(instants))
        if duration_ps - instants[-1] > longest:
            yield f"{port_name(resolved, k)}: its path's series ends at {TIME.format(instants[-1])}; held from then on"


def _instants(link: Mapping[str, Any]) -> list[int]:
    """When a link that moves changes its rate, its delay or its losses; nothing of what begins anew."""
    motion = link.get("motion", {})
    service = motion.get("service", {})
    if service.get("kind") == "opportunities" or service.get("cycle_ps") is not None:
        return []
    steps = [*service.get("steps", ()), *motion.get("delay", {}).get("knots_ps", ())]
    if link["loss"]["kind"] == "over-time":
        steps += link["loss"]["steps_ps"]
    return sorted({at for at, *_ in steps})
