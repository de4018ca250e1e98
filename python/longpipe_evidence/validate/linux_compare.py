"""Runs the same path in longpipe and in Linux 6.1, and compares goodput, RTTs, losses and windows.

Linux's bottleneck counts 14 bytes of Ethernet headers, which longpipe's packets lack: longpipe's rate is lower in
proportion. The bottleneck is a token bucket in front of a fast device. Where longpipe has a serial line instead
(`linux_disciplines`), the bucket releases a packet when longpipe starts to send it, so longpipe's path is shorter by
one packet's transmission time, and its buffer holds one packet more.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.ip import SPEED_UP, bottleneck, packet_bytes, transmission_ps
from longpipe.result import Result, SequenceEvent
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.profiles import PROFILES
from longpipe.units import RATE, TIME
from longpipe_evidence.validate import linux_ticks as ticks
from longpipe_evidence.validate.linux import MSS, PACKET_BYTES, STEADY, LinuxCase, LinuxRun, run
from longpipe_evidence.validate.linux_disciplines import GUEST_HZ, TICK_PS, switch_of, token_bucket
from longpipe_evidence.validate.linux_guest.load import IDLE_ROUND_TRIPS, IDLE_S, WRITE_S
from longpipe_evidence.validate.linux_judged import Judgement, Tolerances, judge

# Linux's names that differ in longpipe.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "reno": ("linux-reno",),
}
# One more than the number of segments in the initial window (TCP_INIT_CWND).
FIRST_WINDOW: Final = 11
TRUNK: Final = "switch1->switch2"
# Rate [bit/s] of the device behind a shaping discipline, at which a packet takes about a microsecond.
DEVICE_BPS: Final = 10**10
# Rate [bit/s] of the device behind a token bucket. It exceeds the rate of the sender's link, because Linux dequeues the
# first packet of a burst before it enqueues the second one.
BEHIND_BUCKET_BPS: Final = 10**13
BEFORE_BUCKET_BPS: Final = BEHIND_BUCKET_BPS // 10
# Disciplines with random drops or marks.
DRAWING: Final = ("red", "pie", "choke", "cake")
_COUNTED: Final = ("lost_overflow", "lost_aqm", "lost_injected", "marked")
# The time from a segment to the one that its ACK releases exceeds the path's RTT by 2.9 us in the guest, because the
# guest's clock advances at each reading (measured with RTTs of 277 and 460 ms). RTTs that Linux measures are 1 to 2 us
# longer than the path's. Westwood, which rounds up to ticks, therefore measures one tick more if the path's RTT is a
# multiple of 10 ms, until an RTT is measured by timestamps, which count milliseconds: by the ACK of a retransmission.
LONGER_PS: Final = 3_000_000
# BBR does not send when an ACK arrives, so that only the RTT that Linux measures determines its times. In the guest,
# this RTT exceeds the path's by 1.3 to 2.3 us, 1.9 us on average (captures over 200 and 600 ms), and the handshake's by
# 1 or 2 us, depending on the guest's start; it was 1 us where the recorded results show the times of ProbeRTT.
PACED_LONGER_PS: Final = 1_900_000
HANDSHAKE_LONGER_PS: Final = 1_000_000
# Half of the guest's largest receive buffer [bytes], and the resulting window scale (tcp_select_initial_window).
WINDOW_BYTES: Final = 32 << 20
WINDOW_SCALE: Final = 11
# The guest does not use segmentation offload, and its application fills its buffer at this interval.
TCP: Final[dict[str, Any]] = {
    "profile": "linux-6",
    "mss": f"{MSS} B",
    "pacing_burst": "1 segment",
    "hz": GUEST_HZ,
    "receiver_window": f"{WINDOW_BYTES} B",
    "window_scale": WINDOW_SCALE,
    "ack": {**PROFILES["linux-6"]["ack"], "write_every": f"{WRITE_S} s", "growing_window": True},
}


def longpipe_name(control: str) -> str | None:
    """Returns longpipe's name for one of Linux's congestion controls; None if longpipe lacks it."""
    available = kinds(Congestion)
    return next((name for name in NAMES.get(control, (control,)) if name in available), None)


def missing(case: LinuxCase) -> str | None:
    """Returns a line that lists the features of a case that longpipe lacks; None if it can run the case."""
    unknown = [flow.control for flow in case.flows if longpipe_name(flow.control) is None]
    if unknown:
        return f"longpipe has no {', '.join(dict.fromkeys(unknown))}"
    switch = switch_of(case.guest["discipline"], RATE.parse(case.rate))
    return None if switch else f"longpipe has no {case.discipline} of tc"


def scenario(case: LinuxCase, *, tick_s: float | None = None) -> Scenario:
    """Returns the case as an IP scenario. Raises ScenarioError if longpipe cannot run it.

    The case begins `tick_s` after a tick of the kernel's clock, by default as if it were the only case in its start of
    the guest.
    """
    lacks = missing(case)
    if lacks is not None:
        raise ScenarioError(f"{lacks}; accepts {', '.join(kinds(Congestion))}")
    wire = packet_bytes(MSS, timestamps=True)
    round_trip_ps = TIME.parse(case.round_trip)
    tick_ps = round(1e12 * (ticks.after([case]) if tick_s is None else tick_s))
    device = _device(case, wire)
    packet_ps = transmission_ps(wire, device.rate_bps) // SPEED_UP
    paced = _is_bbr(case)
    return_delay_ps = TIME.parse(device.links["return_delay"]) + (PACED_LONGER_PS if paced else LONGER_PS)
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "group": [_group(case, number, tick_ps, packet_ps) for number in range(len(case.flows))],
        **device.links,
        "return_delay": f"{return_delay_ps} ps",
        "trunk_loss": _loss(case),
    }
    conditioners = [*device.conditioners, *_jitter(case)]
    if conditioners:
        network["conditioners"] = conditioners
    if case.rates or case.round_trips:
        longer_ps = return_delay_ps - round_trip_ps // 2
        network |= {"path": _path(case, wire), "return_path": _return_path(case, longer_ps)}
    fields: dict[str, Any] = {
        "name": "linux",
        "framing": "ip",
        "duration": case.duration,
        "network": network,
        "switch": device.switch,
        "tcp": {
            **TCP,
            "initial_rtt": f"{round_trip_ps + HANDSHAKE_LONGER_PS} ps" if paced else case.round_trip,
            "preconnect": _idle(case, tick_ps),
            "ecn": "classic" if case.guest["ecn"] else "off",
        },
        "traces": {"cwnd": True, "rtt": True, "sequence": True},
    }
    return Scenario(defaults="1996", **fields)


@dataclass(frozen=True)
class _Device:
    """The bottleneck: its rate, and the fields of the scenario that represent Linux's discipline on its device."""

    rate_bps: int
    # None for a discipline that longpipe lacks, which `missing` refuses.
    switch: dict[str, Any] | None
    conditioners: list[dict[str, Any]]
    links: dict[str, Any]


def _device(case: LinuxCase, wire: int) -> _Device:
    """Returns the bottleneck of a case: a token bucket in front of a fast device, or a serial line.

    `wire` is the length of a full packet [bytes].
    """
    discipline, rate_bps = case.guest["discipline"], RATE.parse(case.rate)
    round_trip_ps = TIME.parse(case.round_trip)
    bucket = None if case.rates or case.shape else token_bucket(discipline, rate_bps)
    if bucket:
        switch, conditioner = bucket
        device_bps = BEFORE_BUCKET_BPS // SPEED_UP
        delay_ps = max(0, round_trip_ps // 2 - transmission_ps(wire, BEHIND_BUCKET_BPS))
        links = bottleneck(device_bps, wire, wire - MSS, round_trip_ps)
        links |= {"trunk_rate": f"{BEHIND_BUCKET_BPS} bit/s", "trunk_delay": f"{delay_ps} ps"}
        return _Device(device_bps, switch, [conditioner], links)
    device_bps = DEVICE_BPS if case.shapes_itself else int(Fraction(rate_bps * wire, PACKET_BYTES))
    links = bottleneck(device_bps, wire, wire - MSS, round_trip_ps)
    return _Device(device_bps, switch_of(discipline, rate_bps), [], links)


def _loss(case: LinuxCase) -> object:
    """Returns the losses on the link: of packets by their numbers, random ones, or none."""
    if case.lose:
        return {"kind": "packets", "indices": case.lose}
    if case.loss:
        return {"kind": "bernoulli", "probability": case.loss}
    return "none"


def _jitter(case: LinuxCase) -> list[dict[str, Any]]:
    """Returns the conditioner that delays packets randomly, if the case has jitter."""
    if case.jitter is None:
        return []
    mean, half = case.jitter
    return [{"kind": "jitter", "delay": mean, "jitter": half, "order": "fifo"}]


def _is_bbr(case: LinuxCase) -> bool:
    """Returns whether all flows of a case use BBR."""
    return all(flow.control == "bbr" for flow in case.flows)


def _path(case: LinuxCase, wire: int) -> dict[str, object]:
    """Returns the trunk of a time-varying case: its delay is shorter by one packet's transmission time at each rate."""
    rates = {TIME.parse(at): rate for at, rate in (("0 s", case.rate), *case.rates)}
    halves = {TIME.parse(at): TIME.parse(time) // 2 for at, time in (("0 s", case.round_trip), *case.round_trips)}
    rate_bps, half_ps = 0, 0
    steps, delays = [], []
    for at in sorted({*rates, *halves}):
        if at in rates:
            rate_bps = int(Fraction(RATE.parse(rates[at]) * wire, PACKET_BYTES))
            steps.append([f"{at} ps", f"{rate_bps} bit/s"])
        half_ps = halves.get(at, half_ps)
        delays.append([f"{at} ps", f"{max(0, half_ps - transmission_ps(wire, rate_bps))} ps"])
    return {**({"rate": steps} if case.rates else {}), "delay": delays, "between": "hold", "at": "start"}


def _return_path(case: LinuxCase, longer_ps: int) -> dict[str, object]:
    """Returns the return path of a time-varying case, with a delay of half the RTT plus `longer_ps`."""
    round_trips = (("0 s", case.round_trip), *case.round_trips)
    delays = [[at, f"{max(0, TIME.parse(time) // 2 + longer_ps)} ps"] for at, time in round_trips]
    return {"kind": "moving", **({"delay": delays, "between": "hold"} if case.round_trips else {})}


def _idle(case: LinuxCase, tick_ps: int, earlier: int = 0, start: str = "0 s") -> str:
    """Returns the time from handshake to start of a flow that connects `earlier` positions before the last flow.

    The time begins with the tick before the handshake, because longpipe counts a sender's ticks from the handshake. The
    last flow's first segment leaves `tick_ps` after a tick.
    """
    round_trips = IDLE_ROUND_TRIPS + earlier
    later_ps = TIME.parse(start)
    idle_ps = round(IDLE_S * 1e12) + round_trips * TIME.parse(case.round_trip)
    return f"{idle_ps + (tick_ps - idle_ps) % TICK_PS + later_ps} ps"


def _group(case: LinuxCase, number: int, tick_ps: int, packet_ps: int) -> dict[str, object]:
    """Returns a flow; `packet_ps` is the transmission time of a packet on its host's link."""
    flow = case.flows[number]
    kind = longpipe_name(flow.control)
    congestion = {"kind": kind, "hystart": "none"} if kind == "cubic" and not case.hystart else kind
    ecn = {"ecn": "dctcp"} if kind == "dctcp" else {}
    # The guest connects one flow after another and writes to them in this order; each sends its first window at once.
    later = len(case.flows) - 1 - number
    idle = {"preconnect": _idle(case, tick_ps, later, flow.start)} if later or TIME.parse(flow.start) else {}
    earlier = sum(other.start == flow.start for other in case.flows[:number])
    start_ps = TIME.parse(flow.start) + earlier * FIRST_WINDOW * packet_ps
    return {
        "name": f"flow{number}",
        "tcp": {"congestion": congestion, **idle, **ecn},
        "class": flow.dscp,
        "start": {"kind": "fixed", "at": TIME.canonical(f"{start_ps} ps") if earlier else flow.start},
        "traffic": "greedy" if flow.size is None else {"kind": "transfer", "size": flow.size},
    }


@dataclass(frozen=True)
class LinuxComparison:
    """Results of Linux and of longpipe; the latter is None if longpipe cannot run the case."""

    linux: LinuxRun
    longpipe: Result | None

    def _repr_html_(self) -> str:
        """Returns the tables of flows and of losses, for notebooks."""
        begin, end = self.steady_s
        head = f"<p><b>Linux and longpipe</b>, goodput and RTT from {begin:g} to {end:g} s</p>"
        return head + self.flows.to_html(index=False, float_format="{:.4g}".format) + self.losses.to_html()

    @property
    def steady_s(self) -> tuple[float, float]:
        """Returns the interval in which goodput and RTT are measured [s]; for file transfers, the whole run."""
        end = float(self.linux.series["time_s"].iloc[-1])
        files = all(flow.size is not None for flow in self.linux.case.flows)
        return 0.0 if files else round(end * STEADY, 1), end

    @cached_property
    def flows(self) -> pd.DataFrame:
        """Returns a row per flow: `control`; `goodput_mbps`, median `srtt_ms` and `retransmissions` per simulator."""
        rows = []
        for number, flow in enumerate(self.linux.case.flows):
            begin, end = self.steady_s
            # Series and number of retransmissions of the flow, by simulator.
            runs = {"linux": (self.linux.of(number), self.linux.retransmissions[number])}
            if self.longpipe is not None:
                series = self.windows[self.windows["flow"] == number].set_index("time_s")
                runs["longpipe"] = series, int(self.longpipe.flows["retransmitted_segments"].iloc[number])
            row: dict[str, Any] = {"control": flow.control}
            for name, (series, retransmissions) in runs.items():
                acked = series["bytes_acked"]
                steady = series[(series.index > begin) & (series.index <= end)]
                row[f"{name}_goodput_mbps"] = (acked[end] - acked[begin]) * 8 / (end - begin) / 1e6
                row[f"{name}_srtt_ms"] = float(steady["srtt_us"].median()) / 1000
                row[f"{name}_retransmissions"] = retransmissions
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def losses(self) -> pd.DataFrame:
        """Returns a row per simulator: packets lost in the queue, lost on the link, and marked in the queue."""
        linux = self.linux
        rows: dict[str, tuple[int, ...]] = {"linux": (linux.queue_drops, linux.link_losses, linux.marks)}
        if self.longpipe is not None:
            trunk = self.longpipe.ports.set_index("port").loc[TRUNK]
            count = {name: int(str(trunk[f"packets_{name}"])) for name in _COUNTED}
            queue = count["lost_overflow"] + count["lost_aqm"]
            rows["longpipe"] = (queue, count["lost_injected"], count["marked"])
        return pd.DataFrame.from_dict(rows, orient="index", columns=["queue", "link", "marked"])

    @cached_property
    def windows(self) -> pd.DataFrame:
        """Returns longpipe's series at Linux's times: `time_s`, `flow`, `cwnd` [segments], `srtt_us`, `bytes_acked`."""
        assert self.longpipe is not None  # noqa: S101 - only called if it was run
        traces = self.longpipe.traces
        acks = traces["sequence"][traces["sequence"]["event"] == SequenceEvent.ACK]
        parts = []
        for number in range(len(self.linux.case.flows)):
            times = self.linux.of(number).index.to_numpy()
            name = f"flow{number}"
            columns = {
                "cwnd": at(times, traces["cwnd"], name, "cwnd_bytes") / MSS,
                "srtt_us": at(times, traces["rtt"], name, "srtt_s") * 1e6,
                "bytes_acked": np.nan_to_num(at(times, acks, name, "sequence_bytes")),
            }
            parts.append(pd.DataFrame({"time_s": times, "flow": number, **columns}))
        return pd.concat(parts, ignore_index=True)

    @property
    def series(self) -> pd.DataFrame:
        """Returns Linux's series, with longpipe's columns if it ran: `longpipe_cwnd`, `longpipe_srtt_us`, ..."""
        if self.longpipe is None:
            return self.linux.series
        simulated = self.windows.rename(columns=lambda name: name if name in ("time_s", "flow") else f"longpipe_{name}")
        return self.linux.series.merge(simulated, on=["time_s", "flow"])

    def judged(self, tolerances: Tolerances) -> list[Judgement]:
        """Judges goodput, RTT and retransmissions of each flow, and packets lost and marked in the queue.

        The result is empty if longpipe did not run. With netem's random losses, retransmissions are omitted, because
        longpipe draws different ones.
        """
        if self.longpipe is None:
            return []
        quantities = ["goodput_mbps", "srtt_ms", *([] if self.linux.case.loss else ["retransmissions"])]
        judgements = []
        for flow, row in enumerate(self.flows.to_dict("records")):
            linux, longpipe = (
                {name: row[f"{simulator}_{name}"] for name in quantities} for simulator in ("linux", "longpipe")
            )
            judgements += judge(linux, longpipe, tolerances, flow)
        lost = self.losses.to_dict("index")
        counts = {str(simulator): {"losses": row["queue"], "marks": row["marked"]} for simulator, row in lost.items()}
        return judgements + judge(counts["linux"], counts["longpipe"], tolerances)

    @property
    def not_judged(self) -> list[str]:
        """Returns a phrase for each item that `judged` omits."""
        if self.longpipe is None:
            return ["everything, because Linux ran alone"]
        begin, case = self.steady_s[0], self.linux.case
        left_out = [f"goodput and round trip before {begin:g} s"] if begin else []
        if case.loss:
            left_out.append("losses on the link and retransmissions, because each simulator draws its own losses")
        if draws := _drawn(case):
            left_out.append(f"the spread due to {draws}: this is one draw of each simulator")
        return [*left_out, "windows over time and the order of losses"]


def _drawn(case: LinuxCase) -> str:
    """Returns the names of the parts of a case that use random numbers, except losses on the link."""
    discipline = case.discipline.split()[0]
    controls = ["BBR's phase"] if any(flow.control == "bbr" for flow in case.flows) else []
    return " and ".join([*controls, *([f"{discipline}'s drops"] if discipline in DRAWING else [])])


def compare(case: LinuxCase, *, alone: bool = False, **changes: object) -> LinuxComparison:
    """Runs a case in Linux and longpipe, or in Linux only; `changes` are dotted fields of longpipe's scenario.

    Raises ScenarioError if the guest is unavailable.
    """
    # Errors in the changes are reported before the long run.
    longpipe_case = None if alone or missing(case) is not None else scenario(case).with_(**changes)
    linux = run(case)
    if longpipe_case is not None and _is_bbr(case) and "tcp.initial_rtt" not in changes:
        # The first minimum RTT is the handshake's.
        longpipe_case = longpipe_case.with_(**{"tcp.initial_rtt": f"{int(linux.of(0)['min_rtt_us'].iloc[0])} us"})
    return LinuxComparison(linux, None if longpipe_case is None else simulate(longpipe_case, seed=case.seed))


def at(times: Any, trace: pd.DataFrame, flow: str, column: str) -> Any:  # noqa: ANN401 - arrays
    """Returns the latest value of a flow's column at each time; NaN before the first value."""
    rows = trace[trace["flow"] == flow]
    index = np.searchsorted(rows["time_s"].to_numpy(), times, side="right") - 1
    values = rows[column].to_numpy(dtype=float)
    return np.where(index >= 0, values[index], np.nan) if len(values) else np.full(len(times), np.nan)
