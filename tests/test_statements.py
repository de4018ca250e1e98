"""Every statement of the five founding documents is checked by existing claims, or has a reason why it cannot be."""

import pytest

from longpipe_evidence.papers import IDS, PAPERS
from longpipe_evidence.papers.replicated import ReplicatedPaper
from longpipe_evidence.papers.statements import NO_VERDICT, NOT_TESTABLE, Statement, counts, statements

FOUNDING = IDS[:5]


@pytest.mark.parametrize("paper", FOUNDING)
def test_statements_are_numbered_and_judged(paper: str) -> None:
    found = statements(paper)
    letter = found[0].id[0]
    assert [one.id for one in found] == [f"{letter}{n}" for n in range(1, len(found) + 1)]
    for one in found:
        assert one.place
        assert one.text
        # A statement without claims has a reason for that.
        assert one.claims or one.reason.startswith("Not testable: "), one.id


@pytest.mark.parametrize("paper", FOUNDING[:4])
def test_statements_and_claims_refer_to_each_other(paper: str) -> None:
    of_paper = PAPERS[paper]
    assert isinstance(of_paper, ReplicatedPaper)
    used = {claim for one in statements(paper) for claim in (*one.claims, *one.beside)}
    assert used == {claim.id for claim in of_paper.claims}


def test_statement_has_the_combined_verdict_of_all_conditions() -> None:
    one = Statement("X1", "section 1", "text", ("a", "b"), ("c",), None, "")
    assert one.verdict({"a": ["holds"], "b": ["holds", "undecided"], "c": ["fails"]}) == "undecided"
    assert one.verdict({"a": ["holds"], "b": ["fails"]}) == "in part"
    assert one.verdict({"a": ["undecided"], "b": ["fails"]}) == "fails"
    assert one.verdict({"a": ["holds"]}) == NO_VERDICT
    assert Statement("X2", "section 1", "text", (), (), None, "Not testable: a setting.").verdict({}) == NOT_TESTABLE


@pytest.mark.parametrize("paper", FOUNDING)
def test_cause_of_a_failure_is_a_sentence(paper: str) -> None:
    for one in statements(paper):
        assert one.cause is None or one.reason.endswith("."), one.id


def test_counts_include_statements_without_a_verdict() -> None:
    found = counts("frr-96", {})
    assert found == {"holds": 0, "in part": 0, "undecided": 0, "fails": 0, NOT_TESTABLE: 1, NO_VERDICT: 14}
    assert sum(found.values()) == len(statements("frr-96"))


def test_a_paper_without_a_list_has_no_statements() -> None:
    assert statements("rfc-9438") == ()
