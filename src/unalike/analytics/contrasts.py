"""Contrasts of coefficients: is a linear combination of them different from zero?

    estimate = w' beta,      std. error = sqrt(w' V w),      interval = estimate -+ reach std. error

with the reach of the coefficients' own intervals (the largest among those in the contrast). Where a model
knows single devices, it is tested with draws of their coefficients, and between two devices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ConfigError, unknown
from ..typing import Float64s
from .estimator import Estimator
from .hierarchical.device_posterior import ContrastTest
from .run_facts import SHOWN
from .summary import SummaryTable

HEADER = ("", "estimate", "std. error", "lower", "upper", "excludes 0")
_SIGNED = re.compile(r"\s+([+-])\s+")
_WEIGHTED = re.compile(r"(?P<weight>[+-]?\d+(?:\.\d*)?|[+-]?\.\d+)\s*\*\s*(?P<term>.+)")


def parse_contrast(text: str, terms: Sequence[str]) -> Float64s:
    """The weights of a contrast such as `age - 2*bmi`.

    >>> parse_contrast("age - 2*sex[T.m]", ("Intercept", "age", "sex[T.m]")).tolist()
    [0.0, 1.0, -2.0]
    """
    weights = np.zeros(len(terms))
    pieces = _SIGNED.split(text.strip())
    signs = [1.0, *(1.0 if sign == "+" else -1.0 for sign in pieces[1::2])]
    for sign, piece in zip(signs, pieces[::2], strict=True):
        word = piece.strip()
        found = _WEIGHTED.fullmatch(word)
        weight, term = (float(found["weight"]), found["term"].strip()) if found else (1.0, word)
        if term not in terms and term.startswith("-"):
            weight, term = -weight, term[1:].strip()
        if term not in terms:
            raise unknown(f"term in the contrast {text!r}", term, terms)
        weights[list(terms).index(term)] += sign * weight
    if not weights.any():
        raise ConfigError(f"the contrast {text!r} has no weight but zero; name a coefficient.")
    return weights


def contrast_table(
    fitted: Estimator, text: str, client: str | None = None, against: str | None = None, level: float = 0.95
) -> SummaryTable:
    """A contrast at the population and at each device, as far as a model knows them.

    Args:
        fitted: a fitted estimator.
        text: the contrast, such as `age - 2*bmi`.
        client: the only device that is asked for; all when None.
        against: the device whose contrast is subtracted.
        level: of intervals.
    """
    if against is not None and client is None:
        raise ConfigError("a difference of two devices needs both; name the other one as client.")
    weights = parse_contrast(text, fitted.terms)
    rows: list[tuple[str | float | int | None, ...]] = []
    if "cov_params" not in fitted.refuses and fitted.params.ndim == 1 and client is None:
        name = "all clients" if _knows_devices(fitted) else text
        rows.append((name, *_of_population(fitted, weights, level)))
    if _knows_devices(fitted):
        names = (client,) if client is not None else fitted.clients[:SHOWN]
        rows += [
            (_label(name, against), *_of_device(fitted, name, against, weights, level)) for name in names
        ]
    elif client is not None:
        raise ConfigError(
            f"{type(fitted).__name__} has no coefficients of single clients with intervals; use hm2 or "
            "penalized."
        )
    if not rows:
        raise fitted.refusal("conf_int")
    return SummaryTable(f"contrast {text}, {level:.0%} intervals", HEADER, tuple(rows))


def _knows_devices(fitted: Any) -> bool:
    return hasattr(fitted, "device_posterior") and fitted.fitted_to.design.is_here


def _label(name: str, against: str | None) -> str:
    return name if against is None else f"{name} - {against}"


def _of_population(fitted: Estimator, weights: Float64s, level: float) -> tuple[float | str, ...]:
    estimate = float(weights @ fitted.params)
    error = float(np.sqrt(weights @ fitted.cov_params() @ weights))
    reach = (fitted.conf_int(level)[:, 1] - fitted.params) / fitted.bse
    half = float(reach[weights != 0].max()) * error
    return _cells(ContrastTest(estimate, error, estimate - half, estimate + half, 0.0, abs(estimate) > half))


def _of_device(
    fitted: Any, name: str, against: str | None, weights: Float64s, level: float
) -> tuple[float | str, ...]:
    posterior = fitted.device_posterior(name)
    if against is not None:
        posterior = posterior.minus(fitted.device_posterior(against))
    return _cells(posterior.test(weights, level))


def _cells(test: ContrastTest) -> tuple[float | str, ...]:
    return (test.estimate, test.std_error, test.lower, test.upper, "yes" if test.rejected else "no")
