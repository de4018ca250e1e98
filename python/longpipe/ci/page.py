"""The outcome of a regression test as one HTML page, and as JUnit cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from longpipe import _core
from longpipe.ci.verdicts import FALSE_ALARM, Comparison, Verdict
from longpipe.report.frames import grid
from longpipe.report.junit import Case
from longpipe.report.page import render
from longpipe.report.parts import Facts, Report, Section
from longpipe.report.svg import Palette

if TYPE_CHECKING:
    from longpipe.ci.plan import RegressionPlan


def page(plan: RegressionPlan, compared: Sequence[Comparison], senders: tuple[str, str]) -> str:
    """Renders the comparison of two senders, the base and the changed one, as HTML."""
    lead = (
        f"{senders[1]} compared with {senders[0]} over {len(plan.scenarios)} scenarios with {plan.seeds} equal seeds "
        "each. A measure has regressed if the whole interval of its relative change, computed from the differences of "
        f"runs with equal seeds, lies above {plan.margin:.0%}, and has not if the interval lies below.",
        "The intervals hold together: an unchanged sender is reported as regressed anywhere with a probability of at "
        f"most {FALSE_ALARM:.0%}.",
    )
    deaths = dict.fromkeys(line for comparison in compared for line in comparison.deaths)
    facts = (("seeds", f"1 to {plan.seeds}"), ("longpipe", _core.__version__), ("engine", str(_core.__engine__)))
    sections = (
        Section("measures", "Measures", tuple(deaths), (grid(table(compared), "table", "All measures"),)),
        Section("about", "Provenance", (), (Facts(facts),)),
    )
    return render(Report("Regression test", lead, sections), Palette())


def table(compared: Sequence[Comparison]) -> pd.DataFrame:
    """Returns a row per scenario and measure: means, relative change with its interval [%], and verdict."""
    return pd.DataFrame(
        {
            "scenario": [row.scenario for row in compared],
            "measure": [f"{row.measure.name} [{row.measure.unit}]" for row in compared],
            "base": [row.base for row in compared],
            "changed": [row.new for row in compared],
            "change [%]": [round(100 * row.change.mean, 1) for row in compared],
            "low [%]": [round(100 * row.change.mean_low, 1) for row in compared],
            "high [%]": [round(100 * row.change.mean_high, 1) for row in compared],
            "verdict": [str(row.verdict) for row in compared],
        }
    )


def cases(compared: Sequence[Comparison]) -> Iterator[Case]:
    """Yields a JUnit case per scenario and measure; an inconclusive one counts as skipped."""
    for row in compared:
        words = in_words(row)
        yield Case(
            f"longpipe.{row.scenario}",
            row.measure.name,
            failure=words if row.verdict == Verdict.REGRESSED else None,
            skipped=words if row.verdict == Verdict.INCONCLUSIVE else None,
        )


def in_words(row: Comparison) -> str:
    """Returns the numbers of a comparison in one line."""
    change = row.change
    text = (
        f"{row.measure.name} {row.base:.4g} -> {row.new:.4g} {row.measure.unit}: {change.mean:+.1%}, "
        f"{change.mean_low:+.1%} to {change.mean_high:+.1%}"
    )
    return "; ".join([text, *row.deaths])
