"""The report card of RFC 9743: verdicts, controls under test, and one command for the whole report."""

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from typer.testing import CliRunner

from longpipe import ScenarioError
from longpipe.cli import app
from longpipe.fairness.controls import control_of
from longpipe_evidence.suites import SUITES
from longpipe_evidence.suites.criteria import at_least, compared, not_less, verdicts
from longpipe_evidence.suites.outcome import PartOutcome
from longpipe_evidence.suites.rfc_9743 import of_control
from longpipe_evidence.suites.suite import Criterion, SuitePart

CLASSES = Path(__file__).parent / "data" / "classes"
CLASS = CLASSES / "aimd.py"


def outcome(values: dict[tuple[str, int], list[float]]) -> PartOutcome:
    """Returns an outcome with runs by control and number of flows; each run has one value per seed."""
    rows = [
        {"point": i, "control": control, "flows": flows, "replication": seed, "seed": seed, "loss": value}
        for i, ((control, flows), found) in enumerate(values.items())
        for seed, value in enumerate(found, 1)
    ]
    part = SuitePart("1", "", {}, {"control": {}, "flows": {}}, ("loss",))
    stub: Any = type("Stub", (), {"factors": (type("F", (), {"name": "control"}), type("F", (), {"name": "flows"}))})
    return PartOutcome(part, stub, pd.DataFrame(rows))


def test_a_verdict_is_that_of_the_intervals_of_paired_margins() -> None:
    # CUBIC varies from seed to seed; the result of the control is larger by 1 for each seed, so that the paired
    # difference is certain.
    cubic = [1.0, 5.0, 9.0]
    found = outcome(
        {
            ("mine", 1): [value + 1 for value in cubic],
            ("mine", 2): [value - 1 for value in cubic],
            ("cubic", 1): cubic,
            ("cubic", 2): cubic,
        }
    )
    mine, own = verdicts(Criterion("1", "", compared("loss", plus=0.5)), found)
    assert (mine.verdict, mine.point, mine.margin) == ("fails", "flows 1", -0.5)
    assert (own.verdict, own.margin) == ("holds", 0.5)
    assert verdicts(Criterion("1", "", compared("loss", plus=1.5)), found)[0].verdict == "holds"
    assert verdicts(Criterion("1", "", not_less("loss", factor=1.0)), found)[0].point == "flows 2"
    # The mean is 5, and the half-width of the interval is 4 * t(0.975, 2) / sqrt(3) = 9.94.
    wide = verdicts(Criterion("1", "", at_least("loss", 4.0)), found)[1]
    assert wide.verdict == "undecided"
    assert wide.low == pytest.approx(1 - 9.9365, abs=1e-3)


def test_single_run_leaves_verdicts_undecided() -> None:
    found = outcome({("mine", 1): [1.0], ("cubic", 1): [2.0]})
    judged = verdicts(Criterion("1", "", compared("loss")), found)
    assert [one.words for one in judged] == [
        "undecided (margin 1, one run at flows 1)",
        "undecided (margin 0, one run at flows 1)",
    ]


def test_run_without_a_value_is_reported_as_undefined() -> None:
    found = outcome(
        {
            ("mine", 1): [math.nan, 1.0, 2.0],
            ("mine", 2): [4.0, 5.0, 6.0],
            ("cubic", 1): [2.0, 3.0, 4.0],
            ("cubic", 2): [4.0, 5.0, 6.0],
        }
    )
    mine, _ = verdicts(Criterion("1", "", compared("loss")), found)
    assert mine.words == "no value (a run at flows 1 has none)"
    mine, _ = verdicts(Criterion("1", "", compared("loss", plus=-0.5)), found)
    assert (mine.verdict, mine.point) == ("fails", "flows 2")


def test_controls_under_test_are_parsed() -> None:
    assert control_of("vegas") == ("vegas", "vegas")
    assert control_of("module:dir/tcp_mine.so") == ("tcp_mine", {"kind": "module", "file": "dir/tcp_mine.so"})
    assert control_of("python:mine.py:Mine") == ("Mine", {"kind": "python", "class": "mine.py:Mine"})
    with pytest.raises(ScenarioError, match=r"^--control: 'vega'; did you mean 'vegas'\?"):
        control_of("vega")
    levels = of_control("vegas").parts[0].factors["control"]
    assert list(levels) == ["vegas", "cubic", "reno", "bbr"]
    assert list(of_control("bbr").parts[0].factors["control"]) == ["cubic", "reno", "bbr"]
    with pytest.raises(ScenarioError, match="needs a name other than cubic, reno, bbr"):
        of_control("module:cubic.so")


def test_a_control_that_needs_accurate_ecn_brings_it_to_every_part() -> None:
    for part in of_control("prague").parts:
        (tcp,) = part.factors["control"]["prague"].values()
        assert isinstance(tcp, dict)
        assert tcp["ecn"] == {"kind": "accurate", "ect": 1}, part.id
        part.design(1, {})


def test_every_part_has_a_proposed_condition_of_its_section() -> None:
    for part in SUITES["rfc-9743"].parts:
        assert part.criteria
        assert all(part.id.partition(" ")[0] in criterion.section for criterion in part.criteria)


def test_the_sections_are_those_of_the_document() -> None:
    """Each of sections 5 to 7 of the last draft before the RFC is run, or is omitted with a reason."""
    every = "5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2 5.2.1 5.2.2 5.2.3 5.3.1 5.3.2 6.2 6.4 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 7.9 7.10 7.11"
    suite = SUITES["rfc-9743"]
    text = " ".join([*(c.section for part in suite.parts for c in part.criteria), *suite.left_out])
    for section in every.split():
        assert section in text.replace(",", " ").replace(":", " ").replace(". ", " ").split(), section


def test_one_command_writes_the_card_of_a_class(tmp_path: Path) -> None:
    arguments = ["suite", "rfc-9743", "5.1.3", "7.8", "--control", f"python:{CLASS}:Aimd", "--seeds", "2"]
    done = CliRunner().invoke(
        app, [*arguments, "--set", "duration=2 s", "--no-store", "--workers", "1", "-o", str(tmp_path)]
    )
    assert done.exception is None, done.output
    assert "Proposed: Loss is at most twice CUBIC's, or 2 %" in done.output
    page = (tmp_path / "report.html").read_text()
    assert "Aimd, assessed by the criteria for new congestion control algorithms (RFC 9743" in page
    assert "All conditions are proposed" in page
    runs = pd.read_csv(tmp_path / "part-5.1.3.csv")
    assert set(runs["control"]) == {"Aimd", "cubic", "reno", "bbr"}


@pytest.mark.parametrize("option", ["--control", "--junit"])
def test_suite_without_verdicts_is_reported(option: str) -> None:
    done = CliRunner().invoke(app, ["suite", "rfc-7928", option, "vegas"])
    assert str(done.exception) == f"{option}: 'vegas'; the suite rfc-7928 tests no congestion control; needs rfc-9743"


def card(tmp_path: Path, control: str, *parts: str, duration: str | None = "8 s") -> tuple[int, dict[str, list[str]]]:
    """Returns the exit status of a report with two seeds, and the verdicts on a control by section, from JUnit XML."""
    file = tmp_path / "verdicts.xml"
    changes = ["--set", f"duration={duration}"] if duration is not None else []
    options = ["--seeds", "2", *changes, "--no-store", "--workers", "1", "-o", str(tmp_path), "--junit", str(file)]
    done = CliRunner().invoke(app, ["suite", "rfc-9743", *parts, "--control", control, *options])
    verdicts_by_section: dict[str, list[str]] = {}
    for case in ET.parse(file).getroot().iter("testcase"):
        kinds = [child.tag for child in case] or ["holds"]
        verdicts_by_section.setdefault(case.attrib["classname"], []).extend(kinds)
    return done.exit_code, verdicts_by_section


def test_a_fixed_window_fails_the_criteria_for_collapse_and_competition(tmp_path: Path) -> None:
    fixed = f"python:{CLASSES / 'fixed_window.py'}:FixedWindow"
    status, found = card(tmp_path, fixed, "5.1.1", "5.2.1")
    assert status == 1
    assert all("failure" in found[f"rfc-9743.{section}"] for section in ("5.1.1", "5.2.1"))
    page = (tmp_path / "report.md").read_text()
    assert page.startswith("# FixedWindow, assessed by the criteria for new congestion control algorithms")
    assert "| 5.1.1 | Loss is at most 5 percentage points more than CUBIC's | fails " in page


def test_cubic_sends_six_packets_in_a_minute_without_feedback(tmp_path: Path) -> None:
    """Its timeout of 240 ms doubles: six transmissions lie between 1 and 61 s after the loss."""
    status, found = card(tmp_path, "cubic", "5.1.1 feedback", duration=None)
    assert (status, found) == (0, {"rfc-9743.5.1.1, 5.2": ["holds"]})
    sent = pd.read_csv(tmp_path / "part-5.1.1-feedback.csv").query("control == 'cubic'")["sent"]
    packets = (sent * 1e9 * 60 / 12_000).round()
    assert packets.between(6, 7).all()


def test_the_exit_status_is_that_of_the_verdicts(tmp_path: Path) -> None:
    sections = ("5.3.1", "6.2", "7.1", "7.2", "7.6")
    status, found = card(tmp_path, "cubic", *sections)
    assert set(found) == {f"rfc-9743.{section}" for section in sections}
    assert status == int(any("failure" in kinds for kinds in found.values()))


def test_documentation_has_a_condition_or_a_reason_for_every_section() -> None:
    page = Path(__file__).parent.parent / "docs" / "suites.md"
    lines = (
        page.read_text(encoding="utf-8").partition("| section | subject | condition, or reason |")[2].splitlines()[2:]
    )
    rows = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    documented = {section: text for section, _, text in rows}
    outline = ["3.1", "3.2", "4", *(f"5.1.{n}" for n in range(1, 6)), "5.2", *(f"5.2.{n}" for n in range(1, 4))]
    outline += ["5.3.1", "5.3.2", *(f"6.{n}" for n in range(1, 5)), *(f"7.{n}" for n in range(1, 12))]
    assert list(documented) == outline
    counts = dict.fromkeys(outline, 0)
    for part in of_control("cubic").parts:
        for criterion in part.criteria:
            for section in criterion.section.split(", "):
                counts[section] += 1
    numbers = ("none", "one", "two", "three", "four")
    assert {section: text.split(",")[0].split(":")[0].split(" of")[0] for section, text in documented.items()} == {
        section: numbers[count] for section, count in counts.items()
    }
