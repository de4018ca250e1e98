"""RFC 9438, Tables 1 to 3: mean windows of complete connections at given loss rates."""

import json
import re
from contextlib import closing
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from documented import is_rounded, table_rows
from longpipe import ScenarioError, simulate
from longpipe.analysis.claims import judge
from longpipe.store import Store
from longpipe.study import Runner
from longpipe_evidence.cli.reproduce import parts
from longpipe_evidence.papers.report.cells import anchor
from longpipe_evidence.papers.report.folder import Part
from longpipe_evidence.papers.report.results import Results
from longpipe_evidence.papers.rfc_9438 import PAPER, beyond, claims, connections, variants
from longpipe_evidence.papers.rfc_9438.connections import CONTROLS, connection, measure, published
from reproduced import drawn_here
from thorough import THOROUGH, one_in

# RTT [ms], controller, and the RFC's mean windows [segment] for loss rates of 1/1000, 1/10 000 and 1/100 000.
TABLES = [
    (100, "reno", (38, 120, 379)),
    (100, "highspeed", (38, 263, 1795)),
    (100, "cubic-0.4", (38, 187, 1054)),
    (10, "reno", (38, 120, 379)),
    (10, "cubic-0.4", (38, 120, 379)),
]


NUMBERS = [
    (round_trip_ms, control, loss, window)
    for round_trip_ms, control, windows in TABLES
    for loss, window in zip((1e-3, 1e-4, 1e-5), windows, strict=True)
]


# Every loss rate and every controller is in the sample.
@pytest.mark.parametrize(("round_trip_ms", "control", "loss", "window"), one_in(4, NUMBERS))
def test_rfc_9438_section_5_1_windows_at_a_share_of_segments_lost(
    round_trip_ms: int, control: str, loss: float, window: int
) -> None:
    of = connections.Connection(round_trip_ms, loss, control, window)
    found = measure(simulate(of.scenario(), 1), round_trip_ms)
    assert found["timeouts"] == 0
    assert found["window"] == pytest.approx(window, rel=0.05)


def test_the_printed_numbers_are_those_of_the_response_functions() -> None:
    rows = published()
    assert rows.groupby("table").size().to_dict() == {"1": 35, "2": 35, "3": 15}
    assert set(rows["control"]) == set(CONTROLS)
    cubics = {"cubic-0.04": 0.04, "cubic-0.4": 0.4, "cubic-4": 4.0}
    for row in rows[rows["table"].isin(["1", "2"])].to_dict("records"):
        p, round_trip_s = row["loss"], row["round_trip_ms"] / 1000
        # The formulas are Equation 6 with beta 0.7, RFC 3649's 0.12 / p^0.835 and Reno's 1.2 / sqrt(p).
        reno = 1.2 / p**0.5
        forms = {"reno": reno, "highspeed": max(0.12 / p**0.835, reno)}
        for name, scaling in cubics.items():
            forms[name] = max((scaling * 3.7 / 1.2) ** 0.25 * (round_trip_s / p) ** 0.75, reno)
        assert row["window"] == pytest.approx(forms[row["control"]], rel=0.013), row


def test_losses_have_the_published_rate_in_long_runs() -> None:
    for row in published().to_dict("records"):
        of = connection(row)
        assert of.period == pytest.approx(1 / row["loss"], rel=0.005)
        assert connections.MIN_LOSSES <= of.losses <= connections.MAX_LOSSES


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the reproduction of the whole document, restricted to short runs (loss rates of at least 1/100 000)."""
    directory = tmp_path_factory.mktemp("rfc-9438")
    (directory / "out").mkdir()
    with drawn_here(), pytest.MonkeyPatch.context() as patch, closing(Store(directory / "runs.db")) as store:
        patch.setattr(connections, "MIN_LOSS_RATE", 9e-6)
        patch.setattr(connections, "MAX_LOSSES", 6)
        patch.setattr(beyond, "LOSSES", (1e-3, 0.02))
        patch.setattr(beyond, "SEEDS", (1, 2))
        patch.setattr(variants, "WATCHED", ((1e-3, "reno"), (1e-3, "cubic-0.4")))
        for part in (Part.REPRODUCTION, Part.SENSITIVITY, Part.BEYOND):
            parts.run(PAPER, part, None, directory / "out", Runner(store))
    return directory / "out"


def test_a_folder_holds_tables_figures_variants_and_the_sweep(out: Path) -> None:
    names = {path.name for path in out.iterdir()}
    assert {"report.txt", "report.json", "tables.csv", "scenarios.csv", "response.svg", "losses.png"} <= names
    assert {"sensitivity.csv", "beyond.csv"} <= names
    rows = pd.read_csv(out / "tables.csv")
    run = rows[rows["simulated"].notna()]
    assert len(rows) == 85
    assert (run["loss"] >= 1e-5).all()
    assert len(run) == 40 + 8
    report = json.loads((out / "report.json").read_text())
    assert [table["table"] for table in report["tables"]] == ["1", "2", "3"]
    assert {claim["id"] for claim in report["claims"]} == {f"cubic-{number}" for number in range(1, 8)}
    told = (out / "report.txt").read_text()
    assert "Table 2: mean windows at a round trip of 10 ms" in told


def test_bbr_keeps_its_rate_in_the_loss_sweep_unlike_cubic(out: Path) -> None:
    means = beyond.by_loss(pd.read_csv(out / "beyond.csv"))
    assert list(means["loss"]) == [1e-3, 0.02]
    assert (means["bbr"] > 85).all()
    assert (means["cubic"] < 8).all()


def test_a_page_has_printed_with_simulated_windows_and_distances(out: Path) -> None:
    results = Results(PAPER.id, out)
    tables = PAPER.grids(results)
    assert [len(table.rows) for table in tables] == [35, 35, 15]
    links = {row[3].link.removeprefix("#") for table in tables for row in table.rows if row[3].value is not None}
    assert len(links) == 40 + 8
    assert links <= {anchor(PAPER.id, name) for name in PAPER.cells()}
    found = {distance.table: distance.numbers["values"] for distance in PAPER.distances(results)}
    assert found == {"Table 1": 20, "Table 2": 20, "Table 3": 8}
    _, shown = PAPER.variants_grid(results)
    assert len(shown.rows) == 1 + len(variants.VARIANTS)


def test_claims_fail_with_different_windows() -> None:
    rows = published().rename(columns={"window": "published"})
    rows = rows[rows["loss"] >= connections.MIN_LOSS_RATE]

    def verdicts(simulated: pd.Series) -> list[str]:
        found = rows.assign(simulated=simulated, error=simulated / rows["published"] - 1)
        return [judge(claim, found, found).verdict.value for claim in claims.CLAIMS]

    assert verdicts(rows["published"]) == ["holds"] * 7
    reno = rows["control"] == "reno"
    assert verdicts(rows["published"].where(~reno, 2 * rows["published"]))[:3] == ["fails"] * 3
    assert verdicts(1.2 * rows["published"])[5:] == ["fails"] * 2
    assert verdicts(rows["published"] * rows["loss"] ** 0.1)[4] == "fails"
    highspeed = rows["control"] == "highspeed"
    assert verdicts(rows["published"].where(~highspeed, rows["published"] / 5))[3] == "fails"


def test_single_table_is_selected_by_number() -> None:
    assert PAPER.only(3).tables == ("3",)
    with pytest.raises(ScenarioError, match="--table: 4; rfc-9438 accepts 1, 2, 3"):
        PAPER.only(4)


# Numbers on the page of the documentation. `make test` simulates a sample of those that take less than a second.

PAGE = "rfc-9438.md"
EXPONENTS = {"10⁻²": 1e-2, "10⁻³": 1e-3, "10⁻⁴": 1e-4, "10⁻⁵": 1e-5, "10⁻⁶": 1e-6}
VARIANT_NAMES = {
    "longpipe": "none",
    "fast convergence": "fast convergence",
    "Linux's arithmetic": "Linux's arithmetic",
    "Linux's delayed ACKs": "Linux's ACKs, for every second segment",
    "NewReno's recovery": "NewReno's recovery",
    "independent random losses": "each loss drawn by itself",
}
QUICK = 1e-4


def windows_of_the_page() -> list[tuple[connections.Connection, dict[str, object], str]]:
    """Returns connections, changes to them, and the simulated windows that the page states."""
    rows = {(row["table"], row["loss"], row["control"]): row for row in published().to_dict("records")}
    found: list[tuple[connections.Connection, dict[str, object], str]] = []
    for number, start in (("1", "| RTT 100 ms"), ("2", "| RTT 10 ms")):
        for loss, *windows in table_rows(PAGE, start):
            for control, printed, window in zip(CONTROLS, windows[::2], windows[1::2], strict=True):
                row = rows[number, EXPONENTS[loss], control]
                assert float(printed) == row["window"]
                found.append((connection(row), {}, window))
    of_table_3 = published().query("table == '3'").to_dict("records")
    for _, printed, *windows in table_rows(PAGE, "| throughput [Mbit/s]"):
        for control, window in zip(("reno", "highspeed", "cubic-0.4"), windows, strict=True):
            (row,) = [row for row in of_table_3 if (row["window"], row["control"]) == (float(printed), control)]
            of = connection(row)
            assert (window == "not run") == (of.loss < connections.MIN_LOSS_RATE)
            found += [(of, {}, window)] if window != "not run" else []
    changes = {variant.name: variant.changes for variant in variants.VARIANTS}
    order = [(control, loss) for loss, control in (*variants.WATCHED[:1], variants.WATCHED[3], *variants.WATCHED[1:3])]
    watched = [connection(rows["1", loss, control]) for control, loss in (*order, ("cubic-0.4", 1e-4))]
    for name, *windows in table_rows(PAGE, "| | Reno, 10⁻³"):
        for of, window in zip(watched, windows, strict=True):
            if name == "RFC":
                assert float(window) == of.window
            elif window:
                found.append((of, dict(changes[VARIANT_NAMES[name]](of)), window))
    return found


WINDOWS = windows_of_the_page()
CHOSEN = WINDOWS if THOROUGH else [one for one in WINDOWS if one[0].loss >= QUICK][::6]


def test_the_page_has_every_window_that_is_simulated() -> None:
    assert len(WINDOWS) == len(connections.simulated()) + len(variants.WATCHED) * len(variants.VARIANTS) - 3


@pytest.mark.parametrize(("of", "changes", "window"), CHOSEN, ids=lambda value: getattr(value, "name", None))
def test_windows_of_the_page_are_those_of_the_engine(
    of: connections.Connection, changes: dict[str, object], window: str
) -> None:
    found = measure(simulate(of.scenario(**changes), connections.SEED), of.round_trip_ms)["window"]
    assert is_rounded(found, window), f"{PAGE}: {window}; is {found:.5g}"


SWEEP = [
    (control, EXPONENTS.get(loss) or float(loss.removesuffix(" %")) / 100, text)
    for loss, *texts in table_rows(PAGE, "| loss rate | CUBIC | BBR")
    for control, text in zip(beyond.CONTROLS, texts, strict=True)
]


@pytest.mark.parametrize(("control", "loss", "text"), one_in(11, SWEEP))
def test_the_sweep_of_the_page_is_that_of_the_engine(control: str, loss: float, text: str) -> None:
    runs = [simulate(beyond.scenario(control, loss), seed).total_bps / 1e6 for seed in beyond.SEEDS]
    mean, low, high = re.fullmatch(r"(\S+) \((\S+) to (\S+)\)", text).groups()  # type: ignore[union-attr]
    for found, printed in ((fmean(runs), mean), (min(runs), low), (max(runs), high)):
        assert is_rounded(found, printed), f"{PAGE}: {text}; is {found:.3g}"
