"""Checks of the estimator contract, for built-in estimators and for yours.

    unalike.analytics.testing.check_estimator(LinearRegression, tables, "y ~ age + sex")

The contract is that of :class:`.estimator.Estimator`: what each method returns, what is refused, and that the
same data give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..data.survival import times_and_events
from ..data.tables import Tables, tables_of
from ..errors import UnalikeError
from ..typing import Array, Float64s, NamedColumns
from .estimator import MAY_BE_REFUSED, Estimator
from .formula import parse_formula
from .summary import Summary

NARROW, WIDE = 0.5, 0.9
NOBODY = "nobody has this name"


class EstimatorError(UnalikeError):
    """An estimator that breaks the contract; the message says where."""


@dataclass(frozen=True)
class Bench:
    """An estimator that is checked, and the tables that it is fitted to."""

    make: Callable[[], Estimator]
    tables: Tables
    formula: str

    @cached_property
    def fitted(self) -> Estimator:
        """The estimator after `fit`."""
        return self.make().fit(self.tables, self.formula)

    @property
    def client(self) -> str:
        """The client whose rows are predicted."""
        return next(iter(self.tables))

    @cached_property
    def response(self) -> Array:
        """The client's responses."""
        return self.tables[self.client][parse_formula(self.formula).response]

    @cached_property
    def new(self) -> NamedColumns:
        """The client's rows without their response."""
        columns = self.tables[self.client].columns
        response = parse_formula(self.formula).response
        return {name: values for name, values in columns.items() if name != response}

    @cached_property
    def with_gaps(self) -> NamedColumns:
        """The same rows, of which the second has no value in any column."""
        return {name: _without_second(values) for name, values in self.new.items()}

    def refuses(self, what: str) -> bool:
        """Whether the estimator says that it cannot give this."""
        return what in self.fitted.refuses


Check = Callable[[Bench], None]


def check_estimator(
    make: Callable[[], Estimator], tables: NamedColumns, formula: str, client: str | None = None
) -> None:
    """Raise an `EstimatorError` where an estimator breaks the contract.

    Args:
        make: Makes the estimator, not fitted.
        tables: Tables by client, at least two, without missing values.
        formula: What is explained by what; the response must be a column as it is.
        client: Whose rows are predicted; the first client's if it is not given.
    """
    read = tables_of(tables)
    if client is not None:
        read = {client: read[client], **read}
    bench = Bench(make, read, formula)
    for check in CHECKS:
        check(bench)


def check_unfitted(bench: Bench) -> None:
    """Before `fit`, predictions are refused."""
    _refusal_message(lambda: bench.make().predict(bench.new, bench.client), "predictions before fit")


def check_fit(bench: Bench) -> None:
    """`fit` returns the estimator itself, which knows its clients by name."""
    made = bench.make()
    _require(made.fit(bench.tables, bench.formula) is made, "fit must return the estimator itself.")
    _require(made.clients == tuple(bench.tables), "clients must be the names of the tables, in order.")


def check_refusals(bench: Bench) -> None:
    """What is refused is refused by name, and nothing else is."""
    fitted, new = bench.fitted, bench.new
    asked: dict[str, Callable[[], Any]] = {
        "bse": lambda: fitted.bse,
        "cov_params": fitted.cov_params,
        "conf_int": fitted.conf_int,
        "return_std": lambda: fitted.predict(new, bench.client, return_std=True),
        "interval": lambda: fitted.predict(new, bench.client, interval=WIDE),
        "newcomer": lambda: fitted.predict(new),
    }
    strange = set(fitted.refuses) - set(MAY_BE_REFUSED)
    _require(not strange, f"refuses has {', '.join(sorted(strange))}, which is no part of the contract.")
    for what, ask in asked.items():
        if bench.refuses(what):
            message = _refusal_message(ask, what)
            words = f"{type(fitted).__name__} has no {MAY_BE_REFUSED[what]}"
            _require(words in message, f"the refusal of {what} must say {words!r}.")
        else:
            ask()


def check_params(bench: Bench) -> None:
    """Estimates, errors and covariances have shapes that belong together."""
    fitted = bench.fitted
    params, names = fitted.params, fitted.terms
    _require(isinstance(params, np.ndarray) and params.dtype == np.float64, "params must be 64-bit floats.")
    _require(params.shape[-1:] == (len(names),), "terms must name the last axis of params.")
    _require(params.ndim == 1 or len(params) == len(fitted.clients), "params must have a row per client.")
    if not bench.refuses("bse"):
        _require(fitted.bse.shape == params.shape, "bse must have the shape of params.")
        _require(bool(np.all(fitted.bse >= 0)), "bse must not be negative.")
    if not bench.refuses("cov_params"):
        covariance = fitted.cov_params()
        _require(covariance.shape == (*params.shape, len(names)), "cov_params must be a matrix per vector.")
        spread = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        _require(np.allclose(spread, fitted.bse, rtol=1e-9), "bse must be the root of cov_params' diagonal.")


def check_conf_int(bench: Bench) -> None:
    """Intervals hold the estimate, grow with their level, and are symmetric about a vector of estimates."""
    if bench.refuses("conf_int"):
        return
    fitted = bench.fitted
    params, wide, narrow = fitted.params, fitted.conf_int(WIDE), fitted.conf_int(NARROW)
    _require(wide.shape == (*params.shape, 2), "conf_int must have a last axis (lower, upper).")
    _require(_holds(narrow, params), "conf_int must hold the estimates.")
    _require(_is_nested(wide, narrow), "conf_int must grow with its level.")
    _require(np.array_equal(fitted.conf_int(), fitted.conf_int(0.95)), "the level must be 0.95 by default.")
    if params.ndim == 1:
        _require(np.allclose(wide.mean(axis=-1), params), "conf_int must be symmetric about the estimates.")
    for level in (0.0, 1.0, 95):
        _refusal_message(partial(fitted.conf_int, level), f"an interval of level {level}")


def check_predict(bench: Bench) -> None:
    """One value per row, the same for a client's name and number, and none where a value is missing."""
    fitted, rows = bench.fitted, len(bench.response)
    whole, gaps = fitted.predict(bench.new, bench.client), fitted.predict(bench.with_gaps, bench.client)
    number = fitted.clients.index(bench.client)
    _require(whole.shape == gaps.shape == (rows,), "predict must give one value per row.")
    _require(not _missing(whole).any(), "predict must give a value for a row with all values.")
    _require(np.flatnonzero(_missing(gaps)).tolist() == [1], "a row with a missing value must have none.")
    _require(_alike(np.delete(gaps, 1), np.delete(whole, 1)), "a missing value must change no other row.")
    _require(np.array_equal(fitted.predict(bench.new, number), whole), "a client's number is its name.")
    few = {name: values[:3] for name, values in bench.new.items()}
    _require(_alike(fitted.predict(few, bench.client), whole[:3]), "a row's value depends on the row alone.")


def check_uncertainty(bench: Bench) -> None:
    """Deviations are not negative; intervals hold the prediction and grow with their level."""
    fitted, new, client = bench.fitted, bench.with_gaps, bench.client
    mean = fitted.predict(new, client)
    known = ~_missing(mean)
    if not bench.refuses("return_std"):
        again, std = fitted.predict(new, client, return_std=True)
        _require(np.array_equal(again[known], mean[known]), "return_std must not change the prediction.")
        _require(
            std.shape == mean.shape and bool(np.all(std[known] >= 0)), "return_std must not be negative."
        )
        _require(bool(np.isnan(std[~known]).all()), "a row without a prediction has no deviation.")
    if not bench.refuses("interval"):
        (_, wide), (_, narrow) = (fitted.predict(new, client, interval=level) for level in (WIDE, NARROW))
        _require(wide.shape == (len(mean), 2), "interval must give a row (lower, upper) per row.")
        _require(_holds(narrow[known], mean[known]), "an interval must hold the prediction.")
        _require(_is_nested(wide[known], narrow[known]), "an interval must grow with its level.")
        both = fitted.predict(new, client, return_std=True, interval=WIDE)
        _require(len(both) == 3, "return_std and interval together give three arrays.")
        _refusal_message(partial(fitted.predict, new, client, interval=95), "an interval of level 95")


def check_clients(bench: Bench) -> None:
    """Clients that were not fitted are refused; for one without a name there is a value per row, or a reason
    why not (:func:`check_refusals`)."""
    fitted = bench.fitted
    strangers: tuple[Any, ...] = (NOBODY, len(fitted.clients), -1, 0.5, True)
    for client in strangers:
        message = _refusal_message(partial(fitted.predict, bench.new, client), f"client {client!r}")
        _require(repr(client) in message, f"the refusal of client {client!r} must name it.")
    if not bench.refuses("newcomer"):
        _require(fitted.predict(bench.new).shape == bench.response.shape, "a newcomer has a value per row.")


def check_classes(bench: Bench) -> None:
    """What predicts labels has their probabilities, and the label is the likelier one."""
    fitted: Any = bench.fitted
    if fitted.judged_by != "accuracy":
        return
    labels = fitted.predict(bench.new, bench.client)
    probable = fitted.predict_proba(bench.new, bench.client)
    _require(probable.shape == (len(labels), len(fitted.classes)), "predict_proba has a column per class.")
    _require(np.allclose(probable.sum(axis=1), 1), "probabilities must add up to one.")
    _require(set(labels.tolist()) <= set(fitted.classes), "labels must be classes.")
    likelier = np.array(fitted.classes)[probable.argmax(axis=1)]
    _require(np.array_equal(likelier, labels), "a label must be the likeliest class.")


def check_score(bench: Bench) -> None:
    """The score is finite, equal to its definition, and rows that cannot be predicted are left out."""
    fitted, y = bench.fitted, bench.response
    score = fitted.score(bench.new, y, bench.client)
    _require(isinstance(score, float) and bool(np.isfinite(score)), "score must be a finite number.")
    expected = _DEFINITIONS[fitted.judged_by](fitted.predict(bench.new, bench.client), y)
    _require(np.isclose(score, expected), f"score is {score}, but {fitted.judged_by} is {expected}.")
    without = {name: np.delete(values, 1) for name, values in bench.new.items()}
    left = fitted.score(without, np.delete(y, 1), bench.client)
    _require(np.isclose(fitted.score(bench.with_gaps, y, bench.client), left), "score must skip such rows.")
    _refusal_message(lambda: fitted.score(bench.new, y[:-1], bench.client), "a score of too few responses")


def check_summary(bench: Bench) -> None:
    """The summary is text, a page and a paper, with the level that is asked for."""
    summary = bench.fitted.summary(WIDE)
    _require(isinstance(summary, Summary), "summary must be a Summary.")
    for text in (str(summary), summary.as_html(), summary.as_latex(), str(bench.fitted.full_summary())):
        _require(bool(text.strip()), "summary must have text.")


def check_figures(bench: Bench) -> None:
    """Figures are Matplotlib's, by title."""
    for title, figure in bench.fitted.figures().items():
        _require(isinstance(title, str) and isinstance(figure, Figure), "figures must be figures by title.")


def check_settings(bench: Bench) -> None:
    """Settings can be read and set, and unknown ones are refused."""
    made = bench.make()
    again = type(made)().set_params(**made.get_params())
    _require(again.get_params() == made.get_params(), "get_params and set_params must belong together.")
    _refusal_message(lambda: made.set_params(no_such_setting=1), "an unknown setting")


def check_repeats(bench: Bench) -> None:
    """Fitted twice, also the same object, the numbers are the same."""
    first, second = bench.fitted, bench.make().fit(bench.tables, bench.formula)
    want = first.predict(bench.new, bench.client)
    for again in (second, second.fit(bench.tables, bench.formula)):
        _require(np.array_equal(again.params, first.params, equal_nan=True), "params differ in a second fit.")
        _require(_alike(again.predict(bench.new, bench.client), want), "predictions differ in a second fit.")


CHECKS: tuple[Check, ...] = (
    *(check_settings, check_unfitted, check_fit, check_refusals, check_params, check_conf_int),
    *(check_predict, check_uncertainty, check_clients, check_classes, check_score),
    *(check_summary, check_figures, check_repeats),
)


# Definitions -----------------------------------------------------------------------------------------------


def _explained_variance(predicted: Array, y: Array) -> float:
    return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))


def _accuracy(predicted: Array, y: Array) -> float:
    return float(np.mean(predicted == y))


def _concordance(predicted: Array, y: Array) -> float:
    """The share of comparable pairs whose riskier row has its event first; equal risks count one half."""
    times, events = times_and_events(y)
    apart = [predicted[i] - predicted[times > times[i]] for i in np.flatnonzero(events)]
    return float(np.mean(np.sign(np.concatenate(apart)) / 2 + 0.5))


_DEFINITIONS = {"R^2": _explained_variance, "accuracy": _accuracy, "concordance": _concordance}


# Parts -----------------------------------------------------------------------------------------------------


def _require(kept: bool | np.bool_, promise: str) -> None:
    if not kept:
        raise EstimatorError(promise)


def _refusal_message(ask: Callable[[], Any], what: str) -> str:
    """The message of the refusal; an error where there is none, or where it is no single sentence."""
    try:
        ask()
    except UnalikeError as error:
        message = str(error)
        _require(bool(message.strip()) and "\n" not in message, f"the refusal of {what} must be a sentence.")
        return message
    except Exception as error:
        raise EstimatorError(f"{what} must be refused in a sentence, but gave {error!r}.") from error
    raise EstimatorError(f"{what} must be refused.")


def _missing(predicted: Array) -> Array:
    return predicted == "" if predicted.dtype.kind in "UO" else np.isnan(predicted)


def _alike(one: Array, other: Array) -> bool:
    if one.dtype.kind in "UO":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=1e-9))


def _holds(intervals: Float64s, values: Float64s) -> bool:
    return bool(np.all((intervals[..., 0] <= values) & (values <= intervals[..., 1])))


def _is_nested(wide: Float64s, narrow: Float64s) -> bool:
    return bool(np.all((wide[..., 0] <= narrow[..., 0]) & (narrow[..., 1] <= wide[..., 1])))


def _without_second(values: Array) -> Array:
    changed = np.array(values)
    changed[1] = "" if changed.dtype.kind in "UO" else np.nan
    return changed
