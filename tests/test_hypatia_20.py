"""Hypatia's runs: the paper's statements about RTTs and both controllers hold for one pair of cities."""

import pandas as pd
import pytest

from longpipe.run import simulate
from longpipe_evidence.papers import hypatia_20
from longpipe_evidence.papers.experiments import Experiment
from longpipe_evidence.papers.hypatia_20 import PAPER, claims, experiments, measure

# The pair's route changes abruptly at 33 s, and there is no route for ten seconds.
PAIR = "rio-petersburg"


@pytest.fixture(scope="module")
def found() -> list[Experiment]:
    """Returns all experiments with a route every half second, which takes a fifth of the computation."""
    pytest.importorskip("sgp4")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypatia_20, "AS_NS3", {**hypatia_20.AS_NS3, "step": "500 ms"})
        return experiments.__wrapped__()


def test_claims_hold_of_the_pair_whose_route_jumps(found: list[Experiment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "FILLS", (PAIR,))
    chosen = [one for one in found if one.factors["pair"] == PAIR]
    runs = pd.DataFrame([{**one.factors, "seed": 1, **measure(simulate(one.replicated, 1))} for one in chosen])
    assert (round(runs["before_jump_ms"][0]), round(runs["after_jump_ms"][0])) == (96, 111)
    for claim in claims.CLAIMS[1:]:
        conditions = list(claim.conditions(runs))
        assert conditions
        for condition in conditions:
            assert condition.above < condition.by_seed.mean() < condition.below, (claim.text, condition)


def test_each_pair_is_run_with_both_controls_in_200_s(found: list[Experiment]) -> None:
    assert len(found) == len({tuple(one.factors.values()) for one in found}) == 6
    assert {one.replicated.duration for one in found} == {"200 s"}
    assert {one.replicated.switch.buffer for one in found} == {"101 packets"}
    assert PAPER.seeds == 5
