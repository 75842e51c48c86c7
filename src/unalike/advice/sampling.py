"""Advice on client sampling: which sampling scheme suits these clients?

Every scheme's exact moments side by side, and a choice by the rules of Fraboni, Vidal, Kameni and Lorenzi ("A
General Theory for Client Sampling in Federated Learning", 2022, and "Clustered Sampling", 2021). Equal
importances call for uniform draws; for unequal ones, clusters by size have weights that sum to one and vary
no more, client by client, than multinomial ones. Weights whose sum varies can make training diverge: on
quadratic losses,

    from the step 2 / (1 + Var[sum_i omega_i]) on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..data import Federation
from ..data.importance import check_importance
from ..errors import ConfigError
from ..participation import Sampler, WeightStatistics, check_per_round, sampler_registry
from ..participation.samplers.renormalized import renormalized_statistics
from ..theory.sampling.comparison import (
    compare_schemes,
    misplaced_weight,
    step_length,
    uniform_beats_multinomial,
)
from ..theory.sampling.coverage import chance_empty
from ..theory.sampling.quadratic import critical_step
from ..typing import Document, Float64s, Row

Known = Mapping[str, WeightStatistics]

SCHEMES = (
    "full",
    "md",
    "uniform",
    "uniform-with-replacement",
    "binomial",
    "poisson",
    "optimal",
    "clustered-size",
    "fedavg-original",
    "fedavg-renormalized",
)
COLUMNS = (
    "unbiased",
    "total_variance",
    "gamma",
    "variance_of_sum",
    "largest_variance",
    "distinct_clients",
    "empty_rounds",
)
VERY_MANY = 100_000
"""From so many clients on, a scheme that needs no table of importances is worth having."""
MOST_DRAWS = 200_000
"""Up to so many clients x draws, renormalized weights are integrated (a few seconds)."""
UNSTEADY = 0.25
"""A variance of the weights' sum (a standard deviation of half a step) that is worth a warning."""


@dataclass(frozen=True)
class SchemeReport:
    """What is known of one scheme for these clients."""

    name: str
    statistics: WeightStatistics | None
    """None where the scheme is not possible; `note` says why."""
    empty: float | None = None
    """The probability of a round without clients."""
    note: str = ""

    def row(self) -> Row:
        """The numbers by which schemes are compared; None where there is none."""
        if self.statistics is None:
            return {"scheme": self.name, **dict.fromkeys(COLUMNS)}
        known = self.statistics
        numbers = (
            known.total_variance,
            known.gamma,
            known.variance_of_sum,
            float(known.variance.max()),
            known.expected_clients,
            self.empty,
        )
        values = (known.unbiased, *(_tidy(number) for number in numbers))
        return {"scheme": self.name, **dict(zip(COLUMNS, values, strict=True))}


@dataclass(frozen=True)
class Advice:
    """All schemes side by side, the one to use, and why."""

    clients: int
    per_round: int
    schemes: tuple[SchemeReport, ...]
    recommended: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> SchemeReport:
        return {scheme.name: scheme for scheme in self.schemes}[name]

    @property
    def statistics(self) -> dict[str, WeightStatistics]:
        """The moments of every scheme that is possible, by name."""
        return _possible(self.schemes)

    @property
    def verdict(self) -> str:
        """What to use and why, in sentences."""
        return " ".join((f"Use {self.recommended}:", *self.reasons, *self.warnings))

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        return {
            "clients": self.clients,
            "per_round": self.per_round,
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "schemes": [{**scheme.row(), "note": scheme.note} for scheme in self.schemes],
        }


def advise_sampling(
    clients: Federation | ArrayLike,
    per_round: int,
    sizes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Advice:
    """Compare sampling schemes for a federation (or for importances) and recommend one.

    `sizes` are whole numbers in proportion to the importances, where there are such; `names` are the schemes
    to compare, all of them when not given.

    >>> advise_sampling(np.full(100, 0.01), per_round=10, names=["md", "uniform"]).recommended
    'uniform'
    """
    given = clients
    if isinstance(clients, Federation):
        given, sizes = clients.importance, clients.train.sizes if sizes is None else sizes
    importance = check_importance(np.asarray(given, np.float64))
    check_per_round(per_round, len(importance))
    wanted = [name for name in SCHEMES if name in sampler_registry] if names is None else names
    schemes = tuple(_report(name, importance, per_round, sizes) for name in wanted)
    recommended, reasons = _choose(importance, per_round, _possible(schemes))
    return Advice(len(importance), per_round, schemes, recommended, reasons, _warnings(_possible(schemes)))


def _possible(schemes: Sequence[SchemeReport]) -> dict[str, WeightStatistics]:
    return {scheme.name: scheme.statistics for scheme in schemes if scheme.statistics is not None}


def _tidy(number: float | None) -> float | None:
    """Without the rounding of what is zero."""
    return 0.0 if number is not None and abs(number) < 1e-15 else number


def _report(name: str, importance: Float64s, per_round: int, sizes: ArrayLike | None) -> SchemeReport:
    sampler = sampler_registry.make(name, per_round=per_round, sizes=sizes, seed=0)
    try:
        known = _statistics(name, sampler, importance, per_round)
    except ConfigError as error:
        return SchemeReport(name, None, note=str(error))
    return SchemeReport(name, known, _empty(sampler, importance), _note(name, known))


def _statistics(name: str, sampler: Sampler, importance: Float64s, per_round: int) -> WeightStatistics:
    if name != "fedavg-renormalized":
        return sampler.statistics(importance)
    if len(importance) * per_round > MOST_DRAWS:
        raise ConfigError("for so many clients, the mean of renormalized weights would take long to compute.")
    return renormalized_statistics(importance, per_round)


def _empty(sampler: Sampler, importance: Float64s) -> float | None:
    try:
        return chance_empty(sampler, importance)
    except ConfigError:
        return None


def _note(name: str, known: WeightStatistics) -> str:
    misplaced, length = misplaced_weight(known), step_length(known)
    notes = {
        "for updates of equal length; every client trains in every round, some upload": name == "optimal",
        "gamma is at most this": known.alpha is None and known.largest_gamma is not None,
        f"{100 * misplaced:.2g} % of the weight is at the wrong clients": misplaced > 0,
        f"steps have {length:.3g} of the full length": abs(length - 1) > 1e-6,
    }
    return "; ".join(words for words, holds in notes.items() if holds)


def _choose(importance: Float64s, per_round: int, possible: Known) -> tuple[str, tuple[str, ...]]:
    """The first of the rules whose case it is and whose scheme is possible."""
    n, equal = len(importance), bool(np.ptp(importance) <= 1e-9 * importance.max())
    nearly = n >= VERY_MANY and uniform_beats_multinomial(importance, per_round)
    rules = (
        (per_round == n, "full", "all clients take part, so that no weight is random."),
        (equal, "uniform", "all clients count the same, and weights vary least if nobody is drawn twice."),
        (nearly, "uniform", "so many clients count nearly the same, and it needs no table of importances."),
        (True, "clustered-size", "its weights sum to one, and none of them varies more than with md."),
        (True, "md", "its weights sum to one, whatever the importances."),
    )
    for case, name, reason in rules:
        if case and name in possible:
            return name, (reason, *_against_rivals(name, possible))
    if not possible:
        raise ConfigError("none of these sampling schemes is possible for these clients.")
    least = min(possible, key=lambda name: (misplaced_weight(possible[name]), possible[name].total_variance))
    return least, ("of these schemes it is the least biased, and then the one that varies least.",)


def _against_rivals(name: str, possible: Known) -> list[str]:
    """How the recommended scheme compares with each of its rivals."""
    rivals = [rival for rival in ("md", "uniform", "clustered-size") if rival != name and rival in possible]
    answers = [compare_schemes(possible[name], possible[rival], (name, rival)) for rival in rivals]
    return [] if name == "full" else [f"Against {answer.names[1]}: {answer.reason}" for answer in answers]


def _warnings(possible: Known) -> tuple[str, ...]:
    unsteady = [
        f"{critical_step(known):.3g} ({name})"
        for name, known in possible.items()
        if known.unbiased and known.variance_of_sum >= UNSTEADY
    ]
    warning = (
        "Weights that do not sum to one make steps of random length: on quadratic losses, training diverges "
        f"once the server's learning rate times the clients' local progress reaches {', '.join(unsteady)}."
    )
    return (warning,) if unsteady else ()
