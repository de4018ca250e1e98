import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from longpipe import Scenario, ScenarioError
from longpipe.cli.design.means import interval_text, shown_metrics
from longpipe.design import Design
from longpipe.measures.measure import StandardMeasure
from longpipe.measures.named import NamedMeasure
from longpipe.measures.readable import readable, written


@pytest.mark.parametrize(
    ("column", "head", "scale"),
    [
        ("throughput_bps", "throughput [Mbit/s]", 1e6),
        ("retransmitted_bytes", "retransmitted [MB]", 1e6),
        ("mean_delay_s", "mean delay [ms]", 1e-3),
        ("completion_s", "completion [s]", 1.0),
        ("efficiency", "efficiency", 1.0),
        ("peak_queue_packets", "peak queue packets", 1.0),
    ],
)
def test_a_column_is_shown_in_a_readers_unit(column: str, head: str, scale: float) -> None:
    found = readable(column)
    assert (found.head, found.scale) == (head, scale)


def test_requested_measures_are_shown_before_efficiency_and_fairness() -> None:
    runs = pd.DataFrame({"point": [1], "scenario": ["lan"], "efficiency": [0.9], "fairness": [0.8], "timeouts": [3]})

    def columns(*measures: str) -> list[str]:
        design = Design.full_factorial(Scenario(defaults="1996", duration="1 s"), [], measures=measures)
        return [metric.column for metric in shown_metrics(design, runs)]

    assert columns("timeouts") == ["timeouts", "efficiency", "fairness"]
    assert columns("timeouts", "fairness") == ["timeouts", "fairness", "efficiency"]
    assert columns() == ["efficiency", "fairness"]


def test_measure_is_shown_as_requested() -> None:
    found = readable("bulk", [NamedMeasure.parse("bulk=flow:bulk.throughput")])
    assert (found.head, found.scale) == ("bulk [Mbit/s]", 1e6)
    # The suffix of a base unit would contradict the unit shown.
    assert readable("throughput_bps", [StandardMeasure("throughput_bps")]).head == "throughput [Mbit/s]"
    assert readable("web_bps", [NamedMeasure.parse("web_bps=flow:web.throughput")]).head == "web [Mbit/s]"
    assert readable("rest_s", [NamedMeasure.parse("rest_s=flow:web.fairness")]).head == "rest_s"
    assert readable("bulk_bps", unit="kbit/s").head == "bulk [kbit/s]"
    with pytest.raises(ScenarioError, match="--unit: 'Mbits/s'; did you mean 'Mbit/s'"):
        readable("bulk", unit="Mbits/s")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    rates = [4e6, 4.2e6, 5e6, 5.1e6, 8e6, 8.3e6, 9e6, 9.2e6]
    tcp, buffer = ["reno", "reno", "sack", "sack"] * 2, ["1"] * 4 + ["2"] * 4
    frame = pd.DataFrame({"tcp": tcp, "buffer": buffer, "throughput_bps": rates, "bulk": rates})
    frame.to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path / "runs.csv"


@pytest.mark.parametrize(
    ("response", "unit", "head"), [("throughput_bps", None, "throughput"), ("bulk", "Mbit/s", "bulk")]
)
def test_analysis_is_printed_in_mbit_s_and_exported_in_columns_units(
    runs: Path, response: str, unit: str | None, head: str
) -> None:
    options = ["--unit", unit] if unit else []
    file = runs.with_suffix(".json")
    shown = run("analyse", runs, "--response", response, "--factors", "tcp,buffer", *options, "--json", file).stdout
    assert f"{head} [Mbit/s] over tcp, buffer: 8 runs\nmean 6.6000 [" in shown
    written = json.loads(file.read_text())
    assert (written["response"], written["mean"]) == (response, 6.6e6)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.5, 0.7), "0.6000 ±1.2706"),
        ((0.0, 0.0), "0.0000 ±0.0000"),
        # The numbers are a loss rate of 10^-5, and a product of a rate and a time; t for 1 degree of freedom is
        # 12.7062.
        ((1e-5, 1.2e-5), "0.00001100 ±0.00001271"),
        ((1e-9, 1.2e-9), "1.1e-09 ±1.271e-09"),
        ((0.0010976, 0.0011004), "0.001099 ±0.000018"),
        ((0.9868, 0.98680001), "0.9868 ±6.353e-08"),
        ((2e8, 2.2e8), "2.1e+08 ±1.271e+08"),
    ],
)
def test_a_mean_has_significant_digits_at_any_magnitude(values: tuple[float, ...], text: str) -> None:
    assert interval_text(pd.Series(values)) == text


@given(
    st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-6),
    st.floats(1e-7, 1e5),
    st.integers(0, 4),
)
def test_mean_has_the_decimals_of_its_margin(value: float, margin: float, decimals: int) -> None:
    mean, half = written(value, margin, decimals).split(" \N{PLUS-MINUS SIGN}")
    if "e" not in mean + half:
        assert len(mean.partition(".")[2]) == len(half.partition(".")[2]) >= decimals
        assert float(half) == pytest.approx(margin, rel=0.05) or margin >= 10**-decimals
    assert float(half) > 0 or margin >= 10**-decimals / 2
