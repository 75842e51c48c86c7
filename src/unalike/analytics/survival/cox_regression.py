"""Cox regression: hazard ratios over all clients' rows.

    h(t | x) = h_0(t) exp(x'b)

The coefficients, standard errors and likelihood are exactly those of all rows in one place, with Breslow's or
Efron's treatment of ties; or, stratified, those with a baseline hazard of every client's own. See
:mod:`.partial_likelihood` for what clients send.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from ...data import Federation
from ...data.survival import signed_times, times_and_events
from ...data.tables import Table, Tables, tables_of
from ...errors import ConfigError, DataError, unknown
from ...models import Model, Task
from ...models.losses import squared_error
from ...models.metrics.concordance import concordance_index
from ...typing import Float64s, Int64s, NamedColumns
from ..design import INTERCEPT, Design
from ..estimator import analysis_registry
from ..forecast import Forecast, select_predicted_rows
from ..formula import parse_formula
from ..inputs import EstimatorInput, as_given
from ..linear.newton_estimator import MOST_ROUNDS, NewtonEstimator
from ..model_matrix import MissingValues
from ..run_facts import run_facts
from ..statistics.answers import words_in
from ..summary import Cell, Summary, SummaryTable
from .partial_likelihood import PartialLikelihood, PooledLikelihood, StratifiedLikelihood, Ties

TIES = ("breslow", "efron")


@analysis_registry.add("cox")
@dataclass
class CoxModel(NewtonEstimator):
    """Cox regression of survival times over all clients' rows.

    The response is the time; `event` names the column that is 1 where the event came and 0 where somebody was
    only followed. A column of two words will do, too: the event is the second of them in the order of the
    alphabet, or the one that is named, as in `event="status=dead"`. Without `event`, times are signed: below
    zero for who was only followed.

    >>> rng = np.random.default_rng(0)
    >>> tables = {}
    >>> for k in range(3):
    ...     age = rng.normal(size=80)
    ...     time = rng.exponential(np.exp(-age))
    ...     tables[f"c{k}"] = {"age": age, "time": np.minimum(time, 2), "died": (time < 2).astype(float)}
    >>> fitted = CoxModel(event="died").fit(tables, "time ~ age")
    >>> bool(abs(fitted.params[0] - 1) < 0.3), bool(fitted.concordance().min() > 0.6)
    (True, True)
    """

    judged_by: ClassVar[str] = "concordance"

    event: str | None = None
    ties: Ties = "efron"
    stratified: bool = False

    event_value: str | None = field(init=False, default=None, repr=False)
    """Which column has which value where the event came."""

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Fit to a federation or design of signed times, or to tables with a formula."""
        if self.ties not in TIES:
            raise ConfigError(f"ties must be {' or '.join(TIES)}, not {self.ties!r}.")
        self.check_settings()
        self.check_formula(formula)
        self.event_value = None
        self.given = as_given(self._signed(data, formula), formula, missing, intercept=False)
        design = self.given.design
        objective = self._objective(design)
        self.minimize(objective, _score_task(objective.columns), **training)
        return self

    @property
    def terms(self) -> tuple[str, ...]:
        """What the coefficients belong to; an intercept would say nothing."""
        return tuple(self.given.design.terms[j] for j in self._columns)

    @property
    def llf(self) -> float:
        """The log of the partial likelihood."""
        return -self.value

    @property
    def events(self) -> int | None:
        """How many events all clients have seen; not told by stratified clients whose rows are elsewhere."""
        if not self.stratified:
            return round(float(np.asarray(self.run.state["others"]["events"]).sum()))
        design = self.given.design
        return int((design.federation.train.y > 0).sum()) if design.is_here else None

    @property
    def converged(self) -> bool:
        """Whether the likelihood has a maximum that was found: without one, a ratio grows without end."""
        return self.run.rounds < MOST_ROUNDS

    def hazard_ratios(self, level: float = 0.95) -> Float64s:
        """Hazard ratios with their intervals, one row per coefficient."""
        return np.exp(np.column_stack([self.params, self.conf_int(level)]))

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """The log of the hazard of new rows, against a row of zeros, with its standard error, which is
        infinite where a coefficient does not exist (`separated`)."""
        x = self.given.rows(new)[:, self._columns]
        variance = np.einsum("ij,jk,ik->i", x, np.nan_to_num(self.cov_params()), x)
        endless = (x[:, self.identified_.drift != 0] != 0).any(axis=1) & np.isfinite(x).all(axis=1)
        return Forecast(x @ self.identified_.reached, np.sqrt(np.where(endless, np.inf, variance)))

    def score(self, new: Any, y: Any, client: str | int | None = None) -> float:
        """The concordance index, over the rows that can be predicted.

        Args:
            new: Rows, as for :meth:`predict`.
            y: Signed times, below zero for who was only followed.
            client: Whose rows they are; it makes no difference.
        """
        predicted, signed = select_predicted_rows(self.predict(new, client), y)
        return concordance_index(*times_and_events(signed), predicted)

    def concordance(self) -> Float64s:
        """Every client's concordance index, found where its rows are; NaN where nobody can be compared."""
        design = self.given.design
        return np.array([self.score(*design.client(k)) for k in range(len(design))])

    def baseline_hazard(self) -> tuple[Float64s, Float64s]:
        """Event times and Breslow's cumulative hazard of a row of zeros, from the sums of the last round."""
        if self.stratified:
            raise ConfigError(
                "stratified clients have baseline hazards of their own, which they do not tell."
            )
        sums, objective = self.run.state["others"], self.run.setting.algorithm.objective  # type: ignore[attr-defined]
        each = np.asarray(sums["events"], np.float64) / np.asarray(sums["risk"][0], np.float64)
        return np.array(objective.times), np.cumsum(each)

    def summary(self, level: float = 0.95) -> Summary:
        """As statistics programs print it."""
        facts: tuple[tuple[str, Cell], ...] = (
            *run_facts(self.given.design, self.run),
            *((("event", self.event_value),) if self.event_value else ()),
            ("events", self.events),
            ("ties", self.ties),
            ("log partial likelihood", self.llf),
        )
        ratios = self.hazard_ratios(level).tolist()
        rows = tuple((term, *ratio) for term, ratio in zip(self.terms, ratios, strict=True))
        percent = f"{100 * level:g} %"
        table = SummaryTable("Hazard ratios", ("term", "ratio", f"{percent} from", "to"), rows)
        title = "Cox regression" + (", stratified by client" if self.stratified else "")
        return Summary(title, facts, (self.coefficients.table(level), table), tuple(self.notes()))

    def notes(self) -> list[str]:
        said = super().notes()
        if self.event is None and self.events == self.given.design.rows:
            said.append("Every row counts as an event; was the column of events meant, by event=NAME?")
        if not self.converged:
            said.append("The likelihood was still growing: use a ridge penalty, such as ridge=1.")
        return said

    @property
    def _columns(self) -> list[int]:
        return list(_with_coefficient(self.given.design))

    def check_elsewhere(self) -> None:
        if not self.stratified:
            raise ConfigError(
                "sums over the risk sets of single nodes would tell their rows; use stratified=True."
            )

    def _objective(self, design: Design) -> PartialLikelihood:
        columns = _with_coefficient(design)
        if not columns:
            raise DataError("there is no column whose coefficient could be found.")
        if design.is_here and not times_and_events(design.federation.train.y)[1].any():
            raise DataError("no client has seen any event: there is nothing to explain.")
        if self.stratified:
            return StratifiedLikelihood(len(columns), columns, self.ties)
        if not design.is_here:
            self.check_elsewhere()
        times, counts = agree_on_event_times(design)
        return PooledLikelihood(len(columns), columns, self.ties, tuple(times.tolist()), int(counts.max()))

    def _signed(self, data: Any, formula: str | None) -> Any:
        """Tables whose response is signed by the column of events."""
        if self.event is None:
            return data
        if formula is None or isinstance(data, Design | Federation | EstimatorInput):
            raise ConfigError(
                f"event = {self.event!r} names a column of tables that are here; rows of a federation or at "
                "nodes have signed times, below zero for who was only followed."
            )
        tables, response = tables_of(data), parse_formula(formula).response
        column, _, named = (part.strip() for part in self.event.partition("="))
        word = event_word(tables, column, named)
        self.event_value = f"{column} = {1 if word is None else word}"
        return {name: _sign(name, table, response, column, word) for name, table in tables.items()}


def agree_on_event_times(design: Design) -> tuple[Float64s, Int64s]:
    """The distinct event times of all clients, in order, and how many events there are at each."""
    times, events = times_and_events(design.federation.train.y)
    found, counts = np.unique(times[events], return_counts=True)
    return found, counts.astype(np.int64)


def event_word(tables: Tables, column: str, named: str = "") -> str | None:
    """Which word of a column is the event: the one that is named, or the second of two; None for numbers of
    which none is named.

    >>> event_word(tables_of({"a": {"status": ["alive", "dead"]}, "b": {"status": ["alive"]}}), "status")
    'dead'
    """
    for client, table in tables.items():
        if column not in table:
            raise DataError(f"client {client!r} has no column {column!r}; it has {', '.join(table.names)}.")
    if not named and all(table.kind(column) != "words" for table in tables.values()):
        return None
    found = sorted({word for table in tables.values() for word in words_in(table, column).tolist()} - {""})
    if named and named not in found:
        raise unknown(f"word of column {column!r}", named, found)
    if not named and len(found) != 2:
        raise DataError(
            f"the column of events {column!r} has {len(found)} words ({', '.join(found[:5])}); say which one "
            f"is the event, such as event={column}={found[0] if found else 'WORD'}."
        )
    return named or found[1]


def _sign(client: str, table: Table, response: str, event: str, word: str | None) -> Table:
    """One client's table with signed times; rows in which either is missing are missing."""
    if response in table and table.kind(response) == "words":
        raise DataError(f"client {client!r}: the times {response!r} must be numbers, but are words.")
    times = np.asarray(table[response], np.float64)
    if word is None:
        events = np.asarray(table[event], np.float64)
    else:
        words = words_in(table, event)
        events = np.where(words == "", np.nan, (words == word).astype(np.float64))
    known = np.isfinite(times) & np.isfinite(events)
    signed = np.full(len(times), np.nan)
    try:
        signed[known] = signed_times(times[known], events[known])
    except DataError as error:
        raise DataError(f"client {client!r}: {error}") from None
    columns: NamedColumns = {**table.columns, response: signed}
    return Table(columns)


def _with_coefficient(design: Design) -> tuple[int, ...]:
    return tuple(j for j, term in enumerate(design.terms) if term != INTERCEPT)


@lru_cache(maxsize=64)
def _score_task(columns: tuple[int, ...]) -> Task:
    """The log of the hazard of a row; the same object for the same columns, so that programs are reused."""

    def begin(key: jax.Array) -> jax.Array:
        return jnp.zeros(len(columns))

    def apply(coefficients: jax.Array, x: jax.Array) -> jax.Array:
        return x[:, jnp.array(columns, int)] @ coefficients

    return Task(Model(begin, apply), squared_error, outputs="values")
