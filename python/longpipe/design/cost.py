"""Estimated cost of a design."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from longpipe.aal5 import CELL_BITS, packet_cells
from longpipe.ip import packet_bytes
from longpipe.scenario import Scenario
from longpipe.scenario.base import models_by_kind
from longpipe.scenario.control_kinds import MODELS
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.module import modules_of
from longpipe.scenario.paths import part_kind
from longpipe.scenario.policies import Policy

# All times are measured on one core of a 2 GHz server. Time per packet (cell of the reference engine) and link; time if
# several links are shared by different sets of flows; and time of the reference engine for IP.
S_PER_HOP: Final = 15e-9
S_PER_MERGED_HOP: Final = 40e-9
S_PER_REFERENCE_HOP: Final = 130e-9
# CPU time per cell of VBR, and per datagram, over all links.
S_PER_VBR_CELL: Final = 35e-9
S_PER_DATAGRAM: Final = 100e-9
# Per packet: at a port with conditioners; with a congestion control that models the path; of a web server, whose files
# end with short segments.
S_PER_CONDITIONED: Final = 50e-9
S_PER_MODEL: Final = 250e-9
S_PER_WEB: Final = 250e-9
# Per row and file of a trace, and per packet that needs a controller in Python or a real stack.
S_PER_ROW: Final = 0.35e-6
S_PER_TRACE: Final = 0.015
S_PER_CALL: Final = 2.5e-6
# Overhead of a run and of each flow.
S_PER_RUN: Final = 0.006
S_PER_FLOW: Final = 25e-6

_QUEUES: Final = models_by_kind(Policy)


@dataclass(frozen=True)
class Cost:
    """Number of runs, with their total simulated time [s] and estimated processor time [s].

    `measured` is the number of runs on which the processor time was measured, and `parts` the number of those that were
    stopped before their end; 0 if it follows from the scenario alone.
    """

    points: int
    runs: int
    simulated_s: float
    cpu_s: float
    measured: int = 0
    parts: int = 0

    def __str__(self) -> str:
        planned = f"{_counted(self.points, 'point')}, {_counted(self.runs, 'run')}"
        # Unless measured, each bottleneck counts as busy.
        source = (
            "an estimate, within a factor of 3 or 1 s if links are busy; too long if losses, windows or applications "
            "keep them idle"
        )
        if self.measured:
            beginnings = f", {self.parts} of them in part" if self.parts else ""
            source = f"measured on {_counted(self.measured, 'run')}{beginnings}"
        return (
            f"{planned}, {self.simulated_s:g} s of simulated time, "
            f"about {duration_text(self.cpu_s)} of processor time ({source})"
        )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def simulated_s(scenario: Scenario) -> float:
    """Returns the simulated time [s] of one run."""
    return float(scenario.resolved["duration_ps"]) / 1e12


def cpu_s(scenario: Scenario) -> float:
    """Estimates the processor time of one run [s], with its traces, as if every bottleneck were always busy."""
    resolved = scenario.resolved
    duration_s = resolved["duration_ps"] / 1e12
    rates_bps = [link["rate_bps"] for link in resolved["links"]]
    users = Counter(link for flow in resolved["flows"] for link in flow["route"])
    per_hop_s = _per_hop_s(resolved)
    ip = resolved["framing"] == "ip"
    own_classes = _own_classes(resolved)
    hops = calls = extra_s = 0.0
    # Data packets, with one ACK each, and their arrivals at ports of switches.
    packets = at_ports = 0.0
    for flow in resolved["flows"]:
        traffic = flow["traffic"]
        if "payload_bytes" in traffic or "sent_ps" in traffic:
            sent = _datagrams(traffic, duration_s)
            extra_s += sent * (S_PER_DATAGRAM + _ports_s(resolved, flow["route"]))
            at_ports += sent * (len(flow["route"]) - 1)
            continue
        share_bps = min(rates_bps[link] / users[link] for link in flow["route"])
        mss = flow["tcp"]["mss_bytes"]
        if ip:
            data, ack, bits = 1, 1, 8 * packet_bytes(mss)
        elif resolved["engine"] == "reference":
            data, ack, bits = packet_cells(mss), packet_cells(0), CELL_BITS
        else:
            # The fast engine moves the cells of a packet together.
            data, ack, bits = 1, 1, packet_cells(mss) * CELL_BITS
        units = min(share_bps * duration_s / bits, _most_packets(flow) * data)
        hops += units * (len(flow["route"]) + len(flow["return_route"]) * ack / data)
        packets += units / data
        at_ports += units / data * (len(flow["route"]) + len(flow["return_route"]) - 2)
        control = flow["tcp"]["congestion"]
        has_class = isinstance(control, dict) and control.get("digest") in own_classes
        calls += units / data if has_class or traffic["kind"] == "stack" else 0
        of_model, of_web = S_PER_MODEL * (part_kind(control) in MODELS), S_PER_WEB * (traffic["kind"] == "web")
        extra_s += units / data * (_ports_s(resolved, flow["route"]) + of_model + of_web)
    traces = resolved["traces"]
    recorded = [name for name, is_recorded in traces.items() if is_recorded is True]
    rows = {"queue": at_ports, "delay": at_ports, "sequence": 2 * packets, "rtt": packets, "arrivals": packets}
    if "vc_queue" in recorded:
        rows["vc_queue"] = resolved["duration_ps"] / traces["vc_queue_interval_ps"]
    recording_s = sum(rows.get(name, 0.0) * S_PER_ROW + S_PER_TRACE for name in recorded)
    # VBR is simulated cell by cell, also by the engine that moves the cells of a packet together.
    cells = sum(_vbr_cells_per_s(source) for source in resolved.get("vbr", ())) * duration_s
    extra_s += cells * S_PER_VBR_CELL + len(resolved["flows"]) * S_PER_FLOW
    return float(hops * per_hop_s + extra_s + recording_s + calls * S_PER_CALL + S_PER_RUN)


# Estimates by the digest of the scenario, because callers ask for the same scenarios repeatedly; and their maximum
# number. A scenario's hash takes a hundred times as long as its digest, which is cached.
_ESTIMATES: Final[dict[str, float]] = {}
_MAX_ESTIMATES: Final = 20_000


def estimated_cpu_s(scenario: Scenario) -> float:
    """Returns `cpu_s`, from a cache if possible."""
    digest = scenario.digest()
    if digest not in _ESTIMATES:
        if len(_ESTIMATES) == _MAX_ESTIMATES:
            _ESTIMATES.clear()
        _ESTIMATES[digest] = cpu_s(scenario)
    return _ESTIMATES[digest]


def duration_text(seconds: float) -> str:
    """Formats a time in a suitable unit: "40 s", "12 min", "3.5 h"."""
    if seconds < 99.5:
        return f"{seconds:.2g} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else f"{seconds / 86_400:.0f} days"


def _per_hop_s(resolved: Mapping[str, Any]) -> float:
    """Returns the time per packet (cell of the reference engine) and link [s]."""
    if resolved["engine"] == "reference" and resolved["framing"] == "ip":
        return S_PER_REFERENCE_HOP
    flows_of = defaultdict(set)
    for number, flow in enumerate(resolved["flows"]):
        for link in flow["route"]:
            flows_of[link].add(number)
    shared = {frozenset(flows) for flows in flows_of.values() if len(flows) > 1}
    return S_PER_MERGED_HOP if len(shared) > 1 else S_PER_HOP


def _ports_s(resolved: Mapping[str, Any], route: Iterable[int]) -> float:
    """Returns the time that the queue disciplines and conditioners of a route take per packet [s]."""
    links = [resolved["links"][number] for number in route]
    queues_ns: int = sum(_QUEUES[part_kind(link["policy"])].cost_ns for link in links)
    return queues_ns / 1e9 + sum(bool(link.get("conditioners")) for link in links) * S_PER_CONDITIONED


def _datagrams(traffic: Mapping[str, Any], duration_s: float) -> float:
    """Returns the mean number of datagrams that an application sends in a run; of a file, all count."""
    if "sent_ps" in traffic:
        return float(len(traffic["sent_ps"]))
    share = traffic["on_ps"] / (traffic["on_ps"] + traffic["off_ps"]) if "on_ps" in traffic else 1.0
    return float(duration_s * share * traffic["rate_bps"] / (8 * (traffic["payload_bytes"] + HEADERS)))


def _vbr_cells_per_s(vbr: Mapping[str, Any]) -> float:
    """Returns the mean number of cells that a VBR source sends [1/s]."""
    return float(vbr["peak_bps"] / CELL_BITS * vbr["on_ps"] / (vbr["on_ps"] + vbr["off_ps"]))


def _own_classes(resolved: Mapping[str, Any]) -> set[str]:
    """Returns the digests of the controllers of a run that are classes in Python."""
    # Classes need cloudpickle and NumPy; a scenario with a class has already loaded the module.
    classes = sys.modules.get("longpipe.controls.classes")
    return set() if classes is None else {digest for digest in modules_of(resolved) if classes.knows(digest)}


def _most_packets(flow: dict[str, Any]) -> float:
    size = flow["traffic"].get("size_bytes")
    return float("inf") if size is None else size / flow["tcp"]["mss_bytes"] + 1
