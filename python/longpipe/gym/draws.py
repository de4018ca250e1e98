"""Scenarios of episodes: one, several, or drawn from a distribution."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario
from longpipe.units import BUFFER, RATE, SIZE, SYMBOLS, TIME

# Kinds of quantities, among whose units a range may convert.
_DIMENSIONS: Final = (RATE, TIME, SIZE, SYMBOLS, BUFFER)


@dataclass(frozen=True)
class Uniform:
    """Values from `low` to `high`, numbers or quantities, as in Uniform("6 Mbit/s", "1 Gbit/s")."""

    low: str | float
    high: str | float
    # Whether the logarithms of the values are uniformly distributed.
    log: bool = False

    def __post_init__(self) -> None:
        """Raises ScenarioError unless the bounds are comparable, in ascending order, and positive with `log`."""
        low, high, _ = self._range
        if not low <= high or (self.log and low <= 0):
            needs = "two values above 0" if self.log and low <= 0 else "two values"
            raise ScenarioError(f"scenario: {self}; needs {needs}, the smaller one first")

    @cached_property
    def _range(self) -> tuple[float, float, str]:
        """Returns the bounds in the unit of the lower one, and this unit; "" for numbers."""
        (low, unit), (high, other) = _parts(self.low), _parts(self.high)
        if unit != other:
            scales = next(
                (dimension.units for dimension in _DIMENSIONS if unit in dimension.units and other in dimension.units),
                None,
            )
            if scales is None:
                raise ScenarioError(f"scenario: {self}; needs two quantities of one kind, as '6 Mbit/s' and '1 Gbit/s'")
            high *= float(scales[other] / scales[unit])
        return low, high, unit

    def draw(self, rng: np.random.Generator) -> str | float:
        """Returns a value."""
        low, high, unit = self._range
        value = float(np.exp(rng.uniform(np.log(low), np.log(high))) if self.log else rng.uniform(low, high))
        return f"{value:.6g} {unit}" if unit else value


def _parts(value: str | float) -> tuple[float, str]:
    number, _, unit = str(value).partition(" ")
    try:
        return float(number), unit.strip()
    except ValueError:
        raise ScenarioError(f"scenario: {value!r}; needs a number or a quantity, as in '6 Mbit/s'") from None


class Draws:
    """A distribution of scenarios: fields of `base` with levels to choose from, or a `Uniform`.

    An episode has one of `count` scenarios, which are determined by `seed`. Each is drawn and checked when it is first
    used; the fields, and each of their levels, are checked at once. Raises ScenarioError for a field or level that the
    scenario does not accept.
    """

    def __init__(
        self,
        base: Scenario,
        fields: Mapping[str, Sequence[object] | Uniform],
        *,
        count: int = 1000,
        seed: int = 0,
    ) -> None:
        self._base = base
        self._fields = dict(fields)
        self._count = count
        self._seed = seed
        self._scenario = lru_cache(maxsize=None)(self._drawn)
        if count < 1:
            raise ScenarioError(f"count: {count}; needs at least 1")
        self.first = self._scenario(0)
        for field, levels in self._fields.items():
            if not isinstance(levels, Uniform):
                for level in levels:
                    self.first.with_(**{field: level})

    def __call__(self, rng: np.random.Generator) -> Scenario:
        """Returns the scenario of an episode."""
        return self._scenario(int(rng.integers(self._count)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._base, self._fields, self._count, self._seed)

    def _drawn(self, number: int) -> Scenario:
        rng = np.random.default_rng([self._seed, number])
        values = {
            field: levels.draw(rng) if isinstance(levels, Uniform) else levels[int(rng.integers(len(levels)))]
            for field, levels in self._fields.items()
        }
        return self._base.with_(**values)


def _restored(base: Scenario, fields: Mapping[str, Sequence[object] | Uniform], count: int, seed: int) -> Draws:
    return Draws(base, fields, count=count, seed=seed)


Scenarios = Scenario | str | Sequence[Scenario] | Callable[[np.random.Generator], Scenario]


def drawing(scenarios: Scenarios) -> tuple[Callable[[np.random.Generator], Scenario], Sequence[Scenario]]:
    """Returns a function that draws the scenario of an episode, and the scenarios that are known before a draw.

    A text is the name of an example or of a file, or TOML.
    """
    if isinstance(scenarios, str):
        is_toml = scenarios.endswith(".toml") or "\n" in scenarios or "=" in scenarios
        scenarios = Scenario.from_toml(scenarios) if is_toml else Scenario.example(scenarios)
    if isinstance(scenarios, Scenario):
        fixed = scenarios
        return lambda rng: fixed, (fixed,)
    if callable(scenarios):
        return scenarios, (scenarios.first,) if isinstance(scenarios, Draws) else ()
    several = tuple(scenarios)
    if not several or not all(isinstance(scenario, Scenario) for scenario in several):
        raise ScenarioError("scenario: needs a Scenario, several Scenarios, or a function of a random generator")
    return lambda rng: several[int(rng.integers(len(several)))], several
