"""The evidence of a claim in one line."""

from collections.abc import Mapping
from typing import Any


def decisive(claim: Mapping[str, Any]) -> str:
    """Returns the text, with its interval, of the decisive condition: the first whose verdict equals the claim's."""
    lines: list[str] = claim["evidence"].split("; ")
    chosen = [i for i, condition in enumerate(claim["conditions"]) if condition["verdict"] == claim["verdict"]]
    if len(lines) != len(claim["conditions"]) or not chosen:
        return str(claim["evidence"])
    more = f" (and {len(chosen) - 1} more like it)" if len(chosen) > 1 else ""
    return lines[chosen[0]] + more
