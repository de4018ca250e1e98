"""Sequential replication until the intervals of means are narrow enough."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from longpipe.analysis.factors import check_level
from longpipe.analysis.intervals import copies, deviation
from longpipe.analysis.quantiles import t_quantile
from longpipe.design.design import Design
from longpipe.errors import ScenarioError, nearest
from longpipe.executors import Where
from longpipe.measures import expressions
from longpipe.measures.defaults import names
from longpipe.measures.dimensions import same_dimension
from longpipe.measures.measure import Measure, parse
from longpipe.measures.readable import column_of
from longpipe.study.progress import Progress, ignore
from longpipe.study.study import Study

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from longpipe.study.study import Measuring

# Number of replications before the first decision, because the variance of fewer is often too small by chance.
FIRST: Final = 20
# Smallest accepted maximum number of replications, because intervals from fewer are useless.
FEWEST: Final = 5
# Additional replications with which a margin has to hold again, as a fraction of those with which it was first reached.
# With them, intervals of normally distributed measures cover the mean in 94 to 95 % of all cases, without them in 93.5
# %.
CONFIRMED_BY: Final = 0.1
# Replications per square of the skewness. Cochran (Sampling Techniques, 1977, section 2.15) asks for 25 for intervals
# that are not corrected for skewness; with the correction, 10 suffice for a coverage of 94 %. Fewer replications need a
# margin that holds by Chebyshev's inequality, for any distribution.
OF_SKEWNESS: Final = 10.0
# Shift below which rounding errors of the transformation exceed its effect.
_MIN_SHIFT: Final = 1e-6
_UNTIL: Final = re.compile(
    r"\s*(?:\N{PLUS-MINUS SIGN}|\+-|\+/-)\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE]-?\d+)?)\s*(%|[A-Za-z][\w/]*)?\s*"
)


@dataclass(frozen=True, eq=False)
class Sequential:
    """Result: the column of the metric, the final design, its runs (as `Study.frame`), and the estimate for each point.

    `precision` has the columns `point`, the factors, `replications`, `mean`, `margin` (half of the interval, in the
    metric's unit), `reached`, `wanted`, the estimated number of replications that the point needs, and `skewness`.
    """

    metric: str
    design: Design
    runs: pd.DataFrame
    precision: pd.DataFrame

    @property
    def wanted(self) -> float:
        """Estimated number of replications that the widest interval needs."""
        return float(self.precision["wanted"].max())

    @property
    def reached(self) -> bool:
        """Whether the interval of every point is narrow enough."""
        return bool(self.precision["reached"].all())


def run_until(
    study: Study,
    metric: str,
    until: str,
    *,
    most: int = 100,
    level: float = 0.95,
    measure: Measuring | None = None,
    executor: Where = None,
    workers: int | None = None,
    memory: str | None = None,
    progress: Callable[[Progress], None] = ignore,
) -> Sequential:
    """Adds replications (equally at all points) until each mean of `metric` has the margin `until`.

    `until` is a margin in the unit of the metric's column, "±0.01", or in another one, "±5 ms", or a share of the mean,
    "±2 %", at confidence `level` (0 to 1). It begins with the replications that the study has, at least 20 (or `most`),
    continues with the number that the widest interval needs, at most doubling at a time, and ends at `most` at the
    latest. Skewed measures have wider intervals, and need 10 replications per square of their skewness or a large
    margin (see `needed`). A margin that is reached has to hold again with a tenth more replications, because repeated
    decisions by the same data let intervals miss more often than 1 - level (Chow and Robbins, Annals of Mathematical
    Statistics 36, 1965). `metric` may be any that `Design.measures` accepts. Raises ScenarioError for an invalid
    margin, for a metric that is not measured (before the first run, unless `measure` determines the metrics), for a
    maximum below 5, and after the first runs if the replications of every point are identical.
    """
    check_level(level)
    replications = first_replications(study.design.replications, most)
    of = None
    if measure is None:
        metric = _asked(study, metric)
        of = _measure(study.design, metric)
    margin, relative = parse_margin(until, of)
    # Runs that were complete before do not depend on a decision of this call.
    held = study.design.replications == replications and study.status().complete
    while True:
        study.grow(replications).run(executor, workers=workers, memory=memory, progress=progress)
        runs, grown = study.frame(measure), study.design
        # The names of measures are known after the first runs.
        if metric not in runs.columns:
            measured = [column for column in runs.columns if column not in grown.frame().columns]
            raise ScenarioError(f"metric: {metric!r}; {nearest(metric, measured)}")
        if copied := copies(runs):
            raise ScenarioError(
                f"until: {metric} never gets more certain, {copied}; needs start = {{kind = 'random', ...}}"
            )
        precision = _precision(grown, runs, metric, margin, relative, level)
        decision = Sequential(metric, grown, runs, precision)
        if (decision.reached and held) or replications == most:
            return decision
        replications, held = following(replications, decision.wanted, most, reached=decision.reached), decision.reached


def first_replications(planned: int, most: int) -> int:
    """Returns the number of replications before the first decision, for a design with `planned` replications.

    Raises ScenarioError if `most` is below `planned` or below FEWEST.
    """
    least = max(FEWEST, planned)
    if most < least:
        raise ScenarioError(f"most: {most}; needs at least {least}")
    return max(least, min(FIRST, most))


def following(replications: int, needed: float, most: int, *, reached: bool) -> int:
    """Returns the next number of replications if the widest interval needs `wanted` of them."""
    if reached:
        return min(most, replications + math.ceil(CONFIRMED_BY * replications))
    return min(most, 2 * replications, max(replications + 1, math.ceil(min(needed, most))))


def check_until(design: Design, until: str, most: int) -> None:
    """Raises ScenarioError if `until`, "METRIC ±MARGIN", or the maximum number of replications is not accepted."""
    metric, margin = parse_until(until)
    first_replications(design.replications, most)
    parse_margin(margin, _measure(design, _measure_of(design, metric)))


def _asked(study: Study, metric: str) -> str:
    """Returns the name of a metric that every run has, including requested ones; raises ScenarioError otherwise."""
    measure = _measure_of(study.design, metric)
    if isinstance(measure, str):
        return measure
    study.ask(str(measure))
    return measure.name


def _measure_of(design: Design, metric: str) -> str | Measure:
    """Returns the name of a known metric, or the further measure that it describes; raises ScenarioError if neither."""
    metrics = [name for name in names(design.base) if all(name in names(scenario) for scenario in design.scenarios)]
    metrics += [measure.name for measure in design.asked]
    name = column_of(metric, design.asked)
    if name in metrics:
        return name
    if metric.isidentifier():
        known = nearest(metric, metrics)
        raise ScenarioError(f"metric: {metric!r}; {known}, or a measure such as flow:FLOW.throughput")
    return parse(metric, design.asked, "metric")


def _measure(design: Design, measure_or_name: str | Measure) -> Measure:
    """Returns the measure of a known name."""
    if not isinstance(measure_or_name, str):
        return measure_or_name
    return next((measure for measure in design.asked if measure.name == measure_or_name), None) or parse(
        measure_or_name, (), "metric"
    )


def parse_until(text: str) -> tuple[str, str]:
    """Splits "efficiency ±0.01" or "efficiency=±0.01" into the metric and the margin."""
    # An expression may have a name: share=a/(a+b)=±0.01.
    match = re.fullmatch(r"(.*\w.*)((?:\N{PLUS-MINUS SIGN}|\+-|\+/-).*)", text)
    if match is None:
        raise ScenarioError(f"until: {text!r}; accepts METRIC ±MARGIN, as in 'efficiency ±0.01'")
    return match[1].strip().removesuffix("=").strip(), match[2]


def parse_margin(until: str, measure: Measure | None = None) -> tuple[float, bool]:
    """Parses a margin and whether it is relative to the mean: "±0.01", "±5 ms", "±2 %"; "+-" is accepted for "±".

    A number without a unit is in the unit of the metric's column, one with a unit is converted to it, which needs the
    `measure`. Raises ScenarioError for another text, or a unit of another dimension.
    """
    match = _UNTIL.fullmatch(until)
    number = float(match[1]) if match else 0.0
    if match is None or not 0 < number < math.inf or (match[2] not in (None, "%") and measure is None):
        raise ScenarioError(f"until: {until!r}; accepts ±0.01, in the unit of the metric, or ±2 %, of its mean")
    if match[2] == "%":
        return number / 100, True
    if match[2] is None or measure is None:
        return number, False
    text = f"{match[1]} {match[2]}"
    side = expressions.parse(text, "until")
    same_dimension([measure.dimension, side.dimension({}, "until")], text, "until")
    return float(side.value({})) / measure.factor, False


def margin_text(design: Design, until: str) -> str:
    """Returns "METRIC ±MARGIN" with an absolute margin in the unit in which tables show the metric."""
    metric, margin = parse_until(until)
    measure = _measure(design, _measure_of(design, metric))
    number, relative = parse_margin(margin, measure)
    if relative or measure.unit in ("", "share"):
        return until
    return f"{metric} ±{number / measure.scale:.6g} {measure.unit}"


def needed(values: npt.NDArray[np.float64], target: float, level: float) -> tuple[float, float]:
    """Returns the margin of a mean, and the number of replications for which it would be `target`.

    The margin is the longer side of Willink's interval (Communications in Statistics: Theory and Methods 34, 2005),
    which corrects Student's t for the skewness of the values. With fewer than OF_SKEWNESS replications per square of
    the skewness, the target is reached only if the margin of Chebyshev's inequality, which holds for any distribution
    with this variance, reaches it, too; the larger one of both margins is then returned.
    """
    count = len(values)
    error = deviation(values)
    if not error:
        return 0.0, 0.0
    skewness = skewness_of(values)
    t = t_quantile(level, count - 1)
    longer = max(abs(_without_skewness(side, skewness / (6 * math.sqrt(count)))) for side in (t, -t))
    margin = longer * error / math.sqrt(count)
    if not target:
        return margin, math.inf
    enough = OF_SKEWNESS * skewness**2
    replications = count * (margin / target) ** 2
    if count >= enough:
        return margin, replications
    of_any = max(margin, error / math.sqrt(count * (1 - level)))
    if of_any <= target:
        return of_any, count * (of_any / target) ** 2
    return margin, max(replications, min(enough, count * (of_any / target) ** 2))


def skewness_of(values: npt.NDArray[np.float64]) -> float:
    """Returns the sample skewness, with the usual correction of its bias (G1 of Joanes and Gill 1998)."""
    count = len(values)
    deviations = values - values.mean()
    ratio = float((deviations**3).mean()) / math.pow(float((deviations**2).mean()), 1.5)
    return math.sqrt(count * (count - 1)) / (count - 2) * ratio


def _without_skewness(t: float, shift: float) -> float:
    """Returns the inverse of Hall's transformation of a Student's t; `shift` is the skewness / (6 sqrt(n))."""
    return (math.cbrt(1 + 6 * shift * (t - shift)) - 1) / (2 * shift) if abs(shift) > _MIN_SHIFT else t


def _precision(
    design: Design, runs: pd.DataFrame, metric: str, margin: float, relative: bool, level: float
) -> pd.DataFrame:
    """Returns a row per point: its mean, the margin reached, and the number of replications that the margin needs."""
    names = [factor.name for factor in design.factors]
    rows = []
    for point, group in runs.groupby("point"):
        values = group[metric]
        if values.isna().any():
            raise ScenarioError(
                f"metric: {metric!r} has no value in some runs of point {point}; needs a number in each"
            )
        mean = float(values.mean())
        target = margin * abs(mean) if relative else margin
        half_width, replications = needed(values.to_numpy(dtype=float), target, level)
        levels = dict(zip(names, group.iloc[0][names], strict=True))
        rows.append(
            {
                "point": point,
                **levels,
                "replications": len(values),
                "mean": mean,
                "margin": half_width,
                "reached": replications <= len(values),
                "wanted": replications,
                "skewness": skewness_of(values.to_numpy(dtype=float)) if half_width else 0.0,
            }
        )
    return pd.DataFrame(rows)
