"""Python between %{ and }%: assertions about `tcp_info`, and definitions of named constants."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from longpipe.validate.packetdrill.outcome import DiffersError, NotUnderstoodError

# States of Linux's sender (`enum tcp_ca_state`).
STATES: Final = {
    "TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4,
}  # fmt: skip
FIELD: Final = "tcpi_"

_PARTS: Final = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Tuple,
    ast.cmpop, ast.boolop, ast.unaryop, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd,
    ast.BitOr,
)  # fmt: skip
# Limits of one block of code and of its result.
_MOST_LETTERS: Final = 10_000
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
            if len(text) > _MOST_LETTERS:
                raise ValueError(text)
            statements = ast.parse("\n".join(row.strip() for row in text.splitlines())).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NotUnderstoodError(" ".join(text.split()), line) from None
        self.named.update({FIELD + name: value for name, value in fields.items()})
        for statement in statements:
            self._run(statement, line + statement.lineno - 1)

    def _run(self, statement: ast.stmt, line: int) -> None:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.named[name] = self._value(value, line)
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                sum_ = ast.BinOp(ast.Name(name, ast.Load()), operator, value)
                self.named[name] = self._value(ast.fix_missing_locations(ast.copy_location(sum_, statement)), line)
            case ast.Assert(test=test):
                self._check(test, line)
            case _:
                raise NotUnderstoodError(ast.unparse(statement), line)

    def _check(self, test: ast.expr, line: int) -> None:
        asked = sorted({node.id for node in ast.walk(test) if isinstance(node, ast.Name) and FIELD in node.id})
        if missing := [name for name in asked if name not in self.named]:
            self.unchecked += 1
            self.unknown.update(dict.fromkeys(missing))
        elif not self._value(test, line):
            held = ", ".join(f"{name} is {self.named[name]}" for name in asked)
            raise DiffersError(f"{ast.unparse(test)}; {held}", line)

    def _value(self, expression: ast.expr, line: int) -> Any:  # noqa: ANN401 - a result of any type
        known = all(isinstance(node, _PARTS) and _is_number(node) for node in ast.walk(expression))
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if not known or names - self.named.keys():
            raise NotUnderstoodError(ast.unparse(expression), line)
        try:
            # This is safe, because the expression consists only of numbers, names and operators.
            code = compile(ast.Expression(expression), "script", "eval")
            found = eval(code, {"__builtins__": {}}, self.named)  # noqa: S307
        except (ArithmeticError, TypeError, ValueError, RecursionError, MemoryError) as error:
            raise NotUnderstoodError(f"{ast.unparse(expression)[:_SHOWN]}: {error}", line) from None
        if isinstance(found, int) and abs(found) > _LARGEST:
            raise NotUnderstoodError(f"{ast.unparse(expression)[:_SHOWN]}: more than 128 bits", line)
        return found


def _is_number(node: ast.AST) -> bool:
    """Returns whether a part of an expression is not a constant, or is a number or a truth value."""
    return not isinstance(node, ast.Constant) or isinstance(node.value, int | float)
