"""Designed experiments: scenarios to run, their seeds, and the analysis of their variation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from longpipe.design import cost
from longpipe.design.factor import Factor, Level
from longpipe.design.fraction import Fraction, parse_word, products
from longpipe.design.seeds import planned_seeds
from longpipe.errors import MissingSetting, ScenarioError, check_kind
from longpipe.scenario import LARGEST_SEED, Scenario
from longpipe.scenario.overrides import overridden_fields

if TYPE_CHECKING:
    import pandas as pd

    from longpipe.analysis.anova import Anova
    from longpipe.measures.measure import Measure, Specification

# Limits of a design: each point is a scenario in memory, each run a row of a frame.
MAX_POINTS: Final = 20_000
MAX_RUNS: Final = 1_000_000
# Maximum number of problems that an error lists.
MAX_PROBLEMS: Final = 10
# What an error says that the base of a design must be.
_BASE: Final = "a Scenario, as from Scenario.from_toml('geo.toml')"


class Run(NamedTuple):
    """One run of a design: numbers of its point and replication (from 1), levels, and seed."""

    point: int
    levels: tuple[Level, ...]
    replication: int
    seed: int


@dataclass(frozen=True, repr=False)
class Design:
    """A set of points, each with a level for every factor, to run with several seeds.

    With `common` random numbers, replication i has the same seed at every point, or at every point of a block if there
    are blocks, so points differ only in their factors. The analysis then treats the seed as a blocking factor.
    Otherwise every run has its own seed. Seeds are consecutive numbers from `first_seed`, and further replications
    never change the seeds of earlier ones. `blocks` numbers the block of each point, `fraction` shows which effects a
    two-level design cannot separate. `measures` are requested in addition to those of every run:
    "bulk=flow:bulk.throughput", "web.p95", "bulk/throughput", "share=file.py:function" or a function of a result
    (`measures.measure`); a text may refer to earlier ones by name.

    Raises ScenarioError for an empty or too large design, factors with the same name, and seeds or replications out of
    range. `scenarios` and everything that uses it raise it for levels that a scenario rejects.
    """

    base: Scenario
    factors: tuple[Factor, ...]
    points: tuple[tuple[Level, ...], ...]
    replications: int = 1
    first_seed: int = 1
    common: bool = True
    blocks: tuple[int, ...] | None = None
    fraction: Fraction | None = None
    confounded: tuple[str, ...] = ()
    measures: tuple[Specification, ...] = ()
    # Returns the scenarios of a stored study's points, if the design is that of one.
    stored: Callable[[Design], Sequence[Scenario]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_kind("base", self.base, Scenario, _BASE)
        # Measures are stored as text with absolute file names, for studies that are opened from other directories.
        object.__setattr__(self, "measures", tuple(map(str, _parsed(self.measures))))
        _checked(self.factors)
        _check_measures(self.asked, self.factors)
        if not self.points:
            raise ScenarioError("points: none; needs at least one")
        _check_size(len(self.points), self.replications)
        if self.first_seed < 0 or any(seeds[-1] > LARGEST_SEED for seeds in self._seeds):
            raise ScenarioError(f"first_seed: {self.first_seed}; needs 0 to {LARGEST_SEED} for all seeds")

    def __repr__(self) -> str:
        """Returns a summary of factors with numbers of levels, points, replications, measures and warnings."""
        factors = " x ".join(f"{factor.name} ({len(factor.levels)})" for factor in self.factors)
        measuring = f", measuring {', '.join(map(str, self.measures))}" if self.measures else ""
        warnings = "".join(f"\nwarning: {line}" for line in self.warnings)
        return (
            f"Design over {self.base.name!r}: {factors}, {len(self.points)} points, "
            f"{self.replications} replications from seed {self.first_seed}{measuring}{warnings}"
        )

    def _repr_html_(self) -> str:
        """Returns the summary with a table of factors and levels, for notebooks."""
        from longpipe.notebook import paragraph, table

        rows = [(factor.name, ", ".join(map(str, factor.levels))) for factor in self.factors]
        return paragraph(repr(self).split("\n")) + table(("factor", "levels"), rows)

    @classmethod
    def full_factorial(
        cls,
        base: Scenario,
        factors: Iterable[Factor],
        *,
        replications: int = 1,
        first_seed: int = 1,
        common: bool = True,
        measures: Iterable[Specification] = (),
    ) -> Self:
        """Returns all combinations of levels, the last factor varying fastest; with one factor, a sweep.

        Without factors, the design has a single point, named after the scenario, which only the seeds vary.
        """
        check_kind("base", base, Scenario, _BASE)
        factors = _checked(factors, otherwise=(Factor("scenario", {base.name: {}}),))
        _check_size(math.prod(len(factor.levels) for factor in factors), replications)
        points = tuple(product(*(factor.levels for factor in factors)))
        return cls(base, factors, points, replications, first_seed, common, measures=tuple(measures))

    @classmethod
    def two_level(
        cls,
        base: Scenario,
        factors: Iterable[Factor],
        *,
        generators: Iterable[str] = (),
        confounded: Iterable[str] = (),
        replications: int = 1,
        first_seed: int = 1,
        common: bool = True,
        measures: Iterable[Specification] = (),
    ) -> Self:
        """Returns a 2^(k-p) design with p `generators` such as "policy = tcp * buffer"; without them all 2^k points.

        `confounded` interactions, as in "tcp * buffer", divide the points into blocks, each with its own seeds, and
        cannot be estimated. Also raises ScenarioError for a factor that does not have exactly two levels.
        """
        factors = _checked(factors)
        for factor in factors:
            if len(factor.levels) != 2:
                raise ScenarioError(
                    f"{factor.name}: {len(factor.levels)} levels; needs exactly 2 in a two-level design"
                )
        fraction = Fraction(tuple(factor.name for factor in factors), tuple(generators))
        _check_size(2 ** (len(factors) - len(fraction.generators)), replications)
        levels = [tuple(factor.levels) for factor in factors]
        signs = fraction.points()
        points = tuple(tuple(pair[sign > 0] for pair, sign in zip(levels, point, strict=True)) for point in signs)
        confounded = tuple(confounded)
        blocks = _blocks(fraction, signs, confounded) if confounded else None
        return cls(
            base, factors, points, replications, first_seed, common, blocks, fraction, confounded, tuple(measures)
        )

    @classmethod
    def one_at_a_time(
        cls,
        base: Scenario,
        factors: Iterable[Factor],
        *,
        replications: int = 1,
        first_seed: int = 1,
        common: bool = True,
        measures: Iterable[Specification] = (),
    ) -> Self:
        """Returns a one-at-a-time design: each factor's levels with all others at their first level."""
        factors = _checked(factors)
        first = tuple(next(iter(factor.levels)) for factor in factors)
        changed = ((*first[:i], level, *first[i + 1 :]) for i, f in enumerate(factors) for level in f.levels)
        points = tuple(dict.fromkeys([first, *changed]))
        return cls(base, factors, points, replications, first_seed, common, measures=tuple(measures))

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Returns the scenario of each point; raises ScenarioError with one line per invalid point.

        Those of a stored study are as they were stored, also if the files that they name have changed.
        """
        built = self._built() if self.stored is None else self.stored(self)
        for measure in self.asked:
            for scenario in built:
                measure.check(scenario)
        return tuple(built)

    def scenario(self, point: Sequence[Level]) -> Scenario:
        """Builds the scenario of a point, with the present content of files; raises ScenarioError."""
        changes = [factor.levels[level] for factor, level in zip(self.factors, point, strict=True)]
        fields = {field: value for change in changes for field, value in change.items()}
        return self.base.with_(**{**fields, "name": self.name_of(point)})

    def _built(self) -> list[Scenario]:
        """Returns the scenarios of all points. Raises one ScenarioError for the problems of all of them."""
        built, problems = [], {}
        remedies: list[MissingSetting] = []
        for point in self.points:
            try:
                built.append(self.scenario(point))
            except ScenarioError as error:
                problems.update(dict.fromkeys(error.problems))
                remedies += error.remedies
        if problems:
            first_problems = list(problems)[:MAX_PROBLEMS]
            more = [f"and {len(problems) - len(first_problems)} more"] if len(problems) > len(first_problems) else []
            raise ScenarioError(*first_problems, *more, remedies=remedies)
        self._check_distinct(built)
        return built

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Returns warnings about what the design cannot show, one line each; `longpipe design` prints them.

        The warnings concern windows that fill neither the path nor its buffer, paths that end before the run, and seeds
        without effect.
        """
        from longpipe.cautions import cautions

        return tuple(cautions.of_points(self.scenarios, self.replications))

    @cached_property
    def asked(self) -> tuple[Measure, ...]:
        """The additional measures."""
        return _parsed(self.measures)

    def frame(self) -> pd.DataFrame:
        """Returns the planned runs as a frame with one row each.

        Columns: `point`, `block` (if there are any), the factors, `replication`, `seed`, `simulated_s` and
        `cpu_s_estimate`; see `cost`.
        """
        import pandas as pd

        of_point = [(cost.simulated_s(scenario), cost.cpu_s(scenario)) for scenario in self.scenarios]
        rows = []
        for run in self.runs():
            simulated_s, cpu_s = of_point[run.point - 1]
            rows.append(
                {
                    "point": run.point,
                    **self.levels(run.point),
                    "replication": run.replication,
                    "seed": run.seed,
                    "simulated_s": simulated_s,
                    "cpu_s_estimate": cpu_s,
                }
            )
        return pd.DataFrame(rows)

    def cost(self) -> cost.Cost:
        """Returns the number of runs, their simulated time, and their estimated processor time."""
        simulated = self.replications * sum(map(cost.simulated_s, self.scenarios))
        estimate = self.replications * sum(map(cost.cpu_s, self.scenarios))
        return cost.Cost(len(self.points), len(self.points) * self.replications, simulated, estimate)

    def levels(self, point: int) -> dict[str, Level]:
        """Returns the leading columns of a point (numbered from 1): its block, if any, and each factor's level."""
        block = {} if self.blocks is None else {"block": self.blocks[point - 1] + 1}
        return block | dict(zip((factor.name for factor in self.factors), self.points[point - 1], strict=True))

    def runs(self) -> Iterator[Run]:
        """Yields the planned runs by point and replication."""
        for i, (point, seeds) in enumerate(zip(self.points, self._seeds, strict=True), 1):
            for replication, seed in enumerate(seeds, 1):
                yield Run(i, point, replication, seed)

    def anova(self, runs: pd.DataFrame, response: str, *, order: int | None = None, saturated: bool = False) -> Anova:
        """Returns the analysis of variation of this design's runs, with seeds as blocks if points share them.

        For a fraction, the model has one term of up to `order` factors per alias class, except classes confounded with
        blocks. Raises ScenarioError as `anova` does.
        """
        import pandas as pd

        from longpipe.analysis.anova import anova

        names = [factor.name for factor in self.factors]
        shared = self.common and len(runs["seed"].unique()) > 1
        terms = None
        if self.fraction is not None and (self.fraction.generators or self.confounded):
            highest = order or (len(names) if saturated or len(runs) > len(self.points) else 1)
            words = self.fraction.leaders(highest, products(self._confounded(self.fraction)))
            terms = [self.fraction.name(word) for word in words]
        # Keep the factor's order of levels, independent of the order of the runs.
        ordered = {factor.name: pd.Categorical(runs[factor.name], list(factor.levels)) for factor in self.factors}
        return anova(
            runs.assign(**ordered),
            response,
            names,
            order=order if terms is None else None,
            terms=terms,
            blocks="seed" if shared else "block" if self.blocks is not None else None,
            saturated=saturated,
        )

    @property
    def _seeds(self) -> list[range]:
        return planned_seeds(
            len(self.points), self.replications, self.first_seed, common=self.common, blocks=self.blocks
        )

    def _confounded(self, fraction: Fraction) -> list[int]:
        return [parse_word("confounded", text, text, fraction.factors) for text in self.confounded]

    def name_of(self, point: Sequence[Level]) -> str:
        """Returns the name of a point's scenario."""
        levels = ", ".join(f"{factor.name}={level}" for factor, level in zip(self.factors, point, strict=True))
        return levels[:200]

    def _check_distinct(self, scenarios: Iterable[Scenario]) -> None:
        """Raises ScenarioError if two points have the same run."""
        by_digest: dict[str, Scenario] = {}
        for scenario in scenarios:
            same = by_digest.setdefault(scenario.digest(), scenario)
            if same is not scenario:
                fields = (field for factor in self.factors for level in factor.levels.values() for field in level)
                if ignored := overridden_fields(scenario, fields):
                    raise ScenarioError(*ignored)
                raise ScenarioError(
                    f"factors: {same.name!r} and {scenario.name!r} are the same run; needs levels that change it"
                )


def _checked(factors: Iterable[Factor], *, otherwise: tuple[Factor, ...] = ()) -> tuple[Factor, ...]:
    """Returns factors whose names differ, or `otherwise` if there are none; raises ScenarioError for anything else."""
    needs = "factors, as in [Factor.over('switch.buffer', ['0.5 BDP', '1 BDP'])]"
    if isinstance(factors, Mapping | str) or not isinstance(factors, Iterable):
        check_kind("factors", factors, (), needs)
    checked = tuple(factors) or otherwise
    if not checked:
        raise ScenarioError("factors: none; needs at least one")
    for factor in checked:
        check_kind("factors", factor, Factor, needs)
    names = [factor.name for factor in checked]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(f"factors: {name!r} occurs {names.count(name)} times; needs each once")
    return checked


def _parsed(measures: tuple[Specification, ...]) -> tuple[Measure, ...]:
    """Parses measures. Their module loads NumPy, which a design without them does not need."""
    if measures == ():
        return ()
    from longpipe.measures.measure import parse_all

    return parse_all(measures)


def _check_measures(measures: Sequence[Measure], factors: Sequence[Factor]) -> None:
    column_names = {"point", "block", "replication", "seed", *(factor.name for factor in factors)}
    for measure in measures:
        if measure.name in column_names:
            raise ScenarioError(f"measure: {measure.name!r} is the name of another column; needs a unique name")
        column_names.add(measure.name)


def _check_size(points: int, replications: int) -> None:
    check_kind("replications", replications, int, "a whole number")
    if replications < 1:
        raise ScenarioError(f"replications: {replications}; needs at least 1")
    if points > MAX_POINTS:
        raise ScenarioError(f"factors: {points} points; needs at most {MAX_POINTS}: fewer levels, or a fraction")
    if points * replications > MAX_RUNS:
        raise ScenarioError(f"replications: {replications} of {points} points; needs at most {MAX_RUNS} runs in total")


def _blocks(fraction: Fraction, signs: Sequence[Sequence[int]], confounded: Sequence[str]) -> tuple[int, ...]:
    """Returns the number of each point's block; products of factors in `confounded` are constant within a block."""
    words = [parse_word("confounded", text, text, fraction.factors) for text in confounded]
    lost = products(words)
    constant = {0, *(word for word, _ in fraction.relation)}
    if constant & set(lost):
        raise ScenarioError(f"confounded: {', '.join(confounded)}: a product is constant; needs independent products")
    for word in lost:
        alike = {word, *(word ^ other for other in constant)}
        if any(other.bit_count() == 1 for other in alike):
            raise ScenarioError(f"confounded: {', '.join(confounded)} hides a main effect; needs longer products")
    parity = [[sum(s < 0 for i, s in enumerate(point) if word >> i & 1) % 2 for word in words] for point in signs]
    return tuple(sum(bit << i for i, bit in enumerate(bits)) for bits in parity)
