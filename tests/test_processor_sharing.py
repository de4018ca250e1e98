"""Arriving flows under deficit round robin compared with processor sharing, and with ns-2."""

import pytest

from longpipe_evidence.papers.lbd_01.transfers import Transfer
from longpipe_evidence.validate import ns2
from longpipe_evidence.validate.ns2_flows import compare, random_flows
from longpipe_evidence.validate.processor_sharing import MSS, exact_slowdown, round_robin
from thorough import THOROUGH, one_in


@pytest.mark.parametrize("load", one_in(3, [0.8, 0.5, 0.3]))
def test_round_robin_has_the_slowdown_of_processor_sharing(load: float) -> None:
    flows = 100_000 if THOROUGH else 1000
    result = round_robin(load, flows)
    rows = result.completions
    assert len(rows) == flows
    assert rows["completion_s"].notna().all()
    assert list(result.arrived["waited"]) == [0]
    assert rows["size_bytes"].min() >= 100 * MSS - 1
    # The comparison is on the same arrivals, so there is no sampling noise.
    assert rows["slowdown"].mean() == pytest.approx(exact_slowdown(result), rel=0.01)
    if THOROUGH:
        whole = result.slowdowns.set_index("size").loc["all"]
        assert whole["low"] < 1 / (1 - load) < whole["high"]


@pytest.mark.skipif(not ns2.available(), reason="ns-2 is not installed (Debian's package ns2)")
def test_the_mean_completion_time_is_that_of_ns2() -> None:
    found = compare(Transfer(200, 0.5, "sack"), random_flows(10_000 if THOROUGH else 300))
    assert abs(found.difference) < 0.03
