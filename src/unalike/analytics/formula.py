"""Formulas such as `y ~ age + C(sex) + (1 | client)`: parsed, never executed.

Formulas are those of Wilkinson and Rogers ("Symbolic Description of Factorial Models", 1973), parsed by
`formulaic`; the part in bars, which coefficients differ between clients, is ours. A node may be sent a
formula by somebody else, so a formula is only ever made of column names, numbers, arithmetic and the few
functions of `FUNCTIONS`; everything else is refused before anything is computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..core.extras import import_extra
from ..errors import ConfigError
from .formula_size import check_size

CLIENT = "client"
"""What clients are called in a formula."""
FUNCTIONS = ("C", "log", "log10", "exp", "sqrt", "abs", "center", "scale", "I")
AGREED = ("center", "scale")
"""Functions that need the mean and standard deviation of all clients' rows."""
_NODES = (
    *(ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.List),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.keyword),
)
_LONGEST = 2_000
_DOT, _QUOTED = re.compile(r"(?<![\w.)])\.(?![\w.])"), re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_MARK = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True)
class Formula:
    """A response, terms that all clients share, and which of them differ between clients.

    >>> formula = parse_formula("wage ~ age + C(sex) + (1 + age | client)")
    >>> formula.fixed, formula.varying
    ('wage ~ age + C(sex)', '1 + age')
    >>> sorted(formula.columns), sorted(formula.factors)
    (['age', 'sex', 'wage'], ['sex'])
    """

    text: str
    fixed: str
    """The formula without the part in bars."""
    varying: str | None
    """What is before the bar, or None."""
    columns: frozenset[str]
    factors: frozenset[str]
    """Columns that are said to be words, by C()."""
    standardized: frozenset[str]
    """Columns of which the mean and standard deviation must be agreed."""
    response: str
    """What is explained, as it is written."""


def parse_formula(text: str) -> Formula:
    """Read a formula; a mistake is one sentence with its position."""
    if len(text) > _LONGEST:
        raise ConfigError(f"a formula has at most {_LONGEST} characters.")
    return _formula_of(text)


@lru_cache(maxsize=64)
def _formula_of(text: str) -> Formula:
    """Read once, though choosing an analysis, planning it and every client's rows ask for it."""
    if text.count("~") != 1 or not text.split("~")[0].strip():
        raise ConfigError(
            f"the formula {text!r} must have the form RESPONSE ~ TERMS, such as 'y ~ age + C(sex)'."
        )
    fixed, varying = _without_bars(text)
    parsed = read_terms(fixed)
    names = {name: part for part in (parsed.lhs, parsed.rhs) for name in _expressions(part)}
    trees = {name: _check_expression(name, text) for name in names}
    columns = {column for name, tree in trees.items() for column in _columns(name, tree)}
    if varying is not None:
        _check_varying(varying, set(trees), text)
    response = list(_expressions(parsed.lhs))
    if len(response) != 1:
        raise ConfigError(f"the formula {text!r} must have one response before the ~.")
    if (tree := trees[response[0]]) is not None and "C" in map(_name, _calls(tree)):
        raise ConfigError(
            f"{response[0]!r} cannot be the response of {text!r}; C() is for terms. A response is a number "
            "or one of two words: write the name of its column alone."
        )
    calls = [call for tree in trees.values() if tree is not None for call in _calls(tree)]
    factors = {_argument(call, text) for call in calls if _name(call) == "C"}
    agreed = {_argument(call, text) for call in calls if _name(call) in AGREED}
    return Formula(
        text, fixed, varying, frozenset(columns), frozenset(factors), frozenset(agreed), response[0]
    )


def factor_expressions(formula: Formula) -> list[list[str]]:
    """The factors of every term as they are written, the response first."""
    parsed = read_terms(formula.fixed)
    return [
        [factor.expr for factor in term.factors if factor.eval_method.value != "literal"]
        for part in (parsed.lhs, parsed.rhs)
        for term in part
    ]


def columns_in(expression: str) -> set[str]:
    """The columns in a factor of a formula that was read."""
    return _columns(expression, _check_expression(expression, expression)) or {expression}


def _without_bars(text: str) -> tuple[str, str | None]:
    """The formula without `(what | client)`, and what is before the bar."""
    bars = [place for place, letter in enumerate(text) if letter == "|" and text[place - 1] != "|"]
    if not bars:
        return text.strip(), None
    if len(bars) > 1:
        raise ConfigError(f"position {bars[1] + 1} of {text!r}: only one part in bars is possible.")
    first, last = _parentheses_around(text, bars[0])
    what, whose = text[first + 1 : bars[0]], text[bars[0] : last].lstrip("|")
    if whose.strip() != CLIENT:
        raise ConfigError(
            f"position {bars[0] + 2} of {text!r}: coefficients can differ between {CLIENT}s only."
        )
    before, after = text[:first].rstrip(), text[last + 1 :].strip()
    rest = f"{before.removesuffix('+').rstrip()} {after}".strip()
    rest = f"{rest} 1" if rest.endswith("~") else re.sub(r"~\s*\+", "~ ", rest)
    return rest, what.strip() or "1"


def _parentheses_around(text: str, place: int) -> tuple[int, int]:
    """Where the parentheses around a bar open and close."""
    first, last = _find_unmatched(text[:place][::-1], ")", "("), _find_unmatched(text[place + 1 :], "(", ")")
    if first is None or last is None:
        raise ConfigError(
            f"position {place + 1} of {text!r}: write what differs between clients in parentheses, such as "
            f"(1 | {CLIENT})."
        )
    return place - 1 - first, place + 1 + last


def _find_unmatched(text: str, opening: str, closing: str) -> int | None:
    """The place of the first `closing` that nothing before it opens."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == opening) - (letter == closing)
        if depth < 0:
            return place
    return None


@lru_cache(maxsize=64)
def read_terms(text: str) -> Any:
    """A formula without bars, as formulaic reads it."""
    formulaic = import_extra("formulaic", "analytics", "reading formulas", ConfigError)
    if _DOT.search(_QUOTED.sub("", text)):
        raise ConfigError(f"{text!r}: '.' for all other columns cannot be used; name the columns.")
    try:
        check_size(formulaic.parser.DefaultFormulaParser().get_ast(text), text)
        parsed = formulaic.Formula(text)
    except formulaic.errors.FormulaicError as error:
        raise ConfigError(_with_position(text, str(error))) from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # of expressions that it parses as Python
        raise ConfigError(f"the formula {text!r} holds something that cannot be used as a term.") from None
    if not hasattr(parsed, "lhs") or isinstance(parsed.rhs, tuple):
        raise ConfigError(f"the formula {text!r} must have the form RESPONSE ~ TERMS.")
    return parsed


def _with_position(text: str, said: str) -> str:
    """What the parser says, in one sentence; it marks the place in a copy of the formula."""
    first, *rest = [line for line in _MARK.sub("", said).splitlines() if line.strip()]
    marked = next((line for line in rest if "⧛" in line), "")
    where = f"position {marked.index('⧛') + 1} of " if marked else ""
    return f"{where}{text!r}: {first.rstrip('.').replace('`', chr(39))}."


def _expressions(part: Any) -> Iterator[str]:
    """The factors of all terms, as they are written; ones and zeros are intercepts."""
    for term in part:
        for factor in term.factors:
            if factor.eval_method.value != "literal":
                yield factor.expr


def _check_expression(expression: str, text: str) -> ast.Expression | None:
    """The tree of an expression that is safe to compute; None for the name of a column."""
    place = max(text.find(expression), 0) + 1
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        return None  # a name in backticks
    if isinstance(tree.body, ast.Name):
        return None
    words = {id(word) for call in _calls(tree) for word in _words_of(call)}
    for node in ast.walk(tree):
        known = not isinstance(node, ast.Call) or _name(node) in FUNCTIONS
        if not isinstance(node, _NODES) or not known or _is_endless(node) or _is_no_number(node, words):
            raise ConfigError(
                f"position {place} of {text!r}: {expression!r} cannot be used; a term is made of columns, "
                f"numbers, + - * / ** and {', '.join(FUNCTIONS)}."
            )
    return tree


def _is_endless(node: ast.AST) -> bool:
    """Whether a power of whole numbers could take a machine's time and memory: only columns have powers."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)):
        return False
    of_column = any(isinstance(inner, ast.Name) for inner in ast.walk(node.left))
    return not (of_column and isinstance(node.right, ast.Constant))


def _words_of(call: ast.Call) -> list[ast.AST]:
    """The words in C(column, levels=["a", "b"]), and their list: the only place where a term has any."""
    lists = [option.value for option in call.keywords if _name(call) == "C" and option.arg == "levels"]
    plain = [one for one in lists if isinstance(one, ast.List) and all(map(_is_constant, one.elts))]
    return [node for one in plain for node in (one, *one.elts)]


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | str)


def _is_no_number(node: ast.AST, words: set[int]) -> bool:
    """Whether a list or a constant that is not a number stands where a number belongs, or an option does that
    no function here has."""
    if id(node) in words:
        return False
    if isinstance(node, ast.keyword):
        return id(node.value) not in words
    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return isinstance(node, ast.List) or (isinstance(node, ast.Constant) and not number)


def _calls(tree: ast.Expression) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _columns(expression: str, tree: ast.Expression | None) -> set[str]:
    if tree is None:
        return {expression}
    functions = {id(call.func) for call in _calls(tree)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions}


def _argument(call: ast.Call, text: str) -> str:
    """The column in C(column) or scale(column)."""
    if not call.args or not isinstance(call.args[0], ast.Name):
        raise ConfigError(f"{_name(call)}() in {text!r} takes the name of a column.")
    return call.args[0].id


def _check_varying(varying: str, known: set[str], text: str) -> None:
    strange = [term for term in _expressions(read_terms(f"y ~ {varying}").rhs) if term not in known]
    if strange:
        raise ConfigError(
            f"{', '.join(strange)} differs between clients in {text!r} but is no term outside the bars."
        )
