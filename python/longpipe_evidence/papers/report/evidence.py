"""The evidence of a claim, from its record."""

from collections.abc import Mapping
from typing import Any


def lines(claim: Mapping[str, Any]) -> list[str]:
    """Returns the text of each condition, with its interval."""
    return [str(condition["evidence"]) for condition in claim["conditions"]]


def decisive(claim: Mapping[str, Any]) -> str:
    """Returns the text, with its interval, of the decisive condition.

    That is the first whose verdict equals the claim's, or the first that fails if the claim holds in part.
    """
    verdict = "fails" if claim["verdict"] == "in part" else claim["verdict"]
    chosen = [
        line
        for condition, line in zip(claim["conditions"], lines(claim), strict=True)
        if condition["verdict"] == verdict
    ]
    more = f" (and {len(chosen) - 1} more like it)" if len(chosen) > 1 else ""
    return chosen[0] + more
