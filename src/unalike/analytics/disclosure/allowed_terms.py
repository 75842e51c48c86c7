"""Allowed formula terms: an allow-list, checked at the node.

Columns, `C(column)`, `center`, `scale`, `log`, `log10` and `sqrt` of a column, `I(column ** 2)` and
`I(column ** 3)`, and interactions of up to three of them. No free expression:
`I(exp(-1000 * (age - 57) ** 2))` would be the indicator of one person. Formulas
about your own tables are not restricted.
"""

from __future__ import annotations

import ast

from ..formula import Formula, factor_expressions
from .policy import DisclosureError

OF_ONE_COLUMN = ("C", "center", "scale", "log", "log10", "sqrt")
HIGHEST_POWER = 3
MOST_FACTORS = 3
"""Factors of an interaction."""


def check_terms(formula: Formula) -> None:
    """Raise where a formula holds a term that is not on the allow-list."""
    for factors in factor_expressions(formula):
        if len(factors) > MOST_FACTORS:
            raise DisclosureError(
                f"this node answers interactions of at most {MOST_FACTORS} factors, and "
                f"{':'.join(factors)!r} has {len(factors)}; leave some out."
            )
        for expression in factors:
            if not _is_allowed(expression):
                raise DisclosureError(
                    f"this node answers no free expression such as {expression!r} (allow-list of terms); use "
                    f"columns, {', '.join(OF_ONE_COLUMN)} of a column, I(column ** 2) and interactions."
                )


def _is_allowed(expression: str) -> bool:
    try:
        body = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return True  # a column in backticks
    if isinstance(body, ast.Name):
        return True
    if not (isinstance(body, ast.Call) and isinstance(body.func, ast.Name)) or body.keywords:
        return False
    if len(body.args) != 1:
        return False
    name, argument = body.func.id, body.args[0]
    return _is_power(argument) if name == "I" else name in OF_ONE_COLUMN and isinstance(argument, ast.Name)


def _is_power(node: ast.expr) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Name)):
        return False
    exponent = node.right.value if isinstance(node.right, ast.Constant) else None
    return type(exponent) is int and 2 <= exponent <= HIGHEST_POWER
