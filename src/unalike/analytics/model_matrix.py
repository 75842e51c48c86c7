"""Model matrices: the columns of numbers that a formula makes of a table, the same at every client.

Words become indicator columns, and which words there are must be agreed before: nodes tell the words that
they hold often enough, and everyone codes by the union. `center` and `scale` use the mean and deviation of
all clients' rows. A :class:`Plan` is what is agreed; a node needs nothing else to make its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.extras import import_extra
from ..data import Federation, Split
from ..data.tables import Table, Tables
from ..errors import ConfigError, DataError
from ..typing import Array, Document, Fields, Float64s
from .design import Design
from .formula import parse_formula, read_terms
from .statistics import LocalNodes, Nodes, agree_on_columns, ask_moments
from .statistics.answers import words_in

MissingValues = Literal["drop", "refuse"]
MISSING = ("drop", "refuse")
MOST_COLUMNS = 10_000
_NO_RESPONSE = "no_response_of_new_rows"


@dataclass(frozen=True)
class Plan:
    """What all clients agree on: the formula, the words of every factor, moments, and columns."""

    formula: str
    words: Mapping[str, tuple[str, ...]]
    moments: Mapping[str, tuple[float, float]]
    terms: tuple[str, ...]
    varying: tuple[str, ...] = ()
    """The terms whose coefficients differ between clients."""
    missing: MissingValues = "drop"

    def write(self) -> Document:
        """For JSON."""
        return asdict(self)

    @classmethod
    def read(cls, given: Fields) -> Plan:
        """From what :meth:`write` wrote, by somebody who need not be honest."""
        try:
            words = {str(name): tuple(str(w) for w in found) for name, found in given["words"].items()}
            moments = {str(name): (float(mean), float(std)) for name, (mean, std) in given["moments"].items()}
            terms, varying = (tuple(str(term) for term in given[which]) for which in ("terms", "varying"))
            plan = cls(str(given["formula"]), words, moments, terms, varying, given["missing"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the plan of an analysis cannot be read ({error!r}).") from None
        if plan.missing not in MISSING or len(plan.terms) > MOST_COLUMNS:
            raise DataError("the plan of an analysis asks for something impossible.")
        return plan


class Matrix(NamedTuple):
    """One client's rows."""

    x: Float64s
    y: Float64s
    dropped: int
    """Rows that were left out because of a missing value."""


def plan_design(nodes: Nodes, text: str, missing: MissingValues = "drop") -> Plan:
    """Agree with all nodes on what a formula means."""
    formula = parse_formula(text)
    if missing not in MISSING:
        raise ConfigError(f"missing must be 'drop' or 'refuse', got {missing!r}.")
    agreed = agree_on_columns(nodes, sorted(formula.columns), sorted(formula.factors))
    words = {name: tuple(found) for name, found in agreed.words.items()}
    for name, known in words.items():
        if len(known) < 2:
            raise DataError(
                f"column {name!r} of {text!r} has {len(known) or 'no'} word that is told of; a factor needs "
                "two."
            )
    moments = ask_moments(nodes, sorted(formula.standardized))
    pairs = zip(moments.mean.tolist(), moments.std.tolist(), strict=True)
    known_moments = dict(zip(moments.names, pairs, strict=True))
    plan = Plan(text, words, known_moments, (), (), missing)
    terms = _name_columns(plan, formula.fixed, agreed.kinds)
    if formula.varying is None:
        return Plan(text, words, known_moments, terms, (), missing)
    varying = _name_columns(plan, f"{formula.response} ~ {formula.varying}", agreed.kinds)
    strange = [name for name in varying if name not in terms]
    if strange:
        raise ConfigError(f"{', '.join(strange)} in the bars of {text!r} is no column outside them.")
    return Plan(text, words, known_moments, terms, varying, missing)


def complete_rows(table: Table, plan: Plan) -> Array:
    """Which rows have a value that was agreed on in every column of the formula."""
    return ~_encode_columns(table, parse_formula(plan.formula).columns, plan)[1]


def matrix_of(table: Table, plan: Plan) -> Matrix:
    """One client's rows as the plan says; rows with missing values are dropped and counted, or refused."""
    formula = parse_formula(plan.formula)
    for name in sorted(formula.columns):
        if name not in table:
            raise DataError(f"there is no column {name!r}.")
    columns, missing = _encode_columns(table, formula.columns, plan)
    if missing.any() and plan.missing == "refuse":
        used = ", ".join(sorted(formula.columns))
        raise DataError(f"{int(missing.sum())} rows have missing values in {used}.")
    kept = {name: column[~missing] for name, column in columns.items()}
    x, y, names = _evaluate(kept, plan, formula.fixed)
    if names != plan.terms:
        raise DataError(f"the columns {', '.join(names)} are not those agreed on: {', '.join(plan.terms)}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError(f"{plan.formula!r} gives numbers that are not finite, such as the log of 0.")
    return Matrix(x, y, int(missing.sum()))


def factor_columns(table: Table, plan: Plan, factors: str) -> Float64s:
    """The columns of some factors of a plan's formula, such as `sex:log(age)`, for rows that miss nothing."""
    formula = parse_formula(plan.formula)
    columns, _ = _encode_columns(table, formula.columns, plan)
    return _evaluate(columns, plan, f"{formula.response} ~ 0 + {factors}")[0]


def predictors_of(table: Table, plan: Plan) -> Float64s:
    """The columns of new rows, which need no response; NaN in a row with a missing value, with a word that
    was not agreed on, or whose numbers are not finite.

    >>> plan = Plan("log(y) ~ sex", {"sex": ("f", "m")}, {}, ("Intercept", "sex[T.m]"))
    >>> predictors_of(Table.of({"sex": ["m", "x", "f"]}), plan).tolist()
    [[1.0, 1.0], [nan, nan], [1.0, 0.0]]
    """
    right = parse_formula(plan.formula).fixed.split("~")[1].strip()
    needed = parse_formula(f"{_NO_RESPONSE} ~ {right}").columns - {_NO_RESPONSE}
    for name in sorted(needed):
        if name not in table:
            raise DataError(f"the new rows have no column {name!r}, which {plan.formula!r} needs.")
    columns, missing = _encode_columns(table, needed, plan)
    kept = {name: column[~missing] for name, column in columns.items()}
    response = {_NO_RESPONSE: np.zeros(int((~missing).sum()))}
    x = np.full((len(table), len(plan.terms)), np.nan)
    x[~missing] = _evaluate({**kept, **response}, plan, f"{_NO_RESPONSE} ~ {right}")[0]
    x[~np.isfinite(x).all(axis=1)] = np.nan
    return x


def why_no_rows(table: Table, plan: Plan) -> str:
    """Why a table has no row for a plan: a column without any value, or no row with all of them."""
    names = sorted(parse_formula(plan.formula).columns)
    empty = [name for name in names if _encode_columns(table, [name], plan)[1].all()]
    if empty:
        return f"column {', '.join(map(repr, empty))} has no value in any row"
    return f"no row has a value in all of {', '.join(map(repr, names))}"


class PlannedMatrix(NamedTuple):
    """The rows of all clients, and how they were made."""

    design: Design
    plan: Plan
    dropped: dict[str, int]


def design_by_formula(
    tables: Tables, text: str, missing: MissingValues = "drop", minimum_cell_count: int = 1
) -> PlannedMatrix:
    """The design of tables that are here.

    >>> from unalike.data.tables import tables_of
    >>> tables = tables_of({"a": {"y": [1.0, 2.0], "sex": ["f", "m"]}, "b": {"y": [2.0], "sex": ["x"]}})
    >>> design, plan, dropped = design_by_formula(tables, "y ~ sex")
    >>> design.terms, design.client(1)[0].tolist()
    (('Intercept', 'sex[T.m]', 'sex[T.x]'), [[1.0, 0.0, 1.0]])
    """
    plan = plan_design(LocalNodes(tables, minimum_cell_count), text, missing)
    made = {}
    for name, table in tables.items():
        try:
            made[name] = matrix_of(table, plan)
        except DataError as error:
            raise DataError(f"client {name!r}: {error}") from None
    kept = {name: matrix for name, matrix in made.items() if len(matrix.y)}
    if not kept:
        raise DataError(f"no client has a row without missing values in the columns of {text!r}.")
    return PlannedMatrix(
        as_design(kept, plan), plan, {name: matrix.dropped for name, matrix in made.items() if matrix.dropped}
    )


def as_design(matrices: Mapping[str, Matrix], plan: Plan) -> Design:
    """Rows of several clients as one design."""
    sizes = [len(matrix.y) for matrix in matrices.values()]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x, y = (np.concatenate([getattr(m, part) for m in matrices.values()]) for part in ("x", "y"))
    none = Split(x[:0], y[:0], np.zeros_like(offsets))
    rows = Federation(Split(x, y, offsets), none, none, None, tuple(matrices))
    response = parse_formula(plan.formula).response
    return Design(rows.with_importance("equal"), plan.terms, response, plan.varying)


def _encode_columns(table: Table, names: Collection[str], plan: Plan) -> tuple[dict[str, Array], Array]:
    """Columns of a table, words that were not agreed on being missing; and which rows miss something."""
    columns, missing = dict[str, Array](), np.zeros(len(table), bool)
    for name in sorted(names):
        if name in plan.words:
            column = words_in(table, name)
            missing |= ~np.isin(column, plan.words[name])
        else:
            column = table[name]
            if column.dtype != np.float64 and table.kind(name) == "words":
                raise DataError(f"column {name!r} is made of words here, but of numbers elsewhere.")
            column = column if column.dtype == np.float64 else np.full(len(table), np.nan)
            missing |= ~np.isfinite(column)
        columns[name] = column
    return columns, missing


def _name_columns(plan: Plan, text: str, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """What the columns of a formula will be called, from one made-up row."""
    made_up = {name: np.array([plan.words[name][0]]) if name in plan.words else np.ones(1) for name in kinds}
    return _evaluate(made_up, plan, text)[2]


def _evaluate(
    columns: Mapping[str, Array], plan: Plan, text: str
) -> tuple[Float64s, Float64s, tuple[str, ...]]:
    """The matrix and response of a formula that :func:`parse_formula` has checked."""
    formulaic = import_extra("formulaic", "analytics", "reading formulas", ConfigError)
    import pandas

    # Whatever is in backticks is looked up, never computed, whether or not the parser would compute it.
    if unknown := parse_formula(text).columns - set(columns):
        raise ConfigError(f"{text!r} names {', '.join(map(repr, sorted(unknown)))}, which is no column.")
    frame = pandas.DataFrame(
        {
            name: pandas.Categorical(column, categories=list(plan.words[name]))
            if name in plan.words
            else column
            for name, column in columns.items()
        }
    )
    response = text.split("~")[0].strip()
    try:
        with np.errstate(all="ignore"):
            made = read_terms(text).get_model_matrix(frame, na_action="ignore", context=_functions(plan))
    except formulaic.errors.FormulaicError as error:
        said = str(error).splitlines()[0]
        raise ConfigError(f"{text!r} cannot be computed ({said}).") from None
    except (
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
    ):  # of functions given too much or too little
        raise ConfigError(f"{text!r} cannot be computed; is every function given one column?") from None
    y = np.asarray(made.lhs, np.float64)
    if response in plan.words:
        if len(plan.words[response]) != 2:
            raise DataError(f"the response {response!r} must be a number or one of two words.")
        y = y[:, -1:]
    x = np.asarray(made.rhs, np.float64).reshape(len(frame), len(made.rhs.columns))
    return x, y.reshape(len(frame)), tuple(str(name) for name in made.rhs.columns)


def _functions(plan: Plan) -> Document:
    """What may be called in a formula."""

    def center(column: Any) -> Any:
        return column - plan.moments[column.name][0]

    def scale(column: Any) -> Any:
        mean, std = plan.moments[column.name]
        return (column - mean) / (std if std > 0 else 1.0)

    plain = {"log": np.log, "log10": np.log10, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs}
    return {**plain, "center": center, "scale": scale, "I": lambda values: values}
