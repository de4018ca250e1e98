"""Python between %{ and }%: assertions about `tcp_info`, and definitions of named constants."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from longpipe_evidence.validate.packetdrill.outcome import DiffersError, NotUnderstoodError

# States of Linux's sender (`enum tcp_ca_state`).
STATES: Final = {
    "TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4,
}  # fmt: skip
FIELD: Final = "tcpi_"

_OPERATORS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda value, values: value in values, ast.NotIn: lambda value, values: value not in values,
}  # fmt: skip
# Maximum length of a block of code [characters], largest integer of its results, and maximum length of a quoted
# expression.
_MAX_LETTERS: Final = 10_000
_LARGEST: Final = 2**128
_SHOWN: Final = 100


class Notes:
    """Names defined by a script's code, and assertions that this runner cannot check."""

    def __init__(self) -> None:
        self.named: dict[str, Any] = dict(STATES)
        self.unchecked = 0
        self.unknown: dict[str, None] = {}

    def run(self, text: str, fields: Mapping[str, int], line: int) -> None:
        """Checks assertions. Raises DiffersError if one fails, and NotUnderstoodError for any other code."""
        try:
            if len(text) > _MAX_LETTERS:
                raise ValueError(text)
            statements = ast.parse("\n".join(row.strip() for row in text.splitlines())).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NotUnderstoodError(" ".join(text.split()), line) from None
        self.named.update({FIELD + name: value for name, value in fields.items()})
        for statement in statements:
            self._run(statement, line + statement.lineno - 1)

    def _run(self, statement: ast.stmt, line: int) -> None:
        """Executes one statement of a script's Python code."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.named[name] = self._value(value, line)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                sum_ = ast.BinOp(ast.Name(name, ast.Load()), op, value)
                self.named[name] = self._value(ast.fix_missing_locations(ast.copy_location(sum_, statement)), line)
            case ast.Assert(test=test):
                self._check(test, line)
            case _:
                raise NotUnderstoodError(ast.unparse(statement), line)

    def _check(self, test: ast.expr, line: int) -> None:
        fields = sorted({node.id for node in ast.walk(test) if isinstance(node, ast.Name) and FIELD in node.id})
        if missing := [name for name in fields if name not in self.named]:
            self.unchecked += 1
            self.unknown.update(dict.fromkeys(missing))
        elif not self._value(test, line):
            values = ", ".join(f"{name} is {self.named[name]}" for name in fields)
            raise DiffersError(f"{ast.unparse(test)}; {values}", line)

    def _value(self, expression: ast.expr, line: int) -> Any:  # noqa: ANN401 - a result of any type
        """Returns the value of an expression. Raises NotUnderstoodError if it uses unknown names."""
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if names - self.named.keys():
            raise NotUnderstoodError(ast.unparse(expression), line)
        try:
            return self._evaluated(expression)
        except _PartError:
            raise NotUnderstoodError(ast.unparse(expression), line) from None
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise NotUnderstoodError(f"{ast.unparse(expression)[:_SHOWN]}: {error}", line) from None

    def _evaluated(self, part: ast.expr) -> Any:  # noqa: ANN401 - as above
        """Returns the value of a part of an expression, which consists of numbers, names, operators and tuples."""
        match part:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name):
                return self.named[name]
            case ast.Tuple(elts=elements):
                return tuple(map(self._evaluated, elements))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self._evaluated(operand))
            case ast.BoolOp(op=op, values=values):
                # As in Python, the result is the first operand that decides, or otherwise the last one.
                operand_value: Any = None
                for operand in values:
                    operand_value = self._evaluated(operand)
                    if bool(operand_value) == isinstance(op, ast.Or):
                        break
                return operand_value
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                # Python's chained comparison: a < b < c is a < b and b < c.
                operands = list(map(self._evaluated, (left, *comparators)))
                return all(_OPERATORS[type(op)](*pair) for op, pair in zip(ops, pairwise(operands), strict=True))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _bounded(op, self._evaluated(left), self._evaluated(right))
        raise _PartError


class _PartError(Exception):
    """An expression has a part that is neither a number, a name, an operator nor a tuple."""


def _bounded(op: ast.operator, left: Any, right: Any) -> int | float:  # noqa: ANN401 - a result of any type
    """Returns the result of an operator. Raises TypeError for sequences, and ValueError for a large result."""
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise TypeError("an operand is no number")
    value: int | float = _OPERATORS[type(op)](left, right)
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError("more than 128 bits")
    return value
