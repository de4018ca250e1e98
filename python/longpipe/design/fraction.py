"""Fractional two-level designs and their aliases.

R. Jain, The Art of Computer Systems Performance Analysis (Wiley 1991), chapter 19; G. E. P. Box and J. S. Hunter, The
2^(k-p) fractional factorial designs (Technometrics 3, 1961).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from longpipe.errors import ScenarioError, nearest

if TYPE_CHECKING:
    import pandas as pd

# A word is a set of factors as bits (first factor lowest) with a sign.
Word = tuple[int, int]

# Maximum number of generators; the number of words in the defining relation is 2 to this power.
MAX_GENERATORS: Final = 16


@dataclass(frozen=True)
class Fraction:
    """A fraction of a two-level design, in which some factors are generated as products of others.

    `generators` are written as "policy = tcp * buffer", or "= -tcp * buffer" for the other half. Raises ScenarioError
    for names that are not factors, for a factor generated twice or from itself, and for main effects that would be
    aliased.
    """

    factors: tuple[str, ...]
    generators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.generators) > MAX_GENERATORS:
            raise ScenarioError(f"generators: {len(self.generators)}; needs at most {MAX_GENERATORS}")
        if self.generators and self.resolution < 3:
            first = min(self.relation, key=lambda word: word[0].bit_count())
            alike = " and ".join(self._names(first[0])) or "nothing"
            raise ScenarioError(f"generators: {alike} cannot be distinguished; needs products of two factors or more")

    @cached_property
    def _generated(self) -> dict[str, Word]:
        """Generated factors with the products that define them."""
        generated: dict[str, Word] = {}
        for text in self.generators:
            name, equals, right = (part.strip() for part in text.partition("="))
            if not (name and equals and right):
                raise ScenarioError(f"generators: {text!r}; accepts 'factor = factor * factor'")
            if name in generated:
                raise ScenarioError(f"generators: {name!r} is generated twice; needs each factor once")
            if name not in self.factors:
                raise ScenarioError(f"generators: {text!r} names {name!r}; {nearest(name, self.factors)}")
            word = parse_word("generators", text, right.removeprefix("-"), self.factors)
            generated[name] = (word, -1 if right.startswith("-") else 1)
        for word, _ in generated.values():
            for other in self._names(word):
                if other in generated:
                    raise ScenarioError(f"generators: a product uses {other!r}, which is generated; needs free factors")
        return generated

    @cached_property
    def relation(self) -> tuple[Word, ...]:
        """The defining relation: all products of factors that are constant over the fraction, with their signs."""
        words: list[Word] = [(0, 1)]
        for name, (word, sign) in self._generated.items():
            generator_word = word | 1 << self.factors.index(name)
            words += [(other ^ generator_word, s * sign) for other, s in words]
        return tuple(words[1:])

    @property
    def resolution(self) -> int:
        """Length of the shortest word of the defining relation; number of factors plus one for a full design.

        Main effects are not aliased with interactions of fewer than resolution - 1 factors.
        """
        return min((word.bit_count() for word, _ in self.relation), default=len(self.factors) + 1)

    def points(self) -> list[tuple[int, ...]]:
        """Signs (-1, +1) of the factors at each point, the first free factor varying fastest."""
        free = [name for name in self.factors if name not in self._generated]
        rows = []
        for signs in product((-1, 1), repeat=len(free)):
            point = dict(zip(free, reversed(signs), strict=True))
            for name, (word, sign) in self._generated.items():
                point[name] = sign
                for other in self._names(word):
                    point[name] *= point[other]
            rows.append(tuple(point[name] for name in self.factors))
        return rows

    def alias_structure(self, order: int = 2) -> pd.DataFrame:
        """Returns the alias structure: one row for each alias class whose shortest effect has up to `order` factors.

        Columns: `effect` ("tcp:buffer"), `aliases` (effects of up to `order` factors first, then longer ones; "-" marks
        an opposite sign), `clear` (whether there is no alias of up to `order` factors).
        """
        import pandas as pd

        rows = []
        for word in self.leaders(order):
            aliases = sorted(((word ^ w, s) for w, s in self.relation), key=lambda alias: _rank(alias[0]))
            texts = [("-" if sign < 0 else "") + self.name(alias) for alias, sign in aliases]
            clear = all(alias.bit_count() > order for alias, _ in aliases)
            rows.append((self.name(word), ", ".join(texts), clear))
        return pd.DataFrame(rows, columns=["effect", "aliases", "clear"])

    def leaders(self, order: int, without: Iterable[int] = ()) -> Iterator[int]:
        """Returns the shortest word of each alias class up to `order` factors, except classes with one in `without`."""
        taken = {0, *(word for word, _ in self.relation)}
        for lost in without:
            taken |= {lost, *(lost ^ word for word, _ in self.relation)}
        for size in range(1, order + 1):
            for places in combinations(range(len(self.factors)), size):
                word = sum(1 << bit for bit in places)
                if word not in taken:
                    taken |= {word, *(word ^ other for other, _ in self.relation)}
                    yield word

    def name(self, word: int) -> str:
        """Formats a word for tables."""
        return ":".join(self._names(word))

    def _names(self, word: int) -> list[str]:
        return [name for i, name in enumerate(self.factors) if word >> i & 1]


def parse_word(field: str, text: str, product_of: str, factors: Sequence[str]) -> int:
    """Parses a word such as "tcp * buffer"; raises ScenarioError, whose text starts with `field`."""
    word = 0
    for name in (part.strip() for part in product_of.split("*")):
        if name not in factors:
            raise ScenarioError(f"{field}: {text!r} names {name!r}; {nearest(name, factors)}")
        if word >> factors.index(name) & 1:
            raise ScenarioError(f"{field}: {text!r} names {name!r} twice; needs each factor once")
        word |= 1 << factors.index(name)
    return word


def products(words: Iterable[int]) -> list[int]:
    """Returns all products of non-empty subsets of these words."""
    combinations_ = [0]
    for word in words:
        combinations_ += [other ^ word for other in combinations_]
    return combinations_[1:]


def _rank(word: int) -> tuple[int, list[int]]:
    return word.bit_count(), [i for i in range(word.bit_length()) if word >> i & 1]
