"""CUBIC in longpipe and in QUIC stacks over random paths: deviating stacks are detected."""

import hashlib
import io
import itertools

import pandas as pd
import pytest

from commands import run
from longpipe import simulate, stacks
from longpipe_evidence.validate.stacks import BUFFERS_BDP, RATES_MBITS, ROUND_TRIPS_MS, deviating, draw, scenario

needs_stacks = pytest.mark.skipif(stacks.installed() is None, reason="longpipe_stacks is not installed: make stacks")


def test_deviating_stack_is_far_from_the_median() -> None:
    assert deviating({"a": 1.0, "b": 1.04, "c": 0.9}) == ["c"]
    assert deviating({"a": 1.0, "b": 1.04, "c": 1.0}) == []
    assert deviating({"a": 0.0, "b": 1.0, "c": 2.0}) == ["a", "c"]


def test_paths_vary_in_all_dimensions() -> None:
    paths = [tuple(draw(seed).values()) for seed in range(20)]
    assert len(set(paths)) > 15
    assert set(paths) <= set(itertools.product(RATES_MBITS, ROUND_TRIPS_MS, BUFFERS_BDP))


# Hash of the decisions of 100 runs. It changes with the version of a stack.
FROZEN_PATHS = "9f4511f18db215ca"


@needs_stacks
def test_one_hundred_random_paths_have_the_same_bits_each_time() -> None:
    def decisions(seed: int) -> str:
        implementation = ("quinn", "noq")[seed % 2]
        control = ("cubic", "reno", {"quinn": "bbr", "noq": "bbr3"}[implementation])[seed % 3]
        made = scenario(draw(seed), implementation, 2).with_(**{"traffic.congestion": control})
        return str(simulate(made, seed=seed).stacks.decisions[0])

    first, second = ([decisions(seed) for seed in range(100)] for _ in range(2))
    assert first == second
    assert hashlib.sha256(" ".join(first).encode()).hexdigest()[:16] == FROZEN_PATHS


@needs_stacks
def test_the_command_prints_a_row_for_each_path() -> None:
    done = run("validate", "stacks", "--cases", "1", "--duration", "2", "--csv", "-")
    assert done.returncode == 0, done.stderr
    (row,) = pd.read_csv(io.StringIO(done.stdout)).to_dict("records")
    goodputs = {name: row[name] for name in ("longpipe", "quinn", "noq")}
    assert all(0 < goodput < row["rate_mbits"] for goodput in goodputs.values())
    assert str(row["deviating"]).split() == (deviating(goodputs) or ["nan"])
