"""Measures as expressions and functions, and requirements on them."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import run
from longpipe import Result, Scenario, ScenarioError, anova, pictures, simulate
from longpipe.analysis.quantile_intervals import fewest, quantile_interval, ranks
from longpipe.design import Design, Factor
from longpipe.design.text import from_json, to_json
from longpipe.measures.measure import parse, parse_all
from longpipe.measures.requirements import Requirement
from longpipe.pictures.sweeps import sweep_means
from longpipe.study import Study, run_until

BASE = Scenario(defaults="1996", name="lan", duration="60 ms").with_(
    **{
        "network.group": [{"name": "a"}, {"name": "b-1"}],
        "start": {"kind": "random", "over": "5 ms"},
    }
)
FACTORS = [Factor.over("tcp.recovery", ["reno", "sack"], "tcp")]


def study(measures: tuple[str, ...] = ()) -> Study:
    found = Study(Design.full_factorial(BASE, FACTORS, replications=2, measures=measures))
    found.run(workers=1)
    return found


def share(result: Result) -> float:
    first, second = result.throughputs_bps
    return float(first / (first + second))


@pytest.mark.parametrize(
    ("text", "unit", "of"),
    [
        ("a.throughput / (a.throughput + b-1.throughput)", "", lambda a, b: a / (a + b)),
        ("flow:*.throughput - b-1.throughput", "Mbit/s", lambda a, b: a),
        ("a.throughput-b-1.throughput", "Mbit/s", lambda a, b: a - b),
        ("2 Mbit/s + throughput", "Mbit/s", lambda a, b: 2e6 + a + b),
        (
            "min(a.throughput, b-1.throughput) / mean(a.throughput, b-1.throughput)",
            "",
            lambda a, b: 2 * min(a, b) / (a + b),
        ),
        ("sum(a.throughput, 8 kB/s, 1e3bit/s)", "Mbit/s", lambda a, b: a + 65e3),
        ("log2(a.throughput / b-1.throughput) ** 2", "", lambda a, b: math.log2(a / b) ** 2),
        ("-max(0, a.throughput) * 2 ms", "MB", lambda a, b: -a * 2e-3),
        ("sqrt(a.throughput) * sqrt(b-1.throughput)", "Mbit/s", lambda a, b: math.sqrt(a * b)),
        ('"throughput" * 50 %', "Mbit/s", lambda a, b: (a + b) / 2),
        ("throughput * 1 s / 1 MiB", "", lambda a, b: (a + b) / 2**23),
        ("abs(a.throughput - 1 Gbit/s) / 1 cell", "Mbit/s", lambda a, b: abs(a - 1e9)),
    ],
)
def test_expression_is_evaluated_on_the_values(text: str, unit: str, of: object) -> None:
    result = simulate(BASE)
    a, b = result.throughputs_bps.tolist()
    assert a > 0
    assert b > 0
    measure = parse(text)
    assert measure(result) == pytest.approx(of(a, b), rel=1e-12)  # type: ignore[operator]
    assert result.measure(text) == measure(result)
    assert measure.unit == unit
    assert parse(str(measure))(result) == measure(result)


def test_precedence_is_that_of_python_and_division_by_zero_has_no_value() -> None:
    result = simulate(BASE)
    assert parse("2 + 3 * 2 ** 3 ** 2 / 2 - -1 + 0 * timeouts")(result) == 2 + 3 * 2**3**2 / 2 - -1
    assert math.isnan(parse("0 * timeouts / (0 * timeouts)")(result))
    assert math.isnan(parse("(0 * timeouts - 1) ** .5")(result))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "a.throughput.__class__", "lambda: 1", "efficiency if 1 else "
        "2", "[efficiency]", "efficiency and 1",
        "(efficiency)(1)", "efficiency[0]", "min(*efficiency)", "min(a=efficiency)", "efficiency; 1", "efficiency @ 2",
        "(" * 300 + "efficiency" + ")" * 300, "-" * 900 + "efficiency", "efficiency" + "+1" * 300, "efficiency" * 200, "min()",
        "efficiency // 2", "x := efficiency", "1 + 2", "efficiency\x00", "{efficiency}", "f'{efficiency}'", "exp(1 "
        "s)*efficiency",
        "throughput ** efficiency", "2 ** 1 s * efficiency", "throughput + 1", "efficiency < 2", "60 ms", "eficiency / "
        "2",
    ],
)  # fmt: skip
def test_invalid_expression_is_rejected_in_one_line(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^measure: ") as error:
        parse(text)
    assert len(error.value.problems) == 1
    assert len(str(error.value)) < 600


def test_measures_may_use_earlier_measures_by_name(tmp_path: Path) -> None:
    asked = ("a=flow:a.throughput", "b=flow:b-1.throughput", "share=a/(a+b)")
    found = study(asked)
    frame = found.frame()
    assert frame["share"].tolist() == (frame["a"] / (frame["a"] + frame["b"])).tolist()
    assert from_json(to_json(found.design)).measures == found.design.measures == asked
    with pytest.raises(ScenarioError, match="'c' is not a measure; accepts a, b,"):
        parse_all([*asked, "c/a"])
    # Measures, expressions and functions can be requested from a study that was run without them.
    by_text = sweep_means(found, "tcp", "1 - share")
    assert by_text["mean"].tolist() == pytest.approx((1 - sweep_means(found, "tcp", "share")["mean"]).tolist())
    plain = study()
    for y in ("a.throughput/(a.throughput+b-1.throughput)", share):
        other = sweep_means(plain, "tcp", y)
        assert other["mean"].tolist() == pytest.approx(sweep_means(found, "tcp", "share")["mean"].tolist())
    assert plain.design.measures == ()
    (panel,) = pictures.sweep(plain, "tcp", "rate=a.throughput * 2").axes
    assert panel.get_ylabel() == "rate [Mbit/s]"
    assert found.means("share * 2")["share * 2"].tolist() == pytest.approx((2 * found.means("share")["share"]).tolist())
    with pytest.raises(ScenarioError, match="'tcp' is the name of another column"):
        pictures.sweep(plain, "tcp", "tcp=a.throughput")
    with pytest.raises(ScenarioError, match=r"'share' is share=a/\(a\+b\) in 'lan'; needs another name"):
        found.resolve("share=a/b")
    until = run_until(study(), "share=a.throughput/throughput", "±50 %", workers=1)
    assert until.reached
    assert "share" in until.runs


def test_quantile_over_enough_replications_has_an_interval() -> None:
    # The ranks and the minimum numbers are those of binomial sums (David and Nagaraja 2003, section 7.1).
    assert [ranks(n, share) for n, share in ((20, 0.5), (30, 0.5), (100, 0.5), (60, 0.95))] == [
        (6, 15), (10, 21), (40, 60), (52, 60),
    ]  # fmt: skip
    assert [fewest(share) for share in (0.5, 0.9, 0.95, 0.99)] == [6, 29, 59, 299]
    assert [ranks(n, 0.5) for n in (5, 6)] == [None, (1, 6)]
    values = np.random.default_rng(2).exponential(size=(400, 20))
    inside = [low <= math.log(2) <= high for _, low, high in (quantile_interval("x", one) for one in values)]
    # The exact coverage is 0.9586; for 400 trials, three standard deviations are 0.03.
    assert abs(np.mean(inside) - 0.9586) < 0.03
    few = study()
    with pytest.raises(ScenarioError, match=r"^throughput_bps: 2 replications are too few .*; needs at least 6$"):
        few.quantiles("throughput")
    few.grow(6).run(workers=1)
    found = few.quantiles("a.throughput / throughput")
    runs = few.resolve("a.throughput / throughput")[0].frame()
    first = runs[runs["point"] == 1]["a.throughput / throughput"]
    row = found.iloc[0]
    assert row["runs"] == 6
    assert row.iloc[-3:].tolist() == [first.median(), first.min(), first.max()]
    with pytest.raises(ScenarioError, match="needs at least 59"):
        few.quantiles("efficiency", share=0.95)


def test_an_expression_of_columns_reads_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    found = study()
    monkeypatch.setattr(Study, "_results", lambda *_: pytest.fail("reads results"))
    means = found.means("throughput * 1 s / 1 Mbit", "throughput")
    assert means.iloc[:, 3].tolist() == pytest.approx((means["throughput_bps"] / 1e6).tolist())


def test_function_is_identified_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def doubled_bps(result):\n    return 2 * result.total_bps\n\nnumber = 1\n")
    found = study((f"{file}:doubled_bps",))
    assert found.design.measures == (f"doubled_bps={file}:doubled_bps",)
    frame = found.frame()
    assert frame["doubled_bps"].tolist() == (2 * frame["throughput_bps"]).tolist()
    assert parse(f"{file}:doubled_bps").unit == "Mbit/s"
    assert parse(f"twice={file}:doubled_bps").unit == "Mbit/s"
    assert parse(share)(simulate(BASE)) == share(simulate(BASE))
    for text, problem in (
        (f"{file}:doubled", "has no function 'doubled'; did you mean 'doubled_bps'?"),
        (f"{file}:number", "has no function 'number'; accepts doubled_bps"),
        (f"{tmp_path}/no.py:f", "no.py:f: FileNotFoundError"),
        ("nosuch:f", "nosuch:f: ModuleNotFoundError"),
    ):
        with pytest.raises(ScenarioError, match=problem):
            _ = Design.full_factorial(BASE, FACTORS, measures=[text]).scenarios
    # Two functions with the same name remain distinct.
    one, other = (parse(function) for function in (lambda _: 1, lambda _: 2))
    assert [parse(str(measure))(simulate(BASE)) for measure in (one, other)] == [1, 2]
    with pytest.raises(ScenarioError, match="returned a str; needs a number"):
        parse(lambda _: "1")(simulate(BASE))
    with pytest.raises(ScenarioError, match=r"^measure: 'lambda': ZeroDivisionError: division by zero"):
        parse(lambda _: 1 / 0)(simulate(BASE))


@pytest.mark.parametrize(
    ("text", "sign", "limit", "holds", "margin"),
    [
        ("a.throughput < 60 kbit/s", "<", 6e4, 5e4, 1e4),
        ("60 ms >= call.p95", "<=", 0.06, 0.06, 0.0),
        ("a.throughput / throughput \N{GREATER-THAN OR EQUAL TO} 20%", ">=", 0.2, 0.25, 0.05),
        ("a.throughput > b-1.throughput", ">", 0.0, 1.0, 1.0),
        ("retransmitted_bytes < 1 kB", "<", 1000.0, 0.0, 1000.0),
        ("call.loss < 0", "<", 0.0, -1.0, 1.0),
    ],
)
def test_a_requirement_has_a_limit_in_the_unit_of_its_measure(
    text: str, sign: str, limit: float, holds: float, margin: float
) -> None:
    found = Requirement.parse(text)
    assert found.sign == sign
    assert found.limit == pytest.approx(limit)
    assert found.holds(holds)
    assert found.margin(holds) == pytest.approx(margin)
    assert not found.holds(math.nan)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "call.p95 < 60",
            "combines s and no unit; needs terms with the same unit in sums, comparisons, min and max; a number needs",
        ),
        ("throughput > 2 Mbit", "combines bit/s and bit"),
        ("1 < 2", "names no measure"),
        ("call.p95", "needs one comparison with <, <=, > or >="),
        ("call.p95 == 1 s", "needs one comparison with <, <=, > or >="),
        ("1 s < call.p95 < 2 s", "needs one comparison with <, <=, > or >="),
        ("call.p95 <", "accepts"),
        ("cal.p9 < 1 s", "'p9' of 'cal'; did you mean 'p99'?"),
    ],
)
def test_unreadable_requirement_is_rejected_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Requirement.parse(text, field="--subject-to")
    assert problem in str(error.value)
    assert len(error.value.problems) == 1


def test_a_response_may_be_an_expression_of_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "tcp": ["a", "a", "b", "b"],
            "x [ms]": [1.0, 2, 3, 5],
            "rate": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "1 Mbit/s"],
        }
    )
    by_hand = frame.assign(y=[1.0 / 1e6, 2 / 2e6, 3 / 4e6, 5 / 1e6])
    found, wanted = (anova(table, y, ["tcp"]).variation for table, y in ((frame, "x / rate"), (by_hand, "y")))
    pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(ScenarioError, match=r"^response: 'z' is not a column; accepts tcp, x \[ms\], rate$"):
        anova(frame, "z / x", ["tcp"])
    with pytest.raises(ScenarioError, match=r"^response: 'tcp' has '.*' in row 1; needs a column of numbers"):
        anova(frame, "x * tcp", ["tcp"])
    frame.to_csv(tmp_path / "runs.csv", index=False)
    done = run("analyse", "runs.csv", "--response", "x / rate", "--factors", "tcp", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("x / rate over tcp: 4 runs")


def test_error_for_a_pattern_suggests_its_prefix() -> None:
    with pytest.raises(
        ScenarioError, match=r"cannot read '\.throughput'; a pattern of names needs a prefix, as in flow:"
    ):
        parse("share=up*.throughput")
