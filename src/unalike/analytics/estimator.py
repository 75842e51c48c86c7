"""The estimator contract: the same methods with the same parameters for all estimators.

    fit(data, formula)                              params      bse      cov_params()      conf_int(level)
    predict(new, client, return_std, interval)      score(new, y, client)      summary()      figures()

What an estimator cannot give is in its `refuses`, with the reason, and asking for it is a `ConfigError`.
:func:`.testing.check_estimator` checks all of this. `analysis_registry` holds estimators under the names that
people type; settings can be read and set as in scikit-learn.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..core.registry import Registry
from ..errors import ConfigError, unknown
from ..typing import Document, Fields, Float64s
from .forecast import Forecast, r_squared
from .formula import parse_formula
from .inputs import EstimatorInput
from .model_matrix import MissingValues
from .summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

analysis_registry: Registry[Estimator] = Registry("analysis", "analyses")

MAY_BE_REFUSED: Mapping[str, str] = {
    "bse": "standard errors",
    "cov_params": "covariance of its parameters",
    "conf_int": "confidence intervals",
    "return_std": "standard deviation of predictions",
    "interval": "intervals of predictions",
    "newcomer": "prediction for a client that is not named",
}


@dataclass
class Estimator:
    """A dataclass of settings; `fit` returns the estimator itself, which then knows what it was `given` and
    the `run` that fitted it."""

    random_effects: ClassVar[bool] = False
    """Whether coefficients in bars, such as `(1 | client)`, are part of the model."""
    judged_by: ClassVar[str] = "R^2"
    """What :meth:`score` is: R^2, accuracy or concordance."""
    refuses: ClassVar[Mapping[str, str]] = {}
    """What it cannot give (of `MAY_BE_REFUSED`), and why."""

    def fit(
        self, data: Any, formula: str | None = None, missing: MissingValues = "drop", **training: Any
    ) -> Self:
        """Estimate the parameters.

        Args:
            data: Tables by client, a federation, or a design.
            formula: What explains what, such as `y ~ age + C(sex)`; tables need one.
            missing: Whether rows with missing values are dropped or refused.
            **training: What :func:`unalike.train` takes: `engine`, `seed`, `out`, `resume`, `observer`.
        """
        raise NotImplementedError

    @property
    def terms(self) -> tuple[str, ...]:
        """What the parameters are called: the names of the last axis of `params`."""
        return self.fitted_to.design.terms

    @property
    def params(self) -> Float64s:
        """The estimates in the order of `terms`: one vector, or one row per client where each has its own."""
        raise NotImplementedError

    @property
    def bse(self) -> Float64s:
        """Standard errors, in the shape of `params`."""
        if "bse" in self.refuses:
            raise self.refusal("bse")
        return np.sqrt(np.diagonal(self.cov_params(), axis1=-2, axis2=-1))

    def cov_params(self) -> Float64s:
        """The covariance of the estimates, one matrix for each vector of `params`."""
        raise self.refusal("cov_params")

    def conf_int(self, level: float = 0.95) -> Float64s:
        """Intervals of the estimates: the shape of `params` and a last axis (lower, upper).

        Args:
            level: The probability that an interval is to have.
        """
        raise self.refusal("conf_int")

    def predict(
        self,
        new: Any,
        client: str | int | None = None,
        return_std: bool = False,
        interval: float | None = None,
    ) -> Any:
        """One value per new row; NaN where one is missing or a category is unknown.

        Args:
            new: New rows: a table, if a formula was fitted, or an array of the design's columns.
            client: Whose rows they are, by name or number; None for a client that nobody has met. Where all
                clients share one model, it makes no difference.
            return_std: Whether the standard deviation of a new response is returned, too.
            interval: The level of an interval of new responses, one row (lower, upper) for each, which is
                returned last; None for none.
        """
        self.check_predicts(return_std, interval)
        return self.forecast(new, self.client_number(client)).answer(return_std, interval)

    def forecast(self, new: Any, client: int | None) -> Forecast:
        """What :meth:`predict` says of new rows of a client with this number."""
        raise NotImplementedError

    def score(self, new: Any, y: Any, client: str | int | None = None) -> float:
        """How good predictions are (`judged_by`), over the rows that can be predicted.

        Args:
            new: Rows, as for :meth:`predict`.
            y: Their responses, as the left side of the formula has them.
            client: Whose rows they are.
        """
        return r_squared(self.predict(new, client), y)

    def summary(self, level: float = 0.95) -> Summary:
        """What was estimated, to print.

        Args:
            level: The level of intervals, where there are any.
        """
        raise NotImplementedError

    def figures(self) -> dict[str, Figure]:
        """Figures of the estimates by title; those of single clients need their rows here."""
        if "conf_int" in self.refuses or self.params.ndim != 1:
            return {}
        from .figures.estimates import coefficients

        return {"Coefficients": coefficients(self.terms, self.params, self.conf_int())}

    def full_summary(self, level: float = 0.95) -> Summary:
        """The summary, with what is to be known of who takes part, for screens, files and pages."""
        summary, given = self.summary(level), getattr(self, "given", None)
        more = [] if given is None else [note for note in given.remarks() if note not in summary.notes]
        return replace(summary, notes=(*summary.notes, *more))

    # What holds for all -----------------------------------------------------------------------------------

    @property
    def fitted_to(self) -> EstimatorInput:
        """What it was fitted to; a `ConfigError` before."""
        given: EstimatorInput | None = getattr(self, "given", None)
        if given is None:
            raise ConfigError(f"{type(self).__name__} has not seen any data; call fit first.")
        return given

    @property
    def clients(self) -> tuple[str, ...]:
        """What the clients that were fitted are called, in the order of their numbers."""
        federation = self.fitted_to.design.federation
        return tuple(federation.name(i) for i in range(len(federation)))

    def client_number(self, client: str | int | None) -> int | None:
        """The number of a client by name or number; None stays None, and unknown clients are refused."""
        names = self.clients
        if client is None:
            return None
        if isinstance(client, str) and client in names:
            return names.index(client)
        if not isinstance(client, str | bool):
            try:
                number = operator.index(client)
            except TypeError:
                number = -1
            if 0 <= number < len(names):
                return number
        raise ConfigError(f"there is no client {client!r}; there are {len(names)}, such as {names[0]!r}.")

    def known_client(self, client: str | int) -> int:
        """The number of a client that was fitted."""
        number = self.client_number(client)
        if number is None:
            raise ConfigError("name a client, by its name or number.")
        return number

    def check_predicts(self, return_std: bool = False, interval: float | None = None) -> None:
        """Raise where nothing is fitted, or what is asked of predictions cannot be given."""
        _ = self.fitted_to
        for what, is_asked in (("return_std", return_std), ("interval", interval is not None)):
            if is_asked and what in self.refuses:
                raise self.refusal(what)

    def refusal(self, what: str) -> ConfigError:
        """The error for something that this estimator cannot give."""
        why = self.refuses.get(what, "it does not estimate that")
        return ConfigError(f"{type(self).__name__} has no {MAY_BE_REFUSED[what]}: {why}.")

    def check_formula(self, formula: str | None) -> None:
        """Raise where the formula asks for effects of clients that this model does not have."""
        if self.random_effects or formula is None or parse_formula(formula).varying is None:
            return
        name = type(self).__name__
        raise ConfigError(
            f"{formula!r} has random effects of clients, which {name} does not have; only the linear mixed "
            "model does (`mixed:`). Leave out the part in bars."
        )

    usual_elsewhere: ClassVar[Fields] = {}
    """Settings that are other than usual where clients keep their rows, unless somebody gives them."""

    def check_elsewhere(self) -> None:
        """Raise where clients that keep their rows would have to tell single ones."""

    def get_params(self, deep: bool = True) -> Document:
        """The settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def set_params(self, **given: Any) -> Self:
        """Change settings; unknown names are refused."""
        known = self.get_params()
        for name, value in given.items():
            if name not in known:
                raise unknown("setting", name, list(known))
            setattr(self, name, value)
        return self


def check_full_steps(batch_size: int) -> None:
    """Raise where clients that keep their rows are asked for steps over few of them."""
    if batch_size:
        raise ConfigError(
            "mini-batches of nodes would be sums over few of their rows, and nodes refuse them; set "
            "batch_size=0 (all rows in every step), which is usual between nodes."
        )
