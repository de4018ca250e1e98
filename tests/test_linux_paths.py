"""Random paths for every controller: their generation, and longpipe's results compared with
data/linux/control-paths.csv.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from commands import run as command
from linux_guest import kernel
from longpipe import ScenarioError, simulate
from longpipe_evidence.validate import linux_paths
from longpipe_evidence.validate.linux import LinuxCase, LinuxFlow, LinuxRun, run, run_each
from longpipe_evidence.validate.linux_compare import TRUNK, scenario
from longpipe_evidence.validate.linux_disciplines import switch_of
from longpipe_evidence.validate.linux_paths import CONTROLS, DRAWS, KEY, collect, draw, missing, read, tick
from longpipe_evidence.validate.linux_paths_judged import TIMES, judged
from longpipe_evidence.validate.linux_ticks import after
from thorough import one_in

FILE = Path(__file__).parent / "data" / "linux" / "control-paths.csv"
TABLE = read(FILE)
# Number of paths compared here; `longpipe validate linux paths` compares all paths.
JUDGED = 6
# Minimum number of these paths for which goodput and RTT, losses and marks, and retransmissions agree with Linux.
AGREE = {
    "reno": (6, 6, 6),
    "cubic": (6, 6, 6),
    "bic": (5, 6, 6),
    "htcp": (6, 6, 6),
    "hybla": (6, 6, 6),
    "illinois": (5, 6, 6),
    "scalable": (6, 6, 6),
    "highspeed": (6, 6, 6),
    "vegas": (6, 6, 6),
    "veno": (6, 6, 6),
    "westwood": (6, 6, 6),
    "dctcp": (6, 6, 6),
    "bbr": (6, 6, 6),
}
# Paths on which results depend on the 86 bytes by which Linux's token bucket is larger than a packet.
BY_BUCKET = (("vegas", 19), ("bic", 7), ("highspeed", 24))


def fake(case: LinuxCase) -> LinuxRun:
    times = [index / 10 for index in range(601)]
    series = pd.DataFrame({"time_s": times, "flow": 0, "bytes_acked": 0, "srtt_us": 0})
    return LinuxRun(case, "6.1", series, 0, 0, 0, 0, (0,), (0.0,))


def test_controls_are_run_path_by_path() -> None:
    starts = missing(read(Path("none.csv")), CONTROLS, 2)
    assert [{number for _, number, _ in start} for start in starts] == [{0}, {0}, {1}, {1}]
    # DCTCP needs a different receiver and so a separate start, and BBR has six draws.
    assert [len(start) for start in starts] == [len(CONTROLS) - 2 + DRAWS["bbr"], 1] * 2


def test_interrupted_collection_keeps_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, started = tmp_path / "store.csv", []

    def interrupted(cases: Sequence[LinuxCase], *, seed: int) -> Iterator[LinuxRun]:
        started.append((len(cases), seed))
        yield from map(fake, cases[:2])
        raise KeyboardInterrupt

    def whole(cases: Sequence[LinuxCase], *, seed: int) -> Iterator[LinuxRun]:
        started.append((len(cases), seed))
        yield from map(fake, cases)

    monkeypatch.setattr(linux_paths, "run_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect(file, ("reno", "cubic", "bbr"), 2, print)
    # The last row is incomplete, as if the process had been killed.
    with file.open("a") as opened:
        opened.write("bbr,0,0,1")
    monkeypatch.setattr(linux_paths, "run_each", whole)
    collect(file, ("reno", "cubic", "bbr"), 2, print)
    assert started == [(8, 0), (6, 2), (8, 1000)]
    keys = list(read(file)[KEY].itertuples(index=False, name=None))
    assert len(keys) == len(set(keys)) == 16
    collect(file, ("reno", "cubic", "bbr"), 2, print)
    assert len(started) == 3


def test_the_command_continues_a_file_that_exists(tmp_path: Path) -> None:
    file = tmp_path / "store.csv"
    file.write_bytes(FILE.read_bytes())
    done = command("validate", "linux", "paths", file, "--collect", "--control", "reno", "--paths", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_bytes() == FILE.read_bytes()


def test_the_time_since_a_tick_is_as_measured_in_the_guest() -> None:
    """The expected values [ms] of the last cases follow from the expiry of timers of delayed ACKs, in three starts."""
    for round_trip, durations, measured in (
        (460, (60,), 0.547),
        (277, (60,), 1.462),
        (460, (60, 6), 0.481),
        (460, (60, 6, 6), 0.501),
    ):
        cases = [LinuxCase(round_trip=f"{round_trip} ms", duration=f"{duration} s") for duration in durations]
        assert 1e3 * after(cases) == pytest.approx(measured, abs=0.05)


def test_a_start_that_continues_a_collection_has_other_ticks() -> None:
    alone = after([draw("westwood", 3)[0]])
    assert tick("westwood", 3, 0, 3010) == alone
    assert tick("westwood", 3, 0, 3009) == after([draw("veno", 3)[0], draw("westwood", 3)[0]])
    assert tick("dctcp", 3, 0, 3017) == after([draw("dctcp", 3)[0]])


def test_dctcp_queue_is_a_step_threshold() -> None:
    for number in range(40):
        case = draw("dctcp", number)[0]
        made = switch_of(case.guest["discipline"], 10_000_000)
        assert made is not None
        policy = made["policy"]
        assert policy["max"] == policy["min"] + 1
        assert policy["min"] == 1500 * max(2, round(case.buffer / 3))
        assert policy["weight"] == 0.5


def test_table_has_the_drawn_cases_and_their_seeds() -> None:
    assert set(TABLE["control"]) == set(CONTROLS)
    assert not TABLE.duplicated(KEY).any()
    assert (TABLE["seed"] // linux_paths.SEEDS_APART == TABLE["path"]).all()
    for (control, number), rows in one_in(4, list(TABLE.groupby(["control", "path"]))):
        case, loss = draw(control, int(str(number)))  # type: ignore[arg-type]
        assert set(rows["loss"]) == {loss}
        assert (rows["link_losses"] <= len(case.lose)).all()
        assert control == "dctcp" or (rows["marks"] == 0).all()
    assert TABLE.query("control == 'dctcp'")["marks"].sum() > 1000


@pytest.mark.parametrize("control", one_in(5, CONTROLS))
def test_agreement_with_linux_is_at_least_as_documented(control: str) -> None:
    found = judged(TABLE[(TABLE["control"] == control) & (TABLE["path"] < JUDGED)])
    agree = tuple(
        sum(one.agree(names) for one in found) for names in (TIMES, ("losses", "marks"), ("retransmissions",))
    )
    assert len(found) == JUDGED
    assert all(now >= before for now, before in zip(agree, AGREE[control], strict=True)), agree


@pytest.mark.parametrize(("control", "path"), one_in(3, BY_BUCKET))
def test_a_path_has_the_token_bucket_of_linux(control: str, path: int) -> None:
    (found,) = judged(TABLE[(TABLE["control"] == control) & (TABLE["path"] == path)])
    assert found.differing == []


def test_hystart_ends_in_the_round_in_which_linux_ends_it() -> None:
    """The bucket sends the first packet after a pause earlier than a serial line would, which ends an ACK train.

    Over a serial line, HyStart ends slow start a round trip earlier, so that only 5 packets are lost.
    """
    case = LinuxCase(rate="9300000 bit/s", round_trip="24 ms", buffer=59, duration="5 s")
    trunk = simulate(scenario(case)).ports.set_index("port").loc[TRUNK]
    assert trunk["packets_lost_overflow"] == 14


def test_a_table_of_other_paths_is_rejected() -> None:
    other = TABLE[TABLE["control"] == "reno"].head(1).assign(rate="1 bit/s")
    with pytest.raises(ScenarioError, match=r"^FILE: rate of path 0 of reno; needs '"):
        judged(other)


@kernel
def test_several_cases_in_one_guest_equal_single_cases() -> None:
    flow = LinuxFlow(control="cubic")
    cases = [
        LinuxCase(duration="3 s", lose=(100,), flows=(flow,)),
        LinuxCase(duration="3 s", rate="20 Mbit/s", round_trip="30 ms", buffer=30, flows=(flow,)),
    ]
    together = list(run_each(cases, seed=0))
    for case, found in zip(cases, together, strict=True):
        alone = run(case)
        assert found.queue_drops == alone.queue_drops
        assert found.link_losses == alone.link_losses
        assert found.goodput(1, 3) == pytest.approx(alone.goodput(1, 3), rel=1e-3)
        assert found.median_srtt(1, 3) == pytest.approx(alone.median_srtt(1, 3), rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"control,", b"kind,", "needs the columns control,path,draw"),
        (b"reno,0,0", b"reno,x,0", "column path; needs whole numbers"),
        (b"7.229", b"fast", "column goodput_mbps; needs numbers"),
        (b"reno", b"r\0no", "has a NUL character"),
        (b"reno", b"r\xffno", "not UTF-8 text"),
        (b"reno,0", b"reno", "18 cells; needs 19"),
    ],
)
def test_a_file_of_other_content_is_rejected_in_one_line(tmp_path: Path, old: bytes, new: bytes, problem: str) -> None:
    rows = FILE.read_bytes().splitlines(keepends=True)[:2]
    file = tmp_path / "a.csv"
    file.write_bytes(b"".join(rows).replace(old, new))
    with pytest.raises(ScenarioError) as error:
        read(file)
    assert problem in str(error.value)
    assert str(file) in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    file.write_bytes(b"")
    assert read(file).empty
