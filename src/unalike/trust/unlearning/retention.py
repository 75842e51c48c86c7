"""Retention: which models of a training are kept for later unlearning requests?

    full          after every round
    grid:K        after every K rounds: a restart is rounded down to the grid
    pruned:PSI    for each client the last model before its sensitivity exceeded PSI: at most one each

Pruning is for a budget that is fixed before training: it keeps exactly the models from which a request with
that limit, by the rule `max`, can start.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.spec import Spec
from ...errors import ConfigError, unknown

FORMS = {"full": "full", "grid": "grid:K with K of at least 1", "pruned": "pruned:PSI with PSI above 0"}


@dataclass(frozen=True)
class Retention:
    """Keep a model after every so many rounds; with a `limit`, drop those that no request can start from.

    >>> Retention.of("grid:10").every
    10
    """

    every: int = 1
    limit: float | None = None

    @classmethod
    def of(cls, given: str | Spec) -> Retention:
        """From full, grid:K or pruned:PSI."""
        spec = Spec.of(given)
        if spec.name not in FORMS:
            raise unknown("history for unlearning", spec.name, FORMS)
        if spec.name == "full" and not spec.arguments:
            return cls()
        if spec.name == "grid" and len(spec.arguments) == 1:
            (every,) = spec.arguments
            if isinstance(every, int) and every >= 1:
                return cls(every)
        if spec.name == "pruned" and len(spec.arguments) == 1:
            (limit,) = spec.arguments
            if isinstance(limit, int | float) and 0 < limit < float("inf"):
                return cls(1, float(limit))
        raise ConfigError(f"unlearning = {spec.text!r} is not of the form {FORMS[spec.name]}.")

    def keeps(self, round: int) -> bool:
        """Whether the model after so many rounds is kept at first."""
        return round % self.every == 0
