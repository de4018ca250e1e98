import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from documented import is_rounded, table_rows
from longpipe import _core, simulate
from longpipe.analysis.claims import Claim, Exact, Verdict, judge
from longpipe.store import Store
from longpipe.study import Runner
from longpipe.units import TIME
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers.frozen import frozen
from longpipe_evidence.papers.lbd_01 import PAPER, beyond, figures
from longpipe_evidence.papers.lbd_01.courses import Course, first_overflow
from longpipe_evidence.papers.lbd_01.numbers import gains
from longpipe_evidence.papers.lbd_01.reproduction import TransferReproduction, reproduce
from longpipe_evidence.papers.lbd_01.transfers import (
    METRICS,
    PACKET_BYTES,
    SEED,
    SEGMENTS,
    Transfer,
    measure,
    transfers,
)
from longpipe_evidence.papers.lbd_01.variants import QUANTITIES, TRANSFERS, VARIANTS
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.statements import statements
from reproduced import WRITTEN, whole_lbd_01


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole_lbd_01(tmp_path_factory) / "lbd-01"


@pytest.fixture(scope="module")
def found(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TransferReproduction]:
    with closing(Store(shutil.copy(out.with_name("runs.db"), tmp_path_factory.mktemp("lbd-01")))) as store:
        yield reproduce(Runner(store))


def number(found: TransferReproduction, quantity: str, **factors: object) -> pd.Series:
    rows = found.numbers[found.numbers["quantity"] == quantity]
    for name, level in factors.items():
        rows = rows[rows[name] == level]
    assert len(rows) == 1
    return rows.iloc[0]


def test_table_1_gives_the_72_configurations() -> None:
    configurations = transfers()
    assert len(configurations) == len(set(configurations)) == 72
    assert {t.buffer_packets for t in configurations if t.w_star_packets == 20} == {5, 10, 15, 20}
    assert {t.buffer_packets for t in configurations if t.w_star_packets == 640} == {160, 320, 480, 640}
    for transfer in configurations:
        scenario = transfer.scenario()
        assert scenario.network.kind == "dumbbell"
        assert scenario.network.trunk_rate == f"{50 * transfer.w_star_packets} kbit/s"
        # For 100 ms and 640-byte packets, W* is 20 packets per Mbit/s, to within 2.3 %, as in the paper's Table 1.
        assert 2 * TIME.parse(scenario.network.trunk_delay) == TIME.parse("100 ms")


def test_a_directory_holds_report_tables_runs_and_figures(out: Path) -> None:
    figures = {
        f"{name}.{kind}"
        for name in (
            "figure-1-network", "figure-2-utilization", "figure-3-reno", "figure-4-sack", "figure-5-newreno", "figure-6-recovery",
            "figure-7-buffer-gain",
        )
        for kind in ("png", "svg")
    }  # fmt: skip
    tables = {"runs.csv", "numbers.csv", "gains.csv"}
    assert {path.name for path in out.iterdir()} == {*WRITTEN, *tables, *figures}
    assert max(map(len, (out / "report.txt").read_text().splitlines())) <= 100


def test_json_rows_carry_factors_and_metrics(found: TransferReproduction) -> None:
    report = json.loads(found.to_json())
    heads = ["paper", "version", "engine", "engine_kind", "seeds", "seconds"]
    assert list(report) == [*heads, "tables", "numbers", "claims"]
    assert (report["engine"], report["engine_kind"]) == (_core.__engine__, "trains")
    assert [(table["table"], len(table["rows"])) for table in report["tables"]] == [("figure-2", 72), ("beyond", 48)]
    factors, metrics = ["w_star_packets", "buffer_bdp", "tcp"], list(METRICS)
    for row in (row for table in report["tables"] for row in table["rows"]):
        assert list(row) == [*factors, *metrics]
        assert all(isinstance(row[name]["deterministic"], int | float) for name in metrics)
        assert all(row[name]["mean"] == row[name]["deterministic"] for name in metrics)
    assert len(report["numbers"]) == 37
    assert [claim["id"] for claim in report["claims"]] == [f"lbd-{n}" for n in range(1, 21)]


@pytest.mark.parametrize(
    ("quantity", "tcp", "within_s"),
    [
        ("first_loss_time", "newreno", 0.001),
        ("first_fast_retransmit_time", "reno", 0.001),
        ("second_fast_retransmit_time", "reno", 0.001),
        ("retransmission_timeout_time", "reno", 0.010),
    ],
)
def test_instants_of_figure_6_are_those_printed(
    found: TransferReproduction, quantity: str, tcp: str, within_s: float
) -> None:
    row = number(found, quantity, tcp=tcp)
    assert abs(row["simulated"] - row["published"]) < within_s


def test_page_numbers_agree_with_the_paper(found: TransferReproduction) -> None:
    assert abs(number(found, "completion_time", tcp="newreno")["error"]) < 0.02
    assert number(found, "slow_start_losses")["simulated"] == 96
    assert number(found, "ssthresh_estimate")["simulated"] == 626
    assert abs(number(found, "buffer_gain", tcp="newreno", w_star_packets=640)["error"]) < 0.1
    assert abs(number(found, "buffer_gain", tcp="sack")["error"]) < 0.1
    slopes = found.numbers[found.numbers["quantity"] == "slope_tn"]
    assert len(slopes) == 12
    assert slopes["error"].abs().max() < 0.15


def test_claims_are_judged_without_intervals(found: TransferReproduction) -> None:
    verdicts = {claim.id: claim.verdict for claim in found.claims}
    # The page docs/lbd-01.md explains each of these failures.
    failing = {f"lbd-{n}" for n in (17, 20)}
    in_part = {f"lbd-{n}" for n in (8, 10, 11, 12, 13, 14, 15, 16, 18)}
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.FAILS} == failing
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.IN_PART} == in_part
    assert set(verdicts.values()) == {Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS}
    one = Claim("x", "exact", lambda _: [Exact("q", pd.Series([2.0]), above=2.0)], published=False)
    assert judge(one, found.runs, found.runs).verdict is Verdict.FAILS


def test_failing_statement_has_a_cause(found: TransferReproduction) -> None:
    judged = {claim.id: [finding.verdict for finding in claim.findings] for claim in found.claims}
    verdicts = {one.id: one.verdict(judged) for one in statements("lbd-01")}
    assert {one.id for one in statements("lbd-01") if one.cause} == {n for n, v in verdicts.items() if v == "fails"}


def test_buffer_gains_are_relative_to_a_quarter(found: TransferReproduction) -> None:
    gained = gains(found.runs)
    assert len(gained) == len(found.runs)
    assert (gained.loc[gained["buffer_bdp"] == 0.25, "gain"] == 1).all()


def test_every_lost_segment_is_retransmitted_and_counted(found: TransferReproduction) -> None:
    for transfer, course in found.courses.items():
        chosen = (found.runs[["w_star_packets", "buffer_bdp", "tcp"]] == list(vars(transfer).values())).all(axis=1)
        run = found.runs[chosen].iloc[0]
        assert len(course.lost) == run["losses"]
        assert course.sent["again"].sum() == run["retransmissions"]
        assert course.sent["packet"].max() == SEGMENTS - 1


def test_losses_of_an_interpretation_use_its_own_limit() -> None:
    transfer = Transfer(160, 0.25, "newreno")
    [reading] = PAPER.readings.values()
    course = Course.of(transfer, **reading.reading.changes(transfer))
    lost = course.result.ports.filter(like="packets_lost_").to_numpy().sum()
    assert len(course.lost) == lost > 0
    assert course.result.scenario.switch.buffer == f"{transfer.buffer_packets} packets"


def test_throughput_counts_every_packet_once() -> None:
    course = Course.of(Transfer(160, 0.5, "newreno"))
    steps = course.throughput()
    sent_bits, step_bits = 8 * PACKET_BYTES * SEGMENTS, 8e6 * 0.1
    assert steps["throughput"].sum() == pytest.approx(sent_bits / step_bits, rel=0.02)
    assert steps["throughput"].max() < 1.02


def test_run_without_losses_has_no_overflow_or_estimate() -> None:
    course = Course.of(Transfer(640, 1.0, "vegas"))
    assert len(course.lost) == len(course.first_overflow) == 0


def test_first_overflow_ends_at_the_first_gap() -> None:
    lost = pd.DataFrame({"s": [1.0, 1.01, 1.02, 1.2, 1.21]})
    assert len(first_overflow(lost, 0.1)) == 3
    assert len(first_overflow(lost.iloc[:3], 0.1)) == 3
    assert len(first_overflow(lost.iloc[:0], 0.1)) == 0


def test_packaged_sensitivity_equals_that_of_longpipe() -> None:
    # Frozen results outlive an engine that changes none of them.
    shipped = frozen(PAPER.id)
    assert shipped is not None
    rows = shipped.frame("sensitivity").set_index("variant")
    assert list(rows.index) == ["published", *(variant.name for variant in VARIANTS)]
    for variant in VARIANTS:
        measured = {
            transfer: measure(simulate(transfer.scenario(**variant.changes(transfer)), SEED)) for transfer in TRANSFERS
        }
        quantities = {name: follow(measured) for name, (_, follow) in QUANTITIES.items()}
        assert rows.loc[variant.name].to_dict() == pytest.approx(quantities, rel=1e-5), variant.name


def test_variants_change_the_named_setting() -> None:
    transfer = Transfer(320, 0.5, "reno")
    scenarios = [transfer.scenario(**variant.changes(transfer)).digest() for variant in VARIANTS]
    assert len(set(scenarios)) == len(scenarios)


def test_extension_has_a_bdp_of_a_million_packets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    longest = max(beyond.transfers(), key=lambda transfer: transfer.w_star_packets)
    assert longest.w_star_packets == 1_171_875
    assert len(beyond.transfers()) == 45
    monkeypatch.setattr(beyond, "SEGMENTS", 20_000)
    monkeypatch.setattr(beyond, "RATES_MBPS", (100,))
    parts.run(PAPER, Part.BEYOND, None, tmp_path, Runner(Store()))
    written = {"beyond.csv", "beyond.png", "beyond.svg", "provenance.json"}
    assert {path.name for path in tmp_path.iterdir()} == written
    runs = pd.read_csv(tmp_path / "beyond.csv")
    assert len(runs) == 15
    assert figures.long_pipes(runs).axes


def test_the_numbers_of_the_page_are_those_of_the_engine(found: TransferReproduction) -> None:
    page = "lbd-01.md"
    slopes = found.numbers[found.numbers["quantity"] == "slope_tn"]
    lines = {name: texts for name, *texts in table_rows(page, "| W* |")}
    for tcp, name in (("reno", "Reno"), ("sack", "SACK")):
        of_tcp = slopes[slopes["tcp"] == tcp]
        for column, side in (("published", "published"), ("simulated", "longpipe")):
            numbers = zip(of_tcp[column], lines[f"{name}, {side}"], strict=True)
            assert all(is_rounded(value, text) for value, text in numbers), f"{page}: {name}, {side}"
    others = found.numbers[found.numbers["quantity"] != "slope_tn"]
    rows = [
        *table_rows(page, "| number | published | longpipe | difference |"),
        *table_rows(page, "| number | published | longpipe |"),
    ]
    for name, printed, simulated, *_ in rows:
        for published, text in zip(
            printed.split(", "), simulated.replace("\N{MINUS SIGN}", "-").split(", "), strict=True
        ):
            chosen = others[[is_rounded(value, published) for value in others["published"]]]
            assert any(is_rounded(value, text) for value in chosen["simulated"]), f"{page}: {name}: {text}"
