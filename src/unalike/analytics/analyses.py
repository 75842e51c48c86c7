"""Choosing an analysis: from a formula (and perhaps a name) to a fitted estimator.

rul ~ cycle                         linear
rul ~ cycle + (1 | client)          mixed, because of the bars
logistic: ill ~ age + sex           the one that is named
"""

from __future__ import annotations

import re
from typing import Any

from ..data.tables import Tables
from ..errors import ConfigError
from ..typing import Config
from .estimator import Estimator, analysis_registry
from .formula import parse_formula
from .model_matrix import MissingValues

_NAMED = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*)\s*:(?=[^~]*~)")


def choose_analysis(text: str, name: str | None = None) -> tuple[str, str]:
    """The analysis and the formula of such words.

    >>> choose_analysis("logistic: ill ~ age"), choose_analysis("y ~ x + (1 | client)")
    (('logistic', 'ill ~ age'), ('mixed', 'y ~ x + (1 | client)'))
    """
    found = _NAMED.match(text)
    before, formula = (found["name"], text[found.end() :].strip()) if found else (None, text)
    named = before or name
    if before and name and before != name:
        raise ConfigError(f"the analysis is called {before!r} in {text!r} but {name!r} beside it.")
    varying = parse_formula(formula).varying
    if named is None:
        return ("mixed" if varying is not None else "linear"), formula
    if named not in analysis_registry:
        analysis_registry[named]  # says which there are
    analysis_registry.make(named).check_formula(formula)
    return named, formula


def fit_analysis(
    tables: Tables,
    text: str,
    name: str | None = None,
    settings: Config | None = None,
    missing: MissingValues = "drop",
    **training: Any,
) -> Estimator:
    """Fit what such words say to tables that are here."""
    chosen, formula = choose_analysis(text, name)
    made = analysis_registry.make(chosen).set_params(**(settings or {}))
    return made.fit(tables, formula, missing, **training)
