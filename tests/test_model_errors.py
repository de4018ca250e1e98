"""Errors of simulations over known paths relative to Linux, which widen the intervals of predictions."""

from pathlib import Path

import pandas as pd
import pytest

from commands import run
from longpipe.fit.model_error import ERRORS, OTHERS
from longpipe.fit.search import CONTROLS
from longpipe_evidence.validate.linux_compare import longpipe_name
from longpipe_evidence.validate.linux_paths import read
from longpipe_evidence.validate.model_errors import ALL, MEASURES, SHARE, errors_of_paths, quantiles
from thorough import THOROUGH

FILE = Path(__file__).parent / "data" / "linux" / "control-paths.csv"


def test_every_candidate_of_a_fit_has_an_error() -> None:
    assert set(ERRORS) == set(CONTROLS)


@pytest.mark.parametrize("control", ["reno", "cubic", "bbr"])
def test_errors_are_those_over_the_paths_of_linux(control: str) -> None:
    """Only the thorough test covers all paths; on the others, an error may exceed the quantile once."""
    found = read(FILE)
    own = found[(found["control"] == control) & (found["path"] < (36 if THOROUGH else 6))]
    rows = [{"control": name, "path": path, **errors} for name, path, errors in errors_of_paths(own)]
    stated = dict(zip(MEASURES, ERRORS[str(longpipe_name(control))], strict=True))
    for measure, most in stated.items():
        assert sum(float(str(row[measure])) > most for row in rows) <= (2 if THOROUGH else 1)
    if THOROUGH:
        (first, *_) = quantiles(pd.DataFrame(rows)).to_dict("records")
        assert {measure: first[measure] for measure in stated} == pytest.approx(stated, abs=0.0011)


def test_quantiles_are_those_of_each_control_and_of_all() -> None:
    rows = [
        {"control": control, "path": path, "goodput": size * path, "median RTT": 0.0}
        for control, size in (("cubic", 0.01), ("vegas", 0.001))
        for path in range(21)
    ]
    cubic, vegas, together = quantiles(pd.DataFrame(rows)).to_dict("records")
    assert (cubic["control"], vegas["control"], together["control"]) == ("cubic", "vegas", ALL)
    assert cubic["goodput"] == pytest.approx(0.01 * 20 * SHARE)
    assert vegas["goodput"] == pytest.approx(0.001 * 20 * SHARE)
    assert vegas["goodput"] < together["goodput"] < cubic["goodput"]
    assert together["paths"] == 42
    assert min(OTHERS) > 0


def test_the_command_prints_the_quantiles(tmp_path: Path) -> None:
    file = tmp_path / "paths.csv"
    found = read(FILE)
    found[(found["control"] == "reno") & (found["path"] < 2)].to_csv(file, index=False)
    done = run("validate", "model-errors", str(file))
    assert done.returncode == 0, done.stderr
    assert "linux-reno 1: goodput" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["control", "linux-reno", "all"]
    done = run("validate", "model-errors", str(file), "--control", "bbr")
    assert done.returncode == 2
    assert "needs finished runs of bbr" in done.stderr


def test_a_file_of_other_content_is_rejected_and_stays_unchanged(tmp_path: Path) -> None:
    other = tmp_path / "notes.csv"
    other.write_text("path,note\n1,the last line has no end")
    done = run("validate", "model-errors", str(other))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"FILE: '{other}'; needs the columns control,path," in done.stderr
    assert other.read_text() == "path,note\n1,the last line has no end"
