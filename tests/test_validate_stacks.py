"""CUBIC in longpipe and in QUIC stacks over random paths: deviating stacks are detected."""

import io
import itertools

import pandas as pd
import pytest

from commands import run
from longpipe import stacks
from longpipe.validate.stacks import BUFFERS_BDP, RATES_MBITS, ROUND_TRIPS_MS, deviating, draw

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")


def test_who_deviates_is_far_from_the_median() -> None:
    assert deviating({"a": 1.0, "b": 1.04, "c": 0.9}) == ["c"]
    assert deviating({"a": 1.0, "b": 1.04, "c": 1.0}) == []
    assert deviating({"a": 0.0, "b": 1.0, "c": 2.0}) == ["a", "c"]


def test_paths_vary_in_all_dimensions() -> None:
    paths = [tuple(draw(seed).values()) for seed in range(20)]
    assert len(set(paths)) > 15
    assert set(paths) <= set(itertools.product(RATES_MBITS, ROUND_TRIPS_MS, BUFFERS_BDP))


@needs_stacks
def test_the_command_prints_a_row_for_each_path() -> None:
    done = run("validate", "stacks", "--cases", "1", "--duration", "2", "--csv", "-")
    assert done.returncode == 0, done.stderr
    (row,) = pd.read_csv(io.StringIO(done.stdout)).to_dict("records")
    goodputs = {name: row[name] for name in ("longpipe", "quinn", "noq")}
    assert all(0 < goodput < row["rate_mbits"] for goodput in goodputs.values())
    assert str(row["deviating"]).split() == (deviating(goodputs) or ["nan"])
