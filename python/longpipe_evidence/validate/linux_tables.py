"""Stored results of Linux 6.1 on given paths, in tests/data/linux, for tests that run without Linux.

`longpipe validate linux tables tests/data/linux` writes them.
"""

import gzip
from collections.abc import Callable, Mapping
from io import StringIO
from itertools import product
from random import Random
from typing import Any, Final, get_args

import pandas as pd

from longpipe.units import RATE
from longpipe_evidence.validate import linux_cake, linux_conditioners, linux_rates
from longpipe_evidence.validate.linux import (
    MSS,
    PACKET_BYTES,
    STEADY,
    LinuxCase,
    LinuxControl,
    LinuxFlow,
    LinuxRun,
    run,
    run_each,
    seconds,
)
from longpipe_evidence.validate.linux_shared import SEEDS, SHARED, draw_shared, shared_measures

# All controls except DCTCP, which needs marks, and four that are rarely used.
CONTROLS: Final[tuple[LinuxControl, ...]] = tuple(
    name for name in get_args(LinuxControl) if name not in ("dctcp", "yeah", "cdg", "nv", "lp")
)
# Columns of a run's series that are stored in the tables.
KEPT: Final = ("cwnd", "ssthresh", "srtt_us", "rttvar_us", "ca_state", "bytes_acked", "delivered", "retransmits")
# Length [s] of the initial period over which goodput is measured separately.
FIRST_S: Final = 5.0
# Lists of data packets to lose in `losses`, by number of arrival.
LISTS: Final[dict[str, tuple[int, ...]]] = {
    "none": (),
    "single": (3000, 20000, 60000, 150000),
    "early": (200, 5000, 40000),
    "bursts": (*range(3000, 3010), *range(50000, 50040, 4)),
    "every-10000": tuple(range(10000, 500000, 10000)),
    "every-1000": tuple(range(1000, 500000, 1000)),
}
# Data packets to lose in a transfer of SEGMENTS; ("again", n) is the latest retransmission of packet n's data.
Lost = int | tuple[str, int]
SEGMENTS: Final = 200
TRANSFERS: Final[tuple[tuple[Lost, ...], ...]] = (
    (),
    (0,),
    (9,),
    (20,),
    (14, 28),
    (20, 21, 22),
    tuple(range(20, 30)),
    (20, 22, 24, 26),
    (40, 60, 80, 100),
    tuple(range(30, 70)),
    tuple(range(10)),
    (199,),
    (198, 199),
    tuple(range(190, 200)),
    (199, ("again", 199)),
    (199, ("again", 199), ("again", 199)),
    (20, ("again", 20)),
    (20, ("again", 20), ("again", 20)),
    (20, 21, 22, ("again", 21)),
    (5, 50, *range(195, 200)),
)
# Number of seeds for BBR, whose phase is random; and its paths: that of `controls`, and the one in the commit message
# that added BBR to Linux.
PHASES: Final = 6
PHASES_OVER: Final[tuple[dict[str, Any], ...]] = (
    {"round_trip": "100 ms", "buffer": 100},
    {"round_trip": "40 ms", "buffer": 1000},
)
# Disciplines with a limit of 1000 packets, each with its number of seeds; disciplines that use random numbers have
# several.
QUEUES: Final = {
    "codel": 1,
    "codel ecn": 1,
    "fq_codel": 1,
    "pie": 16,
    "red limit 200000 min 30000 max 90000 avpkt 1514 burst 30 probability 0.1": 16,
}
# Controls that longpipe has only as Linux modules, and Vegas, on which YeAH is based; and the number of seeds of
# controls that draw random numbers.
MODULES: Final[tuple[LinuxControl, ...]] = ("cdg", "lp", "nv", "vegas", "yeah")
DRAWS: Final = {"cdg": 8}
# Step marking at 20 packets, for DCTCP.
STEP: Final = "red limit 1000000 min 30000 max 30001 avpkt 1514 burst 20 probability 1 ecn"
PATHS: Final = 40
# Number of packets for which losses are drawn, as a multiple of the number that the rate allows; retransmissions after
# queue drops add packets.
COPIES: Final = 1.25
# Maximum amount of data in a path and its buffer [bytes]: half of the receiver's largest window.
MAX_BYTES: Final = 16e6

Files = Mapping[str, pd.DataFrame]
Tell = Callable[[str], None]


def controls(tell: Tell) -> Files:
    """Runs one greedy flow with each control: 10 Mbit/s, 100 ms, 100 packets, 60 s."""
    linux_runs = [
        _run_and_report(LinuxCase(flows=(LinuxFlow(control=control),)), control, tell) for control in CONTROLS
    ]
    return {
        "controls.csv": pd.DataFrame(
            [{"control": linux_run.case.flows[0].control, **measures(linux_run)} for linux_run in linux_runs]
        ),
        "controls-series.csv.gz": pd.concat(
            [_series(linux_run, control=linux_run.case.flows[0].control) for linux_run in linux_runs]
        ),
    }


def modules(tell: Tell) -> Files:
    """Runs the controls that longpipe has only as modules, over the path of `controls`; and DCTCP over step marking.

    CDG backs off at random and therefore has eight seeds.
    """
    draws = [(name, seed) for name in MODULES for seed in range(DRAWS.get(name, 1))]
    cases = [LinuxCase(flows=(LinuxFlow(control=name),), seed=seed) for name, seed in draws]
    cases.append(LinuxCase(flows=(LinuxFlow(control="dctcp"),), discipline=STEP))
    rows = []
    for case in cases:
        control = case.flows[0].control
        linux_run = _run_and_report(case, f"{control} {case.seed}", tell)
        rows.append({"control": control, "seed": case.seed, **measures(linux_run)})
    return {"modules.csv": pd.DataFrame(rows)}


def losses(tell: Tell) -> Files:
    """Runs CUBIC and Reno with lists of lost packets: 100 Mbit/s, 100 ms, a buffer that never fills, 40 s."""
    rows, kept = [], []
    for name, lose in LISTS.items():
        for control in ("cubic", "reno"):
            case = LinuxCase(
                rate="100 Mbit/s", buffer=100_000, lose=lose, duration="40 s", flows=(LinuxFlow(control=control),)
            )
            linux_run = _run_and_report(case, f"{control} {name}", tell)
            reached = [
                number for number in lose if number < linux_run.series["delivered"].iloc[-1] + linux_run.link_losses
            ]
            about = {"list": name, "control": control}
            rows.append({**about, "lost": " ".join(map(str, reached)), **measures(linux_run)})
            kept.append(_series(linux_run, **about))
    return {"losses.csv": pd.DataFrame(rows), "losses-series.csv.gz": pd.concat(kept)}


def transfers(tell: Tell) -> Files:
    """Captures transfers of 200 segments with lists of lost packets: 10 Mbit/s, 100 ms; stores segments and ACKs."""
    rows, sent, acks = [], [], []
    for control in ("cubic", "reno"):
        for number, transfer in enumerate(_transfers(control)):
            tell(f"{control} {' '.join(map(str, transfer.case.lose))}")
            assert transfer.sent is not None  # noqa: S101 - the run was captured
            assert transfer.acks is not None  # noqa: S101 - the run was captured
            about = {"control": control, "list": number}
            rows.append(
                {
                    **about,
                    "lost": " ".join(map(str, transfer.case.lose)),
                    "retransmissions": transfer.retransmissions[0],
                }
            )
            segment = (transfer.sent["byte"] // MSS).rename("segment")
            sent.append(pd.DataFrame({**about, "time_s": transfer.sent["time_s"].round(6), "segment": segment}))
            acks.append(
                pd.DataFrame({**about, "time_s": transfer.acks["time_s"].round(6), **transfer.acks[["ack", "sacked"]]})
            )
    return {
        "transfers.csv": pd.DataFrame(rows),
        "transfers-sent.csv.gz": pd.concat(sent),
        "transfers-acks.csv.gz": pd.concat(acks),
    }


def module_transfers(tell: Tell) -> Files:
    """Runs the loss lists of `transfers` with every control; returns the segments sent, in order."""
    rows = []
    for control in CONTROLS:
        for number, transfer in enumerate(_transfers(control)):
            assert transfer.sent is not None  # noqa: S101 - the run was captured
            segments = " ".join(map(str, transfer.sent["byte"] // MSS))
            lost = " ".join(map(str, transfer.case.lose))
            rows.append({"control": control, "list": number, "lost": lost, "segments": segments})
        tell(f"{control}: {len(TRANSFERS)} transfers")
    return {"module-transfers.csv.gz": pd.DataFrame(rows)}


def phases(tell: Tell) -> Files:
    """Runs BBR with several random phases, and CUBIC, over two 10 Mbit/s paths for 60 s."""
    rows = []
    for path in PHASES_OVER:
        draws: tuple[tuple[LinuxControl, int], ...] = (("bbr", PHASES), ("cubic", 1))
        for control, count in draws:
            for seed in range(count):
                case = LinuxCase(**path, seed=seed, flows=(LinuxFlow(control=control),))
                about = {**path, "control": control, "seed": seed}
                rows.append({**about, **measures(_run_and_report(case, " ".join(map(str, about.values())), tell))})
    return {"phases.csv": pd.DataFrame(rows)}


def queues(tell: Tell) -> Files:
    """Runs CUBIC, Reno and BBR over each AQM, and DCTCP over a step-marking queue: 10 Mbit/s, 100 ms, 60 s."""
    draws: list[tuple[LinuxControl, str, int]] = [
        (control, discipline, seed)
        for discipline, seeds in QUEUES.items()
        for control in ("cubic", "reno", "bbr")
        for seed in range(max(seeds, PHASES) if control == "bbr" else seeds)
    ]
    rows = []
    for control, discipline, seed in [*draws, ("dctcp", STEP, 0)]:
        case = LinuxCase(buffer=1000, discipline=discipline, seed=seed, flows=(LinuxFlow(control=control),))
        linux_run = _run_and_report(case, f"{control} {discipline} {seed}", tell)
        about = {"discipline": discipline, "control": control, "seed": seed}
        rows.append({**about, **measures(linux_run), "marks": linux_run.marks})
    return {"queues.csv": pd.DataFrame(rows)}


def shared_paths(tell: Tell, count: int = SHARED) -> Files:
    """Runs one to eight connections over random paths with AQM."""
    rows = []
    for seed in range(SEEDS * count):
        number = seed % count
        case = draw_shared(number).model_copy(update={"seed": seed})
        linux_run = _run_and_report(case, f"{number} {seed} {case.discipline}", tell)
        about = {name: getattr(case, name) for name in ("rate", "round_trip", "discipline", "duration")}
        controls = " ".join(flow.control for flow in case.flows)
        rows.append({"path": number, **about, "controls": controls, "seed": seed, **shared_measures(linux_run)})
    return {"shared-paths.csv": pd.DataFrame(rows)}


def varying_paths(tell: Tell) -> Files:
    """Runs random paths whose rate varies over time, with each queue discipline in turn."""
    rows = []
    for seed in range(linux_rates.SEEDS * linux_rates.VARYING):
        number = seed // linux_rates.SEEDS
        case = linux_rates.draw_varying(number).model_copy(update={"seed": seed})
        linux_run = _run_and_report(case, f"varying path {number}, seed {seed}", tell)
        about = {name: getattr(case, name) for name in ("rate", "round_trip", "discipline")}
        controls = " ".join(flow.control for flow in case.flows)
        rows.append({"path": number, **about, "controls": controls, "seed": seed, **shared_measures(linux_run)})
    return {"varying-paths.csv": pd.DataFrame(rows)}


def policers(tell: Tell) -> Files:
    """Measures each datagram that passes a policer, and TCP over policed paths."""
    datagrams = []
    for frame in linux_conditioners.measured(linux_conditioners.POLICED):
        tell(f"{frame['case'][0]}: {(frame['arrived_ns'] < 0).sum()} of {len(frame)} dropped")
        datagrams.append(frame)
    rows = []
    for case in linux_conditioners.TCP:
        linux_run = _run_and_report(case, f"police {case.police}", tell)
        about = {"police": case.police, "round_trip": case.round_trip, "control": case.flows[0].control}
        rows.append({**about, "policed": linux_run.policed})
    series = []
    for number, case in enumerate(linux_conditioners.POLICED_BBR):
        sampled = _run_and_report(case, f"BBR, police {case.police}", tell).series
        series.append(pd.DataFrame({"case": number, **sampled[["time_s", "bytes_acked", "bbr_bw", "bbr_pacing_gain"]]}))
    return {
        "policed-datagrams.csv.gz": pd.concat(datagrams),
        "policed-paths.csv": pd.DataFrame(rows),
        "policed-bbr.csv.gz": pd.concat(series),
    }


def shapers(tell: Tell) -> Files:
    """Measures each datagram that passes a token bucket filter."""
    datagrams = []
    for frame in linux_conditioners.measured(linux_conditioners.SHAPED):
        tell(f"{frame['case'][0]}: {(frame['arrived_ns'] < 0).sum()} of {len(frame)} dropped")
        datagrams.append(frame)
    rows = []
    for case in linux_conditioners.SHAPED_TCP:
        linux_run = _run_and_report(case, f"shape {case.shape}", tell)
        controls = " ".join(flow.control for flow in case.flows)
        about = {"shape": case.shape, "round_trip": case.round_trip, "controls": controls}
        rows.append({**about, **shared_measures(linux_run)})
    return {"shaped-datagrams.csv.gz": pd.concat(datagrams), "shaped-paths.csv": pd.DataFrame(rows)}


def cake(tell: Tell) -> Files:
    """Measures each datagram that passes CAKE, and TCP over random paths whose bottleneck is CAKE."""
    datagrams = []
    for frame in linux_conditioners.measured(linux_conditioners.CAKED):
        tell(f"{frame['case'][0]}: {(frame['arrived_ns'] < 0).sum()} of {len(frame)} dropped")
        datagrams.append(frame)
    rows = []
    for seed in range(linux_cake.SEEDS * linux_cake.PATHS):
        number = seed % linux_cake.PATHS
        case = linux_cake.draw_cake(number).model_copy(update={"seed": seed})
        linux_run = _run_and_report(case, f"{number} {seed} {case.discipline}", tell)
        about = {name: getattr(case, name) for name in ("round_trip", "discipline", "ecn")}
        flows = {
            "controls": " ".join(flow.control for flow in case.flows),
            "dscps": " ".join(str(flow.dscp) for flow in case.flows),
        }
        rows.append({"path": number, **about, **flows, "seed": seed, **shared_measures(linux_run)})
    return {"cake-datagrams.csv.gz": pd.concat(datagrams), "cake-paths.csv": pd.DataFrame(rows)}


def delays(tell: Tell) -> Files:
    """Measures netem's jitter, reordering and duplication: quantiles of delays, and arrivals per datagram."""
    frames = []
    for frame in linux_conditioners.delays():
        tell(f"netem {frame['case'].iloc[0]}: median {frame['delay_ms'].median():.2f} ms")
        frames.append(frame)
    return {"netem-delays.csv": pd.concat(frames)}


def paths(tell: Tell, count: int = PATHS) -> Files:
    """Runs CUBIC, BBR and Reno over random paths with lists of lost packets, for 60 s, or for 30 s above 25 Mbit/s."""
    draws: tuple[tuple[LinuxControl, int], ...] = (("cubic", 1), ("bbr", PHASES), ("reno", 1))
    rows = []
    for number, (control, seeds) in product(range(count), draws):
        path, loss = draw(number)
        for seed in range(number, number + count * seeds, count):
            case = path.model_copy(update={"seed": seed, "flows": (LinuxFlow(control=control),)})
            linux_run = _run_and_report(case, f"{number} {control} {seed}", tell)
            about = {name: getattr(case, name) for name in ("rate", "round_trip", "buffer")}
            rows.append(
                {
                    "path": number,
                    **about,
                    "loss": loss,
                    "duration": case.duration,
                    "seed": case.seed,
                    "control": control,
                    **measures(linux_run),
                }
            )
    return {"paths.csv": pd.DataFrame(rows)}


TABLES: Final[dict[str, Callable[[Tell], Files]]] = {
    "controls": controls,
    "modules": modules,
    "losses": losses,
    "transfers": transfers,
    "module-transfers": module_transfers,
    "phases": phases,
    "queues": queues,
    "paths": paths,
    "shared-paths": shared_paths,
    "varying-paths": varying_paths,
    "policers": policers,
    "shapers": shapers,
    "cake": cake,
    "delays": delays,
}


def draw(number: int) -> tuple[LinuxCase, float]:
    """Draws a path: 5 to 100 Mbit/s, 10 to 600 ms, a buffer of 1/4 to 4 BDP, and loss (none, or 1e-5 to 1e-2).

    Returns the case, which lists the lost packets by number, and the loss probability from which the list was drawn.
    """
    case, loss = draw_from(Random(f"path {number}"))  # noqa: S311 - not used for cryptography
    return case.model_copy(update={"seed": number}), loss


def draw_from(random: Random) -> tuple[LinuxCase, float]:
    """Draws a path as `draw` does, from any random stream."""
    while True:
        rate, round_trip = _between(random, 5e6, 100e6), _between(random, 0.010, 0.600)
        product = rate * round_trip / 8
        buffer = random.uniform(0.25, 4)
        lossy, loss = random.random() < 2 / 3, _between(random, 1e-5, 1e-2)
        if product * (1 + buffer) <= MAX_BYTES:
            break
    loss, duration_s = float(f"{loss:.2g}") if lossy else 0.0, 60 if rate <= 25e6 else 30
    packets = COPIES * rate * duration_s / 8 / PACKET_BYTES
    case = LinuxCase(
        rate=f"{round(rate, -5):.0f} bit/s",
        round_trip=f"{1000 * round_trip:.0f} ms",
        buffer=max(4, round(buffer * product / PACKET_BYTES)),
        lose=tuple(packet for packet in range(round(packets)) if random.random() < loss),
        duration=f"{duration_s} s",
    )
    return case, loss


def measures(result: LinuxRun) -> dict[str, float | int]:
    """Returns the measures of a run with one flow: goodput before and after its first third, median SRTT, counts."""
    end = seconds(result.case.duration)
    steady = round(end * STEADY, 1)
    return {
        "goodput_mbps": round(result.goodput(steady, end) / 1e6, 4),
        "first_goodput_mbps": round(result.goodput(0, FIRST_S) / 1e6, 4),
        "median_srtt_ms": round(1000 * result.median_srtt(steady, end), 3),
        "drops": result.queue_drops,
        "link_losses": result.link_losses,
        "retransmissions": result.retransmissions[0],
    }


def content(name: str, frame: pd.DataFrame) -> bytes:
    """Returns the bytes of a table's file: CSV, compressed if its name ends in .gz, without a time stamp."""
    text = StringIO()
    frame.to_csv(text, index=False, lineterminator="\n")
    plain = text.getvalue().encode()
    return gzip.compress(plain, mtime=0) if name.endswith(".gz") else plain


def _run_and_report(case: LinuxCase, what: str, tell: Tell) -> LinuxRun:
    linux_run = run(case)
    tell(f"{what}: {linux_run.goodput(0, seconds(case.duration)) / RATE.parse(case.rate):.3f} of the rate")
    return linux_run


def _series(result: LinuxRun, **about: str) -> pd.DataFrame:
    return pd.DataFrame({**about, **result.series[["time_s", *KEPT]]})


def _transfers(control: LinuxControl) -> list[LinuxRun]:
    """Runs the transfer with each of TRANSFERS, and repeats it once for each retransmission to be lost.

    The packet number of a retransmission is known only after a run.
    """
    numbers = [[number for number in lost if isinstance(number, int)] for lost in TRANSFERS]
    lost_again = [[number[1] for number in lost if not isinstance(number, int)] for lost in TRANSFERS]
    transfers: dict[int, LinuxRun] = {}
    waiting = list(range(len(TRANSFERS)))
    while waiting:
        cases = [
            LinuxCase(
                buffer=1000,
                lose=tuple(numbers[place]),
                duration="100 s",
                capture=True,
                flows=(LinuxFlow(control=control, size=f"{SEGMENTS * MSS} B"),),
            )
            for place in waiting
        ]
        transfers.update(zip(waiting, run_each(cases, seed=0), strict=True))
        waiting = [place for place in waiting if lost_again[place]]
        for place in waiting:
            sent = transfers[place].sent
            assert sent is not None  # noqa: S101 - the run was captured
            bytes_sent = sent["byte"]
            numbers[place].append(int(bytes_sent[bytes_sent == bytes_sent.iloc[lost_again[place].pop(0)]].index[-1]))
    return [transfers[place] for place in range(len(TRANSFERS))]


def _between(random: Random, low: float, high: float) -> float:
    """Draws a number whose logarithm is uniform."""
    return float(low * (high / low) ** random.random())
