"""Scenarios of episodes: one, several, or drawn from a distribution."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from longpipe.errors import ScenarioError
from longpipe.scenario import Scenario


@dataclass(frozen=True)
class Uniform:
    """Values from `low` to `high`, numbers or quantities of one unit, as in Uniform("6 Mbit/s", "48 Mbit/s")."""

    low: str | float
    high: str | float
    # Whether the logarithms of the values are uniformly distributed.
    log: bool = False

    def draw(self, rng: np.random.Generator) -> str | float:
        """Returns a value."""
        (low, unit), (high, other) = _parts(self.low), _parts(self.high)
        if unit != other or not low <= high or (self.log and low <= 0):
            raise ScenarioError(f"scenario: {self}; needs two quantities of one unit, the smaller one first")
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
    used.
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

    def __call__(self, rng: np.random.Generator) -> Scenario:
        """Returns the scenario of an episode."""
        return self._scenario(int(rng.integers(self._count)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._base, self._fields, self._count, self._seed)

    def _drawn(self, number: int) -> Scenario:
        rng = np.random.default_rng([self._seed, number])
        values = {
            field: of.draw(rng) if isinstance(of, Uniform) else of[int(rng.integers(len(of)))]
            for field, of in self._fields.items()
        }
        return self._base.with_(**values)


def _restored(base: Scenario, fields: Mapping[str, Sequence[object] | Uniform], count: int, seed: int) -> Draws:
    return Draws(base, fields, count=count, seed=seed)


Scenarios = Scenario | str | Sequence[Scenario] | Callable[[np.random.Generator], Scenario]


def drawing(scenarios: Scenarios) -> Callable[[np.random.Generator], Scenario]:
    """Returns a function that draws the scenario of an episode. A text is the name of an example or of a file."""
    if isinstance(scenarios, str):
        scenarios = Scenario.from_toml(scenarios) if scenarios.endswith(".toml") else Scenario.example(scenarios)
    if isinstance(scenarios, Scenario):
        one = scenarios
        return lambda rng: one
    if callable(scenarios):
        return scenarios
    several = tuple(scenarios)
    if not several or not all(isinstance(one, Scenario) for one in several):
        raise ScenarioError("scenario: needs a Scenario, several Scenarios, or a function of a random generator")
    return lambda rng: several[int(rng.integers(len(several)))]
