"""The buffer that many Reno flows need, compared with B = C RTT / sqrt(n) (Appenzeller, Keslassy and McKeown 2004)."""

import importlib.util
import math
from pathlib import Path

import pytest

from thorough import THOROUGH

BENCH = Path(__file__).parents[1] / "benches" / "buffer_rule.py"


@pytest.mark.skipif(not THOROUGH, reason="three minutes on an idle machine: make validate")
def test_needed_buffer_falls_with_the_square_root_of_the_number_of_flows() -> None:
    spec = importlib.util.spec_from_file_location("buffer_rule", BENCH)
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    few, many = 50, 200
    parts = [bench.needed(flows, seed=1) / bench.pipe(flows) for flows in (few, many)]
    slope = math.log(parts[1] / parts[0]) / math.log(many / few)
    assert slope == pytest.approx(-0.5, abs=0.05)
