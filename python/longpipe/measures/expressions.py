"""Arithmetic expressions over named measures, with units: "bulk.throughput / (bulk.throughput + call.throughput)".

The text is divided into tokens, names and quantities are replaced by placeholders, and Python's `ast` parses the rest.
Only the operations listed here are evaluated; length and number of operations are bounded.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.measures.dimensions import NUMBER, Dimension, same_dimension, text_of, unit_named, unit_pattern
from longpipe.measures.named import QUANTITIES

# A number, or an array that contains one number per run.
Numbers = float | npt.NDArray[np.float64]

# Characters that make a text an expression unless it is the name of a column.
OPERATORS: Final = frozenset("+-*/(")

MAX_CHARACTERS: Final = 1000
MAX_OPERATIONS: Final = 200
SYNTAX: Final = (
    "accepts measures, numbers with units such as 60 ms, + - * / **, parentheses, and min, max, mean, sum, abs, sqrt, "
    "log, "
    "log2, log10, exp"
)

# The name of a flow or port, which may be a shell pattern after "flow:" and similar prefixes, ends at the first
# quantity.
_NAME: Final = r"[A-Za-z_]\w*(?:[.-]\w+)*?"
_PATTERN: Final = r"[\w.*?!\[\]>:-]"
_KNOWN: Final = rf"\.(?:{'|'.join(QUANTITIES)})(?![\w.])"
# Any other word in a quantity's position, to be named in the error message.
_UNKNOWN: Final = r"\.[a-z]\w*(?![\w.])"
_TOKENS: Final = re.compile(
    rf"""\s*(?:
    (?P<quoted>"[^"]*"|'[^']*')
    | (?P<measure>[a-z]+:{_PATTERN}+?{_KNOWN} | {_NAME}(?:->{_NAME})?{_KNOWN}
        | [a-z]+:{_PATTERN}+?{_UNKNOWN} | {_NAME}(?:->{_NAME})?{_UNKNOWN})
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?:\s*(?P<unit>{unit_pattern()})(?![\w(]))?
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign><=|>=|==|!=|\*\*|[-+*/(),<>\u2264\u2265])
    )""",
    re.VERBOSE,
)
_SIGNS: Final = {"\N{LESS-THAN OR EQUAL TO}": "<=", "\N{GREATER-THAN OR EQUAL TO}": ">="}
# Operators of a comparison, with their functions, which return False for NaN.
COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_ADDITIVE: Final[Mapping[type[ast.operator], Callable[..., Any]]] = {ast.Add: np.add, ast.Sub: np.subtract}
_EXTREMES: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    "min": lambda values: _reduced(np.minimum, values),
    "max": lambda values: _reduced(np.maximum, values),
    "sum": lambda values: _reduced(np.add, values),
    "mean": lambda values: _reduced(np.add, values) / len(values),
}
_FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "abs": np.abs, "sqrt": np.sqrt, "log": np.log, "log2": np.log2, "log10": np.log10, "exp": np.exp,
}  # fmt: skip


def _reduced(operation: Callable[..., Any], values: Sequence[Any]) -> Any:  # noqa: ANN401 - numbers or arrays
    result = values[0]
    for value in values[1:]:
        result = operation(result, value)
    return result


@dataclass(frozen=True)
class _Given:
    """A number given in the text, in base units."""

    value: float
    dimension: Dimension


@dataclass(frozen=True, eq=False)
class Expression:
    """A parsed expression: its text and the names that it uses, in order of appearance."""

    text: str
    names: tuple[str, ...]
    _tree: ast.expr
    _leaves: Mapping[str, str | _Given]

    def value(self, of: Mapping[str, Numbers]) -> Any:  # noqa: ANN401 - a number or an array, as in `of`
        """Returns the value, given the values of its names in base units; division by zero gives inf or NaN."""
        with np.errstate(all="ignore"):
            return _value(self._tree, self._leaves, of)

    def dimension(self, of: Mapping[str, Dimension], field: str = "measure") -> Dimension:
        """Returns the dimension, given the dimensions of its names.

        Raises ScenarioError for a sum of different dimensions.
        """
        return _Dimensions(self.text, field, self._leaves, of).of(self._tree)

    @property
    def constant(self) -> bool:
        """Whether the expression uses no names."""
        return not self.names


def parse(text: str, field: str = "measure") -> Expression:
    """Parses an expression; raises a ScenarioError that names `field` if the text is too long or cannot be parsed."""
    source, leaves = _with_placeholders(text, field)
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ScenarioError(f"{field}: {_cited(text)} is not an expression; {SYNTAX}") from None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if len(nodes) > MAX_OPERATIONS:
        raise ScenarioError(f"{field}: {_cited(text)} has {len(nodes)} operations; needs at most {MAX_OPERATIONS}")
    for node in nodes:
        _check(node, text, field, leaves)
    names = dict.fromkeys(leaf for leaf in leaves.values() if isinstance(leaf, str))
    return Expression(text, tuple(names), tree, leaves)


def split_comparison(text: str, field: str) -> tuple[str, str, str]:
    """Splits a comparison such as "call.p95 < 60 ms" into its sides and its operator.

    Raises ScenarioError for other text.
    """
    signs = [match for match in _tokens(text, field) if _sign(match) in ("<", "<=", ">", ">=", "==", "!=")]
    if len(signs) != 1 or (sign := _sign(signs[0])) not in COMPARISONS:
        raise ScenarioError(
            f"{field}: {_cited(text)}; needs one comparison with <, <=, > or >=, as in call.p95 < 60 ms"
        )
    return text[: signs[0].start()].strip(), sign, text[signs[0].end() :].strip()


def _tokens(text: str, field: str) -> Iterator[re.Match[str]]:
    if len(text) > MAX_CHARACTERS:
        raise ScenarioError(f"{field}: an expression of {len(text)} characters; needs at most {MAX_CHARACTERS}")
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKENS.match(text, position)
        if match is None:
            is_pattern = position > 0 and text[position - 1] in "*?]"
            hint = "a pattern of names needs a prefix, as in flow:up*.throughput; " if is_pattern else ""
            raise ScenarioError(
                f"{field}: {_cited(text)}: cannot read {_cited(text[position:].strip())}; {hint}{SYNTAX}"
            )
        position = match.end()
        yield match


def _sign(match: re.Match[str]) -> str:
    return _SIGNS.get(match["sign"], match["sign"]) if match["sign"] else ""


def _with_placeholders(text: str, field: str) -> tuple[str, dict[str, str | _Given]]:
    """Returns Python source with names and numbers replaced by `_0`, `_1` and so on, and the meaning of each."""
    parts: list[str] = []
    leaves: dict[str, str | _Given] = {}
    for match in _tokens(text, field):
        sign, word = _sign(match), match["word"]
        if sign in (*COMPARISONS, "==", "!="):
            raise ScenarioError(f"{field}: {_cited(text)} compares; needs a number, without {sign}")
        if sign or (word and text[match.end() :].lstrip().startswith("(")):
            parts.append(sign or word)
            continue
        leaf: str | _Given
        if match["number"]:
            factor, dimension = unit_named(match["unit"])
            value = float(match["number"]) * factor
            # Zero has no unit, as in max(0, x).
            leaf = _Given(value, None if value == 0 else dimension)
        else:
            leaf = match["quoted"][1:-1] if match["quoted"] else match["measure"] or word
        parts.append(f"_{len(leaves)}")
        leaves[parts[-1]] = leaf
    return " ".join(parts), leaves


def _check(node: ast.expr, text: str, field: str, leaves: Mapping[str, str | _Given]) -> None:
    """Raises ScenarioError for an operation that is not supported."""
    match node:
        case ast.Name():
            return
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            return
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            return
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in leaves:
            if name not in (*_FUNCTIONS, *_EXTREMES):
                raise ScenarioError(f"{field}: {_cited(text)}: {name!r}; {nearest(name, [*_EXTREMES, *_FUNCTIONS])}")
            if not args or any(isinstance(arg, ast.Starred) for arg in args) or (name in _FUNCTIONS and len(args) > 1):
                needs = "one argument" if name in _FUNCTIONS else "at least one argument"
                raise ScenarioError(f"{field}: {_cited(text)}: {name} has {len(args)} arguments; needs {needs}")
            return
    raise ScenarioError(f"{field}: {_cited(text)} is not an expression; {SYNTAX}")


def _value(node: ast.expr, leaves: Mapping[str, str | _Given], of: Mapping[str, Numbers]) -> Any:  # noqa: ANN401
    match node:
        case ast.Name(id=name):
            leaf = leaves[name]
            number = of[leaf] if isinstance(leaf, str) else leaf.value
            return np.float64(number) if isinstance(number, float | int) else number
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, leaves, of)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.Call(func=ast.Name(id=name), args=args):
            values = [_value(arg, leaves, of) for arg in args]
            return _EXTREMES[name](values) if name in _EXTREMES else _FUNCTIONS[name](values[0])
        case ast.BinOp(left=left, op=op, right=right):
            first, other = _value(left, leaves, of), _value(right, leaves, of)
            if type(op) in _ADDITIVE:
                return _ADDITIVE[type(op)](first, other)
            operation = {ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power}[type(op)]
            return operation(first, other)
    raise AssertionError(ast.dump(node))


@dataclass(frozen=True)
class _Dimensions:
    """Dimensions of the parts of an expression."""

    text: str
    field: str
    leaves: Mapping[str, str | _Given]
    known: Mapping[str, Dimension]

    def of(self, node: ast.expr) -> Dimension:
        match node:
            case ast.Name(id=name):
                leaf = self.leaves[name]
                return self.known[leaf] if isinstance(leaf, str) else leaf.dimension
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._of_call(name, [self.of(arg) for arg in args])
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._raised(self.of(left), right)
            case ast.BinOp(left=left, op=op, right=right):
                first, other = self.of(left), self.of(right)
                if isinstance(op, ast.Add | ast.Sub):
                    return same_dimension([first, other], self.text, self.field)
                if first is None or other is None:
                    return None
                sign = 1 if isinstance(op, ast.Mult) else -1
                return (first[0] + sign * other[0], first[1] + sign * other[1])
        raise AssertionError(ast.dump(node))

    def _of_call(self, name: str, dimensions: Sequence[Dimension]) -> Dimension:
        """Returns the dimension of a function's value. Raises an error for an argument with an unsuitable one."""
        (first, *_) = dimensions
        if name in _EXTREMES:
            return same_dimension(dimensions, self.text, self.field)
        if name == "sqrt":
            return None if first is None else (first[0] / 2, first[1] / 2)
        if name == "abs":
            return first
        if name == "exp" and first not in (None, NUMBER):
            raise self._error(f"exp of {text_of(first)}; needs a number without unit")
        # The logarithm is that of the value in bits and seconds, and has no dimension.
        return NUMBER

    def _raised(self, base: Dimension, exponent: ast.expr) -> Dimension:
        """Returns the dimension of a power; an exponent has to be a number."""
        if self.of(exponent) not in (None, NUMBER):
            raise self._error("an exponent with a unit; needs a number")
        if base is None or base == NUMBER:
            return base
        try:
            power = float(_value(exponent, self.leaves, {}))
        except KeyError:
            raise self._error(f"{text_of(base)} to the power of a measure; needs a number as exponent") from None
        return (base[0] * power, base[1] * power)

    def _error(self, problem: str) -> ScenarioError:
        return ScenarioError(f"{self.field}: {_cited(self.text)}: {problem}")


def _cited(text: str) -> str:
    return repr(shortened(text, 80))
