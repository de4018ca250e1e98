"""C4 beside the published results of its authors' test cases."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from longpipe import ScenarioError
from longpipe.cli import app
from longpipe_evidence.validate.c4 import CASES, CONTROLS, OMITTED, Compared, compare, read

PUBLISHED = Path(__file__).parent / "data" / "c4" / "published.csv"


def test_every_published_case_is_compared_or_omitted_with_a_reason() -> None:
    assert set(read(PUBLISHED)["case"]) == set(CASES) | set(OMITTED)


def test_an_unknown_case_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text("case,quantity,unit,c4,bbr,cubic\nalonf,time,s,1,2,3\n")
    with pytest.raises(ScenarioError, match="case 'alonf'; needs one of alone, "):
        read(file)


@pytest.mark.parametrize("text", ["a,b\n", "case,quantity,unit,c4,bbr,cubic\nalone,time,s,x,2,3\n"])
def test_a_file_with_other_columns_is_rejected(tmp_path: Path, text: str) -> None:
    file = tmp_path / "published.csv"
    file.write_text(text)
    with pytest.raises(ScenarioError, match="needs a CSV file with the columns case, quantity, unit, c4, bbr, cubic"):
        read(file)


def test_differences_above_ten_percent_are_compared_by_sign() -> None:
    published = {"c4": 100.0, "bbr": 109.0, "cubic": 111.0}
    times = Compared("alone", "time", "s", published, {"c4": 1.0, "bbr": 3.0, "cubic": 2.0})
    assert list(times.pairs()) == [("c4", "cubic", True)]
    # A share is compared from 10 percentage points on.
    shares = times._replace(quantity="share", model={"c4": 3.0, "bbr": 1.0, "cubic": 2.0})
    assert list(shares.pairs()) == [("c4", "cubic", False)]


@pytest.mark.parametrize("case", ["alone", "alone_200", "low_and_up", "drop_and_back", "blackhole"])
def test_c4_completes_within_eight_percent_of_the_published_time(case: str) -> None:
    table = read(PUBLISHED).query("case == @case and quantity == 'time'")
    (found,) = compare(table, {}, 1, lambda _: None)
    assert found.model["c4"] == pytest.approx(found.published["c4"], rel=0.08)
    assert set(found.model) == set(CONTROLS)


def test_a_stack_replaces_the_control_of_a_transfer() -> None:
    group = CASES["alone"]._group("main", "c4", 10**7, 0.0, Path("picoquic.so"))
    settings = {"congestion": "c4", "size": "10000000 B"}
    assert group["traffic"] == {"kind": "own-stack", "file": "picoquic.so", "settings": settings}
    assert "tcp" not in group


def test_the_command_prints_both_values_and_writes_the_table(tmp_path: Path) -> None:
    file, out = tmp_path / "published.csv", tmp_path / "found.csv"
    lines = PUBLISHED.read_text().splitlines()
    chosen = [line for line in lines if line.startswith(("case,", "alone_200,", "satellite,"))]
    file.write_text("\n".join(chosen) + "\n")
    options = ["--runs", "1", "--csv", str(out), "--set", "tcp.congestion.rules=picoquic"]
    done = CliRunner().invoke(app, ["validate", "c4", str(file), *options])
    assert done.exception is None, done.output
    assert "satellite: not compared; Careful Resume does not apply to c4 and bbr3" in done.output
    assert out.read_text().startswith("case,quantity,c4,bbr,cubic,signs\nalone_200,time,")
