"""Bounds on repeated events that occur even if no packet is sent, so that every run ends; the core checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from longpipe.scenario.base import accepted
from longpipe.scenario.topology import plain
from longpipe.scenario.traffic import Voice
from longpipe.scenario.vbr import OnOff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longpipe._core import Ports
    from longpipe.scenario.base import Model
    from longpipe.scenario.recorded import Traces
    from longpipe.scenario.tcp import Tcp
    from longpipe.scenario.topology import Topology
    from longpipe.scenario.traffic import Traffic

MAX_REPETITIONS: Final = 10**9
_LONGEST_PAUSE: Final = accepted(OnOff, "period").high


class Repeating(Protocol):
    """Part of a scenario on which repeated events depend."""

    duration: str
    traffic: Traffic
    traces: Traces


def check_repetition(scenario: Repeating, topology: Topology, tcps: Sequence[Tcp], ports: Ports) -> None:
    """Raises ScenarioError for an interval that fits into the run more than a billion times, and for endless bursts."""
    own = [scenario.traffic, *(flow.traffic for flow in topology.flows if flow.traffic is not None)]
    traffics, distinct = {id(traffic): traffic for traffic in own}, {id(tcp): tcp for tcp in tcps}
    traffic_numbers = {key: i for i, key in enumerate(traffics)}
    tcp_numbers = {key: i for i, key in enumerate(distinct)}
    flows = [
        (
            traffic_numbers.get(id(flow.traffic)),
            tcp_numbers[id(tcp)],
            flow.tcp is not None and "timer" in flow.tcp.model_fields_set,
        )
        for flow, tcp in zip(topology.flows, tcps, strict=True)
    ]
    repeating = {
        "duration": scenario.duration,
        "traffics": [(_set(one), one.repeats, one.transport == "tcp") for one in traffics.values()],
        "tcps": [(tcp.mss, plain(tcp.timer)) for tcp in distinct.values()],
        "flows": flows,
        "sampling": scenario.traces.vc_queue_interval if scenario.traces.vc_queue else None,
        "most_pause": _LONGEST_PAUSE,
    }
    topology.check_repetition(ports, repeating)


def _set(traffic: Model) -> dict[str, object]:
    """Returns the fields of traffic that are text, and its bursts with their times."""
    if isinstance(traffic, Voice):
        return _set(traffic.bursts())
    fields = plain(traffic)
    if (bursts := getattr(traffic, "bursts", None)) is not None:
        fields["bursts"] = _set(bursts)
    if (times := getattr(traffic, "times", None)) is not None:
        fields["times"] = vars(times)
    return fields
