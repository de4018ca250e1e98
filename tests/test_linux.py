import hashlib
import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from commands import PLAIN
from commands import run as run_command
from linux_guest import kernel
from longpipe import ScenarioError, simulate
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.units import RATE
from longpipe_evidence.validate.linux import (
    MSS,
    PACKET_BYTES,
    LinuxCase,
    LinuxControl,
    LinuxFlow,
    LinuxRun,
    run,
    run_each,
)
from longpipe_evidence.validate.linux_compare import LinuxComparison, compare, longpipe_name, scenario
from longpipe_evidence.validate.linux_judged import FEW_PACKETS, Judgement, Tolerances, only_shares_differ
from longpipe_evidence.validate.linux_tables import CONTROLS, PATHS, PHASES, TRANSFERS, content, draw, measures

TABLES = Path(__file__).parent / "data" / "linux"


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_command("validate", "linux", "path", *arguments, environment={**PLAIN, **environment})


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / name)


def one(control: LinuxControl, **case: Any) -> LinuxCase:  # noqa: ANN401 - fields of any type
    flow = LinuxFlow(control=control, size=case.pop("size", None))
    return LinuxCase(flows=(flow,), **case)


# The tables


def test_the_table_of_controls_is_that_of_its_series() -> None:
    rows, series = table("controls.csv").set_index("control"), table("controls-series.csv.gz")
    assert tuple(rows.index) == CONTROLS
    for control in CONTROLS:
        of = series[series["control"] == control]
        told = rows.loc[control].to_dict()
        frame = of.drop(columns="control").assign(flow=0)
        found = LinuxRun(one(control), "", frame, int(told["drops"]), 0, 0, 0, (of["retransmits"].iloc[-1],), (0.0,))
        assert measures(found) == told
        assert np.allclose(of["time_s"], np.arange(601) / 10)


def test_tables_agree_with_earlier_measurements_of_equal_paths() -> None:
    # Results over 10 Mbit/s, 100 ms and 100 packets with a different configuration of the guest: goodput [Mbit/s] and
    # median SRTT [ms].
    before = {"reno": (9.564, 172.8), "cubic": (9.564, 189.5), "bbr": (9.26, 107.0), "htcp": (9.563, 140.5)}
    before |= {"illinois": (9.552, 201.4), "veno": (9.564, 186.7), "bic": (9.563, 201.8), "vegas": (9.563, 105.4)}
    rows = table("controls.csv").set_index("control")
    for control, (goodput, srtt) in before.items():
        # BBR's goodput depends on its random initial phase.
        assert rows.loc[control, "goodput_mbps"] == pytest.approx(goodput, rel=0.015 if control == "bbr" else 0.003)
        assert rows.loc[control, "median_srtt_ms"] == pytest.approx(srtt, rel=0.01)


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_transfer_retransmits_exactly_the_lost_segments(control: str) -> None:
    rows = table("transfers.csv").query("control == @control").set_index("list")
    sent = table("transfers-sent.csv.gz").query("control == @control")
    assert list(rows.index) == list(range(len(TRANSFERS)))
    for number, of in sent.groupby("list"):
        lost = [int(packet) for packet in str(rows["lost"].fillna("")[number]).split()]
        segments = of["segment"].reset_index(drop=True)
        again = segments[segments.duplicated()]
        # A tail loss probe may be sent even if it does not repair a loss.
        assert set(segments[lost]) <= set(again), number
        assert len(again) == rows["retransmissions"][number]
        assert set(segments) == set(range(200))


def test_table_of_losses_has_the_listed_losses() -> None:
    rows = table("losses.csv")
    assert list(rows["link_losses"]) == [len(str(lost).split()) for lost in rows["lost"].fillna("")]
    assert (rows["drops"] == 0).all()


# Paths over which Reno is still in recovery when the measured interval starts.
LONG_RECOVERIES = {13, 27}


def test_table_of_paths_has_the_drawn_cases() -> None:
    paths = table("paths.csv")
    assert len(paths) == (2 + PHASES) * PATHS
    for number in range(PATHS):
        (case, loss), rows = draw(number), paths[paths["path"] == number]
        assert list(rows["control"]) == ["cubic", *PHASES * ["bbr"], "reno"]
        assert list(rows["seed"]) == [number, *range(number, number + PHASES * PATHS, PATHS), number]
        for name in ("rate", "round_trip", "buffer", "duration"):
            assert set(rows[name]) == {getattr(case, name)}
        # The goodput is at most the capacity, unless the end of a long recovery acknowledges data sent before the
        # measured interval.
        above = rows["goodput_mbps"] > RATE.parse(case.rate) / 1e6 * MSS / PACKET_BYTES * 1.02
        assert list(rows["control"][above]) == (["reno"] if number in LONG_RECOVERIES else [])
        # There are no losses other than the drawn ones.
        assert set(rows["loss"]) == {loss}
        assert (rows["link_losses"] <= len(case.lose)).all()


def test_tables_are_reproducible_byte_by_byte() -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    assert content("a.csv", frame) == b"a\n1\n2\n"
    assert content("a.csv.gz", frame) == content("a.csv.gz", frame)
    assert pd.read_csv(StringIO(content("a.csv", frame).decode())).equals(frame)


# Selected cases


def test_longpipes_own_controls_are_found_by_linuxs_names() -> None:
    assert longpipe_name("reno") == "linux-reno"
    shared = set(kinds(Congestion)) & set(get_args(LinuxControl))
    assert {"vegas", "scalable", "highspeed"} <= shared
    assert all(longpipe_name(name) == name for name in shared)
    assert longpipe_name("lp") is None


def test_packet_delay_equals_that_of_a_token_bucket() -> None:
    result = simulate(scenario(one("reno", duration="10 s")).with_(**{"tcp.ack": "immediate"}))
    assert result.traces["rtt"]["rtt_s"].dropna().iloc[0] == pytest.approx(0.1, abs=5e-6)
    acks = result.traces["sequence"].query("event == 1 and time_s > 5")
    gaps = np.diff(acks["time_s"])
    assert np.median(gaps) == pytest.approx(1514 * 8 / 10e6, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--control", "cubik"), "control: 'cubik'; did you mean 'cubic'? accepts reno, cubic, bbr,"),
        (("--discipline", "fifo"), "discipline: 'fifo'; did you mean 'pfifo'? accepts pfifo, codel,"),
        (("--discipline", "pfifo; reboot"), "discipline: 'pfifo; reboot'; did you mean 'pfifo'?"),
        (("--lose", "3,x"), "--lose: '3,x'; needs packet numbers, as in 3000,20000"),
        (("--start", "1 s", "--start", "2 s"), "--start: 2 times; needs one, or one for each of 1 flows"),
        (("--buffer", "0"), "buffer: 0; needs at least 1"),
        (("--loss", "2"), "loss: 2.0; needs at most 1"),
        (("--duration", "1 ms"), "duration: 1 ms; needs at least 1 s"),
        (("--rate", "5"), "rate: '5' has no unit; accepts bit/s,"),
        (("--control", "reno", "--set", "switch.buffers=1"), "switch.buffers: unknown field;"),
    ],
)
def test_bad_input_is_reported_in_a_line_that_names_it(arguments: tuple[str, ...], message: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {message}")
    assert done.stderr.count("\n") == 1


def test_missing_kernel_names_the_package_to_install(tmp_path: Path) -> None:
    done = command(PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    wanted = "error: linux.uml: not installed; get it: apt install user-mode-linux (Debian)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", wanted)


def test_unsuitable_machine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(ScenarioError, match=r"^linux.uml: needs Linux on x86_64; this is linux on aarch64$"):
        run(LinuxCase())


# The kernel itself


@kernel
def test_cubic_matches_its_table() -> None:
    found = run(one("cubic", duration="30 s"))
    series = table("controls-series.csv.gz").query("control == 'cubic' and time_s <= 30").set_index("time_s")
    ours = found.of(0)
    assert found.goodput(20, 30) == pytest.approx(
        (series["bytes_acked"][30.0] - series["bytes_acked"][20.0]) * 0.8, rel=2e-3
    )
    # Windows agree within a segment until the first loss; then within 2 %, except for tenths of a second in recovery.
    calm = series.index < series.index[series["retransmits"] > 0][0]
    assert ours["cwnd"][calm].equals(series["cwnd"][calm])
    near = (ours["cwnd"] / series["cwnd"] - 1).abs() <= 0.02
    assert near.mean() > 0.97
    assert found.queue_drops == pytest.approx(series["retransmits"].iloc[-1], abs=3)


@kernel
@pytest.mark.parametrize("number", [4, 15, 16])
def test_losses_are_retransmitted_as_in_the_table(number: int) -> None:
    rows = table("transfers.csv").query("control == 'cubic'").set_index("list")
    wanted = table("transfers-sent.csv.gz").query("control == 'cubic' and list == @number").reset_index(drop=True)
    lose = tuple(map(int, rows["lost"][number].split()))
    found = run(one("cubic", size=f"{200 * MSS} B", lose=lose, buffer=1000, duration="100 s", capture=True))
    assert found.sent is not None
    assert list(found.sent["byte"] // MSS) == list(wanted["segment"])
    # Timers expire at ticks of 10 ms.
    assert (found.sent["time_s"] - wanted["time_s"]).abs().max() < 0.011
    assert found.link_losses == len(lose)


@kernel
def test_runs_are_repeatable_and_depend_on_the_seed() -> None:
    def digest(seed: int) -> str:
        found = run(one("bbr", duration="2 s", loss=0.01, seed=seed))
        assert found.link_losses > 0
        return hashlib.sha256(found.series.to_csv().encode()).hexdigest()

    first, again, other = digest(1), digest(1), digest(2)
    assert first == again
    assert first != other


@kernel
def test_step_to_the_same_rate_changes_nothing_in_linux() -> None:
    """A change of the token bucket must not change the limit of its queue."""
    path: dict[str, Any] = {"round_trip": "40 ms", "buffer": 40, "duration": "6 s", "flows": (LinuxFlow(),)}
    disciplines = "pfifo", "bfifo limit 60000"
    steps: tuple[tuple[str, str], ...] = (("1 s", "10 Mbit/s"), ("2 s", "10 Mbit/s"))
    cases = [LinuxCase(**path, discipline=name, rates=rates) for name in disciplines for rates in ((), steps)]
    constant, stepped = (list(run_each(cases, seed=0))[first::2] for first in (0, 1))
    for before, after in zip(constant, stepped, strict=True):
        assert before.queue_drops == after.queue_drops > 0
        assert before.median_srtt(2, 6) == pytest.approx(after.median_srtt(2, 6), rel=0.01)


@kernel
def test_two_flows_share_a_path_with_a_marking_queue() -> None:
    flows = LinuxFlow(control="cubic"), LinuxFlow(control="vegas", start="2 s")
    found = run(LinuxCase(flows=flows, duration="6 s", discipline="fq_codel ecn"))
    late = found.of(1)
    assert late["bytes_acked"][1.9] == 1
    assert (late["bytes_acked"][6.0], found.of(0)["bytes_acked"][6.0]) > (1_000_000, 3_000_000)
    # The connections use ECN because the queue discipline marks packets.
    assert found.marks > 0


@kernel
def test_longpipe_with_linux_writes_both_series_and_the_capture(tmp_path: Path) -> None:
    csv, pcap = tmp_path / "both.csv", tmp_path / "sender.pcap"
    options = ["--control", "reno", "--duration", "6 s", "--lose", "100", "--within", "0.02"]
    done = command(*options, "--csv", str(csv), "--pcap", str(pcap))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Linux 6.1" in done.stdout
    both = pd.read_csv(csv)
    assert len(both) == 61
    assert {"cwnd", "srtt_us", "longpipe_cwnd", "longpipe_srtt_us", "longpipe_bytes_acked"} <= set(both)
    last = both.iloc[-1]
    assert last["longpipe_bytes_acked"] == pytest.approx(last["bytes_acked"], rel=0.01)
    assert last["longpipe_cwnd"] == pytest.approx(last["cwnd"], abs=1.5)
    assert pcap.read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    assert pcap.stat().st_size > 90 * 3000


@kernel
def test_error_of_tc_is_reported_verbatim() -> None:
    done = command("--discipline", "fq_codel foo 3", "--alone", "--duration", "1 s")
    told = "error: discipline: 'fq_codel foo 3'; needs a discipline that tc accepts; tc reports: What is \"foo\"?"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def differ(found: LinuxComparison, **tolerances: float) -> set[str]:
    return {one.quantity for one in found.judged(Tolerances(**tolerances)) if not one.agrees}


@kernel
def test_each_quantity_has_a_separate_tolerance() -> None:
    changes: dict[str, Any] = {"network.trunk_rate": "5 Mbit/s"}
    found = compare(one("reno", duration="6 s", lose=(300,)), **changes)
    assert {judged.quantity for judged in found.judged(Tolerances())} == {
        "goodput_mbps", "srtt_ms", "retransmissions", "losses", "marks",
    }  # fmt: skip
    assert differ(found, goodput=0.9, round_trip=0.9, counts=1000.0) == set()
    assert "goodput_mbps" in differ(found, goodput=0.2, round_trip=0.9)
    assert found.flows["longpipe_goodput_mbps"][0] == pytest.approx(4.8, rel=0.1)


@kernel
def test_different_losses_fail_despite_equal_goodput_and_rtt() -> None:
    found = compare(LinuxCase(duration="10 s", flows=(LinuxFlow(control="cubic"),)))
    assert differ(found) == set()
    more = replace(found.linux, queue_drops=2 * found.linux.queue_drops, retransmissions=(0,))
    assert differ(replace(found, linux=more)) == {"losses", "retransmissions"}


def test_counts_may_differ_by_a_few_packets_only() -> None:
    def agrees(linux: int, longpipe: int, quantity: str = "losses") -> bool:
        return Judgement(quantity, linux, longpipe, 0.15).agrees

    assert agrees(0, FEW_PACKETS)
    assert not agrees(0, FEW_PACKETS + 1)
    assert agrees(100, 115)
    assert not agrees(100, 116)
    assert not agrees(100, 84)
    # Only packets are counted.
    assert not agrees(1, 2, "goodput_mbps")


def test_different_shares_are_distinguished_from_different_totals() -> None:
    def shares(*goodputs: tuple[float, float]) -> bool:
        return only_shares_differ([Judgement("goodput_mbps", *pair, 0.05, flow) for flow, pair in enumerate(goodputs)])

    assert shares((22.2, 24.6), (25.6, 23.2))
    assert not shares((22.2, 22.3), (25.6, 25.5))
    assert not shares((22.2, 24.6), (25.6, 25.6))
    assert not shares((22.2, 24.6))
    assert not only_shares_differ([])


@kernel
def test_the_command_suggests_other_start_times_if_only_the_shares_differ() -> None:
    # The second flow of longpipe starts later.
    late = ("--set", "network.group.1.start={kind='fixed',at='3 s'}")
    done = command(*("--control", "reno") * 2, "--duration", "6 s", *late)
    assert done.returncode == 1
    assert "compare means over several values of --start" in " ".join(done.stdout.split())


@kernel
def test_command_lists_compared_and_deviating_quantities() -> None:
    done = command("--duration", "6 s", "--set", "network.trunk_rate=5 Mbit/s")
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert "judged: goodput, round trip (within 5 %); retransmissions, packets lost in the queue" in text
    assert "differ: goodput -4" in text
    assert "not judged: goodput and round trip before 2 s; windows over time and the order of losses" in text
    alone = command("--control", "cdg", "--duration", "2 s")
    assert alone.returncode == 0
    assert "not judged: everything, because Linux ran alone" in " ".join(alone.stdout.split())
