"""Results of a run, as data frames whose column names contain the units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from longpipe import _core
from longpipe.cautions.cautions import cautions
from longpipe.errors import ScenarioError, in_one_line
from longpipe.metrics import atm_forum, convergence, delays, slowdowns, web
from longpipe.metrics.efficiency import Trunk, attainable_bytes, offers, trunk_after_vbr
from longpipe.metrics.sums import total
from longpipe.metrics.warm_up import begin_s
from longpipe.result import drops
from longpipe.result.captures import Capture
from longpipe.result.trace_frames import TraceFrames
from longpipe.scenario import Dumbbell, Scenario
from longpipe.scenario.paths import trunk as trunk_of
from longpipe.system.files import check_directory, write_text
from longpipe.system.gc_pause import without_collections
from longpipe.units import TIME
from longpipe.verdicts import demands
from longpipe.verdicts.limits import FlowLimit, limit_lines, limits, notes
from longpipe.verdicts.lockout import locked_out

# pandas takes 80 MB and a third of a second, so the first frame loads it; NumPy takes as long as a short run.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

# Lists that stores do not keep, each with the table of its flows and the summaries that stores keep.
_LISTS: Final = {
    "files": ("web", ("response_times", "waiting")),
    "completions": ("arrived", ("arrived", "slowdowns")),
    "chunks": ("videos", ("videos",)),
}
# Tables of the core that have a row per flow, port or source, each followed by the tables that are computed from it.
TABLES: Final = tuple(dict.fromkeys(table for table, _ in _core.result_tables() if table not in _LISTS))
_COMPUTED: Final = {"relays": ("reductions",), "web": ("response_times", "waiting"), "arrived": ("slowdowns",)}
# Names of the parts of a result that a store keeps in addition to its traces.
PARTS: Final = (
    *(part for table in TABLES for part in (table, *_COMPUTED.get(table, ()))),
    *("modules", "stacks", "programs", "warm_up"),
)
# Tables that `to_csv` writes even without rows, and tables that it writes together with others.
_ALWAYS: Final = ("flows", "ports", "classes", "vbr")
_TOGETHER: Final = {"web": ("files", "response_times"), "arrived": ("completions", "slowdowns"), "videos": ("chunks",)}
# Names of the numbered values of traces, by column, as the core declares them: stages of BBR and phases of Careful
# Resume, states of recoveries, limits of senders, and events with their causes.
NAMES: Final[Mapping[str, Sequence[str]]] = dict(_core.trace_names())
# Columns of the trace `packets`, in the order of the interface with stacks.
PACKET_EVENTS: Final = ("sent", "received", "lost", "acknowledged", "datagram-sent", "datagram-received")
PACKET_TYPES: Final = ("unknown", "initial", "handshake", "0RTT", "1RTT")
EVIDENCE: Final = ("unknown", "reordering", "time")

NOT_STATIONARY: Final = "not stationary: the transient lasts for more than half of the run, which needs to be longer"

# Columns by name: lists for a table, arrays for a trace.
Columns = Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Result of a run of a scenario with a seed; `state_hash` is equal for equal runs.

    Each table is a data frame that is created on first use. `captures` has an entry per packet capture. `one_thread`
    says why a run used one thread although several were requested. A result from a store has no `files`.
    """

    scenario: Scenario
    seed: int
    state_hash: str
    events: int
    # Columns from the core, by part and name; a stored run has `response_times` instead of `files`, and it has no
    # traces.
    columns: Mapping[str, Columns] = field(repr=False)
    captures: tuple[Capture, ...] = ()
    # Why the run used one thread although several were requested.
    one_thread: str | None = None
    # Reads the traces of a stored run, which are large, when they are first used.
    read_traces: Callable[[], Mapping[str, pd.DataFrame]] | None = field(default=None, repr=False)

    @classmethod
    def from_columns(cls, scenario: Scenario, seed: int, columns: Mapping[str, Any]) -> Result:
        """Creates a result from the columns of the core."""
        parts = {name: part for name, part in columns.items() if name in (*PARTS, *_LISTS, "traces")}
        if (trace := parts["traces"].get("delay")) is not None:
            ports = parts["ports"]
            parts["ports"] = {**ports, **delays.by_port(trace, len(ports["port"]), begin_s(parts))}
        if (trace := parts["traces"].get("arrivals")) is not None:
            flows = parts["flows"]
            parts["flows"] = {**flows, convergence.COLUMN: convergence.by_flow(scenario.resolved, trace, flows)}
        if parts.get("stacks", {}).get("flow"):
            parts["flows"] = {**parts["flows"], **_of_stacks(scenario, parts)}
        return cls(scenario, seed, columns["state_hash"], columns["events"], parts)

    def __repr__(self) -> str:
        """Returns a summary of the run in a few lines."""
        numbers = {**self.efficiencies, "fairness": self.fairness}
        texts = ", ".join(f"{name} {value:.3f}" for name, value in numbers.items() if not math.isnan(value))
        limited = "; ".join(limit_lines(self.flow_limits))
        return (
            f"Result of {self.scenario.name!r}, seed {self.seed}: {self.scenario.duration}, "
            f"{len(self._throughputs_bps)} flows, {self.total_bps / 1e6:.3f} Mbit/s in total, {texts}\n"
            + "\n".join([f"limited by {limited}", *filter(None, [self.warm_up])])
            + "".join(f"\nwarning: {line}" for line in self.warnings)
        )

    def _repr_html_(self) -> str:
        """Returns the summary with a table of the flows, for notebooks."""
        from longpipe.notebook import escape

        return f"<p>{escape(repr(self)).replace(chr(10), '<br>')}</p>{self.flows.to_html(max_rows=10, index=False)}"

    @cached_property
    def flows(self) -> pd.DataFrame:
        """A row per TCP connection and per datagram flow.

        `reordered_packets` counts the packets that arrived after a packet of the flow that was sent later (RFC 4737),
        without retransmissions and duplicates; it is nan for real stacks.
        With `traces.arrivals` it has `convergence_s`: see `metrics.convergence.by_flow`.
        """
        return _frame(self.part("flows"))

    @cached_property
    def ports(self) -> pd.DataFrame:
        """A row per directed link, named "a->b" by its nodes; cells include all classes.

        The queues are those of UBR if the port has UBR circuits. With framing "ip" it counts packets and bytes, and
        with `traces.delay` it has the mean, the median, and the 95th and 99th percentiles of the queueing delay [s]:
        see `metrics.delays.by_port`. After a warm-up, with a token bucket at any port, `shaped_bps` is the mean rate
        that the port's shapers allowed, and `policed_bps` the rate that shapers and policers allowed (nan without a
        limit). With a CAKE shaper at any port, `shaper_bytes` are the bytes that it counted, with overhead and framing.
        """
        import pandas as pd

        return pd.DataFrame(self.part("ports"))

    @cached_property
    def queues(self) -> pd.DataFrame:
        """A row per queue of each port whose policy assigns packets to queues by their codepoint or class.

        `queue` is "low-latency" or "classic" with `dualpi2`, "nqb" or "default" with `nqb`, the tin with `cake`, and
        "class0" to the last class with `strict-priority` and `weighted-priority`; ports with other policies have no
        rows. A packet has left its queue when its transmission starts, so the packet in transmission is not held,
        unlike in `ports`. Packets that the link's losses, a policer or an outage dropped before they reached a queue
        count only in `ports`.
        `packets_lost_aqm` includes ACKs that CAKE's filter removed; `mean_delay_s` is the mean time from arrival to the
        start of transmission [s], nan if no packet left.
        """
        return _frame(self.part("queues"))

    @cached_property
    def classes(self) -> pd.DataFrame:
        """A row per service class of each switch port; none with framing "ip"."""
        return _frame(self.part("classes"))

    @cached_property
    def vbr(self) -> pd.DataFrame:
        """A row per VBR source.

        Delays [s] are measured from the time at which a cell is ready to the end of its arrival at the sink.
        """
        return _frame(self.part("vbr"))

    @cached_property
    def guaranteed(self) -> pd.DataFrame:
        """A row per flow with a guaranteed rate (`service = "gfr"`).

        `frames_in` and `cells_in` count arrivals at the first switch. Of these, `frames_ineligible` and
        `cells_ineligible` are those that the F-GCRA found not eligible for the guarantee. `cells_delivered` counts the
        cells of the frames that reached the receiver complete.
        """
        return _frame(self.part("guaranteed"))

    @cached_property
    def datagrams(self) -> pd.DataFrame:
        """A row per datagram flow: datagrams sent, received and lost, duplicates received; delays and jitter [s].

        A datagram is received once; `received` and the one-way delays omit `duplicates`. `lost` counts the lost
        datagrams that were sent before the last one received. The jitter is that of RFC 3550 section 6.4.1 at the end.
        """
        return _frame(self.part("datagrams"))

    @cached_property
    def stacks(self) -> pd.DataFrame:
        """A row per flow with a real stack: its state at the end of the run.

        Values that the stack does not provide are nan.

        `closed` is the reason why a connection ended, at `closed_s`, before all data had arrived; "" if it did not. The
        counters of `flows` are the stack's: a retransmission is a packet that it declared lost, `fast_retransmits`
        counts the reductions of its window by losses and marks, and `timeouts` is nan if the stack does not report it.
        """
        return _frame(self.part("stacks"))

    @cached_property
    def programs(self) -> pd.DataFrame:
        """A row per program of yours that Linux ran at an end of a flow, the sender's before the receiver's.

        `field` is `command` or `serve`, and `program` contains the words of that field. `exit_code` is 128 and the
        number of the signal if one ended the program, as in a shell, and nan if it had not ended before the run did.
        `output` and `errors` hold the first MiB of its standard output and standard error.
        """
        return _frame(self.part("programs"))

    @cached_property
    def relays(self) -> pd.DataFrame:
        """A row per connection that ends at a split-TCP proxy: its counters, and those of the buffer that it fills.

        `flow` is the end-to-end flow, whose last part has the same name in `flows`; `onward` is the next part.
        """
        return _frame(self.part("relays"))

    @cached_property
    def reductions(self) -> pd.DataFrame:
        """A row per connection and cause that reduced its congestion window.

        `cause` is the cause of the first segment loss that the sender noticed (as in the trace `drops`), `ecn`, or
        `none` if no data were lost. `reductions` is their number; `reduced_s` the total time from each to the next one,
        or to the end of the transfer; `reduced_bytes` the total decrease of the window; and `mean_window_bytes` the
        mean window over `reduced_s`.
        """
        return _frame(self.part("reductions"))

    @cached_property
    def web(self) -> pd.DataFrame:
        """A row per flow with web traffic."""
        return _frame(self.part("web"))

    @cached_property
    def files(self) -> pd.DataFrame:
        """A row per file requested by web traffic: flow, class, bytes; times of request, answer and completion [s].

        The answer is timed at the server, the completion at the client. Raises ScenarioError for a run with web traffic
        from a store, because stores do not keep the rows.
        """
        return _named(self._list("files"), self.names)

    @cached_property
    def response_times(self) -> pd.DataFrame:
        """A row per class of files: see `metrics.web.response_times`."""
        return _frame(self.part("response_times"))

    @cached_property
    def waiting(self) -> pd.DataFrame:
        """One row with the response times of all files; empty without web traffic: see `metrics.web.waiting`."""
        return _frame(self.part("waiting"))

    @cached_property
    def arrived(self) -> pd.DataFrame:
        """A row per flow with `flow-arrivals`: flows that arrived, those of them that completed, and flows that waited.

        Flows that arrived during a warm-up are not counted. `arrived_bytes` is the sum of the sizes of all that
        arrived, `peak_active` the maximum number at one time.
        """
        return _frame(self.part("arrived"))

    @cached_property
    def completions(self) -> pd.DataFrame:
        """A row per flow that arrived: flow, size [bytes], times of arrival and completion [s], and slowdown.

        The slowdown is the time from arrival to completion, divided by the time that the same transfer takes over an
        idle path (`metrics.slowdowns.ideal_s`). Both are nan for a flow that is not complete at the end. Raises
        ScenarioError for a run with flow arrivals from a store, because stores do not keep the rows.
        """
        import numpy as np

        if not (columns := self._list("completions")):
            return _frame({name: [] for name in slowdowns.COMPLETIONS})
        frame, resolved = _named(columns, self.names), self.scenario.resolved
        ideal, codes = np.full(len(frame), np.nan), np.asarray(columns["flow"], dtype=np.int64)
        for code in np.unique(codes):
            is_of_flow = codes == code
            ideal[is_of_flow] = slowdowns.ideal_s(resolved, code, frame["size_bytes"].to_numpy(dtype=float)[is_of_flow])
        return frame.assign(slowdown=(frame["completion_s"] - frame["arrival_s"]) / ideal)

    @cached_property
    def slowdowns(self) -> pd.DataFrame:
        """A row per flow with `flow-arrivals` and class of sizes: see `metrics.slowdowns.slowdowns`."""
        return _frame(self.part("slowdowns"))

    @cached_property
    def streams(self) -> pd.DataFrame:
        """A row per flow with `traffic.kind = "stream"`: `written_bytes`, which the application wrote in the whole run.

        The bytes written during a warm-up are included.
        """
        return _frame(self.part("streams"))

    @cached_property
    def media(self) -> pd.DataFrame:
        """A row per flow with `traffic.kind = "media"`: `frames` of the encoder and `frame_bytes`, their total size.

        `received` frames arrived completely, `late` ones of them after the deadline. `mean_delay_s` is the mean time
        from the encoder to the last byte at the receiver, `max_delay_s` its maximum in the whole run, with the warm-up.
        """
        return _frame(self.part("media"))

    @cached_property
    def videos(self) -> pd.DataFrame:
        """A row per flow with adaptive video: chunks requested and received, and the player's times.

        `mean_bitrate_bps` is that of the received chunks, `switches` counts changes of the bitrate from one request to
        the next. `played_s` and `stalled_s` are times with and without playback since playback began, `stalls` is the
        number of interruptions, and `startup_s` the time from the start of the flow to playback. `downloading_s` is the
        time in which the player waited for a requested chunk.
        """
        return _frame(self.part("videos"))

    @cached_property
    def chunks(self) -> pd.DataFrame:
        """A row per requested chunk: flow, bitrate, bytes; times of request, answer and completion [s].

        Raises ScenarioError for a run with adaptive video from a store, because stores do not keep the rows.
        """
        return _named(self._list("chunks"), self.names)

    def _list(self, name: str) -> Columns:
        """Returns the columns of a list that stores do not keep; raises ScenarioError if a store omitted its rows."""
        if name in self.columns:
            return self.columns[name]
        counted, summaries = _LISTS[name]
        if self.part(counted).get("flow"):
            raise ScenarioError(
                f"result.{name}: not in the store, which keeps only summaries; needs longpipe.simulate, or "
                f"result.{' or result.'.join(summaries)}, which stores keep"
            )
        return {}

    @cached_property
    def flow_limits(self) -> tuple[FlowLimit, ...]:
        """The limit of each flow and its remedy, in the order of the flows; `limits` has the same data as a frame."""
        return tuple(limits(self.scenario, self.columns))

    @cached_property
    def limits(self) -> pd.DataFrame:
        """A row per flow with its limit and its remedy: see `verdicts.limits.FlowLimit.row`."""
        import pandas as pd

        return pd.DataFrame(limit.row for limit in self.flow_limits)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the scenario, a line each, as `longpipe run` prints them.

        They concern windows that cannot fill path or buffer, paths that end before the run, many lost ACKs, flows that
        another one locks out of a queue, and arriving flows that waited or are fewer than `traffic.flows`.
        """
        verdicts = self.flow_limits
        unsteady = [f"warm_up: {NOT_STATIONARY}"] if NOT_STATIONARY in self.warm_up else []
        ended = (*self.replaced, *self.deaths, *self.failures, *self.delayed, *self.few_arrivals)
        return (*self.locked_out, *cautions(self.scenario), *unsteady, *ended, *notes(verdicts))

    @property
    def locked_out(self) -> tuple[str, ...]:
        """Ports at which one flow locks out others, because its packets are in phase with the queue, a line each."""
        return tuple(locked_out(self.scenario, self.columns))

    @property
    def deaths(self) -> tuple[str, ...]:
        """Connections of real stacks that ended before all data had arrived, one line each."""
        stacks: Mapping[str, Sequence[Any]] = self.part("stacks")
        names = ("flow", "stack", "version", "closed_s", "closed")
        rows = zip(*(stacks.get(name, ()) for name in names), strict=True)
        return tuple(
            f"{flow}: {stack} {version[:12]} lost its connection at {at_s:.3f} s: {why}"
            for flow, stack, version, at_s, why in rows
            if why
        )

    @property
    def died(self) -> frozenset[str]:
        """Names of the flows whose connection ended before all data had arrived; see `deaths`.

        Their throughput is the mean of the whole run, also of the time after the end of the connection.
        """
        stacks: Mapping[str, Sequence[Any]] = self.part("stacks")
        ends = zip(stacks.get("flow", ()), stacks.get("closed", ()), strict=True)
        return frozenset(str(flow) for flow, why in ends if why)

    @property
    def failures(self) -> tuple[str, ...]:
        """Programs of yours that failed, and commands that had not ended, a line for each."""
        programs: Mapping[str, Sequence[Any]] = self.part("programs")
        names = ("flow", "host", "field", "program", "exit_code", "errors")
        rows = zip(*(programs.get(name, ()) for name in names), strict=True)
        return tuple(line for row in rows if (line := _failure(*row)))

    @property
    def delayed(self) -> tuple[str, ...]:
        """Arriving flows that had to wait for others, as a line for each scenario flow with any."""
        arrivals: Mapping[str, Sequence[Any]] = self.part("arrived")
        rows = zip(*(arrivals.get(name, ()) for name in ("flow", "arrived", "waited", "peak_active")), strict=True)
        return tuple(
            f"{flow}: {waited} of {arrived} flows waited until one of {peak} others had ended, which is included in "
            f"their completion times; needs traffic.most_active larger than {peak}, or a lower load"
            for flow, arrived, waited, peak in rows
            if waited
        )

    @property
    def few_arrivals(self) -> tuple[str, ...]:
        """Scenario flows with fewer arrivals than their maximum `traffic.flows`, one line each."""
        arrivals: Mapping[str, Sequence[Any]] = self.part("arrived")
        arrived = dict(zip(arrivals.get("flow", ()), arrivals.get("arrived", ()), strict=True))
        if not arrived:
            return ()
        random = {
            flow["name"]: flow["traffic"]
            for flow in self.scenario.resolved["flows"]
            if flow["name"] in arrived and flow["traffic"]["arrivals"]["kind"] == "poisson"
        }
        return tuple(
            f"{name}: {arrived[name]} of at most {max_flows} flows arrived before the end"
            for name, traffic in random.items()
            if (max_flows := traffic.get("most_flows")) is not None and arrived[name] < max_flows
        )

    @property
    def replaced(self) -> tuple[str, ...]:
        """Invalid values of loaded congestion controllers, which were replaced, one line for each kind."""
        modules: Mapping[str, Sequence[str]] = self.part("modules")
        rows = zip(modules.get("module", ()), modules.get("warning", ()), strict=True)
        return tuple(f"{module}: {warning}" for module, warning in rows)

    @cached_property
    def traces(self) -> TraceFrames:
        """A frame per recorded trace; `scenario.Traces` names and describes them.

        Reading a trace that was not recorded raises a ScenarioError that says how to record it. The traces of a stored
        run are read now; if one is missing or damaged, this raises a StoreError.
        """
        if self.read_traces is not None:
            return TraceFrames(self.read_traces())
        by_kind = {kind: _in_time(_named(trace, self.names)) for kind, trace in self.columns["traces"].items()}
        return TraceFrames(
            {kind: drops.completed(frame) if kind == "drops" else frame for kind, frame in by_kind.items()}
        )

    @property
    def measured_s(self) -> float:
        """Simulated time that counters and means cover: the duration without `scenario.warm_up` [s]."""
        return duration_s(self.scenario) - begin_s(self.columns)

    @property
    def warm_up(self) -> str:
        """The time that counters and means exclude, how it was chosen, and whether the remaining run is stationary."""
        warm_up = self.part("warm_up")
        if not warm_up.get("begin_s"):
            return ""
        text = f"counters and means from {begin_s(self.columns):.6g} s on"
        if not warm_up.get("series"):
            return text
        text += f", chosen by MSER-5 from the {warm_up['series'][0]}, not before the end of slow start"
        return text if warm_up["stationary"][0] else f"{text}; {NOT_STATIONARY}"

    def part(self, name: str) -> Columns:
        """Returns the columns of a table such as "flows" without pandas; each is a list."""
        if name == "flows":
            first, *following = self.columns[name].items()
            return dict([first, ("throughput_bps", self._throughputs_bps), *following])
        if name in ("response_times", "waiting") and name not in self.columns:
            # A stored run contains these.
            if not len(self.columns.get("files", {}).get("flow", ())):
                return {column: [] for column in (web.COLUMNS if name == "response_times" else web.WAITING)}
            if name == "waiting":
                return {column: [v] for column, v in web.waiting(self.files, duration_s(self.scenario)).items()}
            times = web.response_times(self.files, duration_s(self.scenario))
            return {str(column): times[column].tolist() for column in times}
        if name == "slowdowns" and name not in self.columns:
            # A stored run contains these.
            if not len(self.columns.get("completions", {}).get("flow", ())):
                return {column: [] for column in slowdowns.COLUMNS}
            rows = slowdowns.slowdowns(self.completions)
            return {str(column): rows[column].tolist() for column in rows}
        # The core omits parts without rows, and runs of other engines may lack parts.
        return self.columns.get(name, {})

    @property
    def names(self) -> dict[str, Any]:
        """Returns the names of flows and ports, indexed by their numbers in traces."""
        parts = self.part("relays").get("connection", ())
        return {
            "flow": [*self.columns["flows"]["flow"], *parts],
            "port": self.columns["ports"]["port"],
            **NAMES,
            "packet_event": PACKET_EVENTS,
            "packet_type": PACKET_TYPES,
            "evidence": EVIDENCE,
        }

    @cached_property
    def throughputs_bps(self) -> npt.NDArray[np.float64]:
        """Throughput of each flow [bit/s], shape (flows,)."""
        import numpy as np

        return np.array(self._throughputs_bps)

    @cached_property
    def _throughputs_bps(self) -> list[float]:
        return atm_forum.throughputs_bps(self.columns["flows"]["delivered_bytes"], self.measured_s)

    @property
    def total_bps(self) -> float:
        """Total throughput of all flows [bit/s]."""
        return total(self._throughputs_bps)

    @cached_property
    def attainable_bps(self) -> float:
        """Largest throughput that the trunk could carry in the direction of `efficiency` [bit/s]; nan for a graph.

        It is the payload that fits into the trunk's capacity, minus the VBR cells sent, if all packets are those of the
        flow with the least header overhead: see `metrics.efficiency`.
        """
        return self._attainable_bps(back=self._is_upload) if self._trunks else math.nan

    def _attainable_bps(self, *, back: bool) -> float:
        trunk = self._trunks[back]
        payload_bps = self._most_payload_bps(trunk.left_bps, back=back)
        if math.isfinite(trunk.counted_bps):
            payload_bps = min(payload_bps, self._most_payload_bps(trunk.counted_bps, back=back, counted=True))
        return payload_bps

    @cached_property
    def _trunks(self) -> dict[bool, Trunk]:
        """Capacities of a dumbbell's trunk minus the VBR cells sent, by whether data are sent back; empty for a graph.

        Only directions in which a flow sends data are included.
        """
        network = self.scenario.network
        if not isinstance(network, Dumbbell):
            return {}
        resolved, duration_ps = self.scenario.resolved, TIME.parse(self.scenario.duration)
        directions = sorted(set(network.sent_back))
        return {back: trunk_after_vbr(resolved, duration_ps, self.columns, back=back) for back in directions}

    @property
    def _is_upload(self) -> bool:
        """Whether the data of all flows of a dumbbell are sent back, from sink to source."""
        return list(self._trunks) == [True]

    def _most_payload_bps(self, on_wire_bps: float, *, back: bool, counted: bool = False) -> float:
        """Returns the maximum payload rate [bit/s] of the flows for a given rate on the trunk's wire.

        If `counted`, the rate is that of its shaper, as it counts packets.
        """
        seconds = self.measured_s
        offered = offers(self.scenario.resolved, self.columns, back=back, counted=counted)
        return 8 * attainable_bytes(on_wire_bps * seconds / 8, offered) / seconds

    @cached_property
    def efficiency(self) -> float:
        """Payload delivered over a dumbbell's trunk, divided by the maximum that it could carry in this run: 0 to 1.

        It is that of the direction from switch1 to switch2 or, if all flows have the direction `back`, of the other
        one. It is nan for a graph, which has no single trunk, and if VBR used the whole trunk. `metrics.efficiency`
        defines the maximum, and which data count after a warm-up.
        """
        return self._efficiency(back=self._is_upload) if self._trunks else math.nan

    @property
    def efficiencies(self) -> dict[str, float]:
        """`efficiency` and, if data are sent in both directions, `efficiency_back`, by name."""
        back = {"efficiency_back": self.efficiency_back} if len(self._trunks) == 2 else {}
        return {"efficiency": self.efficiency, **back}

    @cached_property
    def efficiency_back(self) -> float:
        """Efficiency of a dumbbell's trunk from switch2 to switch1; nan if no flow has the direction `back`."""
        return self._efficiency(back=True) if True in self._trunks else math.nan

    def _efficiency(self, *, back: bool) -> float:
        flows = zip(self._throughputs_bps, cast("Dumbbell", self.scenario.network).sent_back, strict=True)
        x, most_bps = (
            [throughput_bps for throughput_bps, is_back in flows if is_back is back],
            self._attainable_bps(back=back),
        )
        if begin_s(self.columns):
            # The third bound only limits rounding errors: the trunk cannot have used more than its capacity.
            x = [min(total(x), self._most_payload_bps(self._trunks[back].used_bps, back=back), most_bps)]
        return atm_forum.efficiency(x, most_bps)

    @cached_property
    def demands_bps(self) -> npt.NDArray[np.float64]:
        """Demand of each flow's application over the whole run [bit/s], shape (flows,); inf if it is greedy.

        It is nan for datagrams, which do not respond to congestion.
        """
        import numpy as np

        return np.array(self._demands_bps)

    @cached_property
    def _demands_bps(self) -> list[float]:
        return demands.demands_bps(self.scenario, self.columns)

    @property
    def demands_differ(self) -> bool:
        """Whether the demands of TCP flows differ, so that equal throughputs would not be fair."""
        return len({demand for demand in self._demands_bps if not math.isnan(demand)}) > 1

    @cached_property
    def fairness(self) -> float:
        """Jain's index of the TCP throughputs; nan if nothing was delivered.

        If demands differ, it is the index of throughputs divided by max-min fair shares: a flow whose demand is
        satisfied has its fair share, however small it is (ATM Forum/98-0876 section 7).
        """
        if not self.demands_differ:
            flows = zip(self._throughputs_bps, self._demands_bps, strict=True)
            return atm_forum.fairness(x for x, demand in flows if not math.isnan(demand))
        # Imported here because most runs contain only greedy flows.
        from longpipe.metrics import shares

        resolved = self.scenario.resolved
        left_bps = {trunk_of(resolved, back=back): trunk.full_packets_bps for back, trunk in self._trunks.items()}
        return atm_forum.fairness(shares.of_paths(self.scenario, self.throughputs_bps, self.demands_bps, left_bps))

    def measure(self, what: str | Callable[[Any], Any]) -> float:
        """Returns a measure of the run in base units: "bulk.throughput / throughput", and others as in `design`.

        Raises ScenarioError for text that cannot be read, and for a measure that the scenario does not have.
        """
        from longpipe.measures.measure import parse

        measure = parse(what)
        measure.check(self.scenario)
        return measure(self)

    @without_collections()
    def summary(self) -> dict[str, Any]:
        """Returns the run without its traces, ready for JSON: nan becomes None.

        `engine` is the engine's number, which identifies the results together with digest and seed.
        """
        return {
            **self._identity(),
            **{name: records(self.part(name)) for name in PARTS if self._has_part(name)},
            "limits": [limit.row for limit in self.flow_limits],
            "warnings": list(self.warnings),
        }

    def _identity(self) -> dict[str, Any]:
        """Returns what identifies the run, with its measures of all flows."""
        return {
            "scenario": self.scenario.name,
            "digest": self.scenario.digest(),
            "seed": self.seed,
            "engine": _core.__engine__,
            "duration_s": duration_s(self.scenario),
            **{name: _number(value) for name, value in self.efficiencies.items()},
            "fairness": _number(self.fairness),
            "events": self.events,
            "state_hash": self.state_hash,
        }

    def _has_part(self, part: str) -> bool:
        """Returns whether a summary has a part; some parts exist only if they contain data."""
        if part in ("arrived", "slowdowns"):
            return bool(self.part("arrived").get("flow"))
        if part == "queues":
            return bool(self.part(part).get("port"))
        if part in ("streams", "media", "videos", "programs"):
            return bool(self.part(part).get("flow"))
        return bool(self.replaced) if part == "modules" else part != "warm_up" or bool(self.warm_up)

    def to_json(self) -> str:
        """Returns `summary()` as JSON text."""
        # With indentation, Python's own encoder takes as long as the run.
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
        return orjson.dumps(self.summary(), option=options).decode()

    def to_csv(self, directory: str | Path) -> list[Path]:
        """Writes run.csv, flows.csv, ports.csv, classes.csv, vbr.csv, tables with rows, traces and scenario.toml.

        run.csv has one row, with the seed, the engine's number and the hash of the final state. If the
        connection of a flow's stack died, flows.csv has a column `died`, which is 1 for the flows in `died`: their
        throughput includes the time after their connection.

        Raises ScenarioError if the directory is not writable.
        """
        directory = Path(directory)
        check_directory("directory", directory)
        written = []
        run = _frame({name: [value] for name, value in self._identity().items()})
        always = {name: getattr(self, name) for name in _ALWAYS}
        if self.died:
            died = [int(flow in self.died) for flow in self.flows["flow"]]
            always["flows"] = always["flows"].assign(died=died)
        frames = {"run": run, **always, **self.traces}
        for name in (*TABLES, "reductions", "stacks", "programs"):
            if name not in _ALWAYS and len(getattr(self, name)):
                frames |= {table: getattr(self, table) for table in (name, *_TOGETHER.get(name, ()))}
        for name, frame in frames.items():
            written.append(directory / f"{name}.csv")
            write_text(written[-1], frame.to_csv(index=False))
        written.append(directory / "scenario.toml")
        write_text(written[-1], self.scenario.to_toml())
        return written


def duration_s(scenario: Scenario) -> float:
    """Simulated time [s]."""
    return TIME.parse(scenario.duration) / 1e12


def records(columns: Columns) -> list[dict[str, Any]]:
    """Returns the rows of a table, ready for JSON: nan becomes None."""
    rows = zip(*map(_numbers, columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _of_stacks(scenario: Scenario, parts: Mapping[str, Columns]) -> Columns:
    """Returns the columns of flows in which the core's counters of real stacks are replaced."""
    flows = parts["flows"]
    counters: dict[str, Any] = {"timeouts": _timeouts(scenario, parts)}
    # Runs of other engines may lack the column.
    if (counts := flows.get("reordered_packets")) is not None:
        # The core does not read the sequence numbers of stacks.
        unread = {flow["name"] for flow in scenario.resolved["flows"] if flow.get("foreign")}
        counted = zip(flows["flow"], counts, strict=True)
        counters["reordered_packets"] = [math.nan if name in unread else count for name, count in counted]
    return counters


def _timeouts(scenario: Scenario, parts: Mapping[str, Columns]) -> list[float]:
    """Returns the number of timeouts of each flow: that of its stack, or nan if the stack does not report it.

    Stacks report their timeouts in the whole run. If any occurred, the number after a warm-up is unknown.
    """
    stacks = parts["stacks"]
    reported = stacks.get("timeouts", [math.nan] * len(stacks["flow"]))
    timeouts_of = dict(zip(stacks["flow"], reported, strict=True))
    if begin_s(parts):
        timeouts_of = {flow: math.nan if count else count for flow, count in timeouts_of.items()}
    # Further paths of a connection have no row of their own in `stacks`.
    timeouts_of |= {flow["name"]: math.nan for flow in scenario.resolved["flows"] if "of" in flow["traffic"]}
    flows = parts["flows"]
    counts = [timeouts_of.get(flow, timeouts) for flow, timeouts in zip(flows["flow"], flows["timeouts"], strict=True)]
    return list(map(int, counts)) if all(float(count).is_integer() for count in counts) else counts


def _failure(flow: str, host: str, field: str, program: str, exit_code: float, errors: str) -> str:
    """Returns why a program of the user failed, or "" if it succeeded, or served to the end of the run."""
    command = in_one_line(program)
    if math.isnan(exit_code):
        return f"{flow}: {command} on {host} had not ended before the run did" if field == "command" else ""
    if exit_code == 0:
        return ""
    error_lines = errors.strip().splitlines()
    return f"{flow}: {command} on {host} ended with exit code {exit_code:.0f}" + (
        f": {error_lines[-1]}" if error_lines else ""
    )


def _frame(columns: Columns) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


def _named(columns: Columns, names: Mapping[str, Any]) -> pd.DataFrame:
    """Returns columns as a frame in which names replace the core's codes."""
    import numpy as np
    import pandas as pd

    categories = {
        column: pd.Categorical.from_codes(
            np.asarray(columns[column], dtype=np.int64), categories=pd.Index(category_names)
        )
        for column, category_names in names.items()
        if column in columns
    }
    return pd.DataFrame({**columns, **categories})


def _in_time(trace: pd.DataFrame) -> pd.DataFrame:
    # The core records the rows of each port in order, but not across ports.
    return trace.sort_values("time_s", kind="stable", ignore_index=True)


def _numbers(column: Sequence[Any]) -> Sequence[Any]:
    """Returns a column in which nan and infinity are None."""
    with suppress(TypeError):
        # A sum is finite only if all numbers are, and most columns have only such numbers.
        if math.isfinite(sum(column)):
            return column
    return [_number(value) if isinstance(value, float) else value for value in column]


def _number(value: Any) -> Any:  # noqa: ANN401 - any value of a cell
    return None if isinstance(value, float) and not math.isfinite(value) else value
