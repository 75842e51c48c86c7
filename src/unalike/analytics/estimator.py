"""What do all estimators have in common?  (Settings that can be read and set, as in scikit-learn.)

`analysis_registry` holds them under the names that people type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from ..core.registry import Registry
from ..errors import ConfigError, unknown
from .formula import parse_formula
from .model_matrix import Gaps
from .summary import Summary

analysis_registry: Registry[Estimator] = Registry("analysis", "analyses")


@dataclass
class Estimator:
    """A dataclass of settings; `fit` returns the estimator itself, which then knows what it was `given` and
    the `run` that fitted it."""

    def fit(self, data: Any, formula: str | None = None, gaps: Gaps = "drop", **training: Any) -> Self:
        """Fit to a federation, a design, or tables with a formula; `training` is what :func:`unalike.train`
        takes beside."""
        raise NotImplementedError

    random_effects: ClassVar[bool] = False
    """Whether coefficients in bars, such as `(1 | client)`, are part of the model."""

    def check_formula(self, formula: str | None) -> None:
        """Raise where the formula asks for effects of clients that this model does not have."""
        if self.random_effects or formula is None or parse_formula(formula).varying is None:
            return
        name = type(self).__name__
        raise ConfigError(
            f"{formula!r} has random effects of clients, which {name} does not have; only the linear mixed "
            "model does (`mixed:`). Leave out the part in bars."
        )

    usual_elsewhere: ClassVar[Mapping[str, Any]] = {}
    """Settings that are other than usual where clients keep their rows, unless somebody gives them."""

    def check_elsewhere(self) -> None:
        """Raise where clients that keep their rows would have to tell single ones."""

    def summary(self, level: float = 0.95) -> Summary:
        """What was found, to print; `level` is that of intervals, where there are any."""
        raise NotImplementedError

    def full_summary(self, level: float = 0.95) -> Summary:
        """The summary, with what is to be known of who takes part, for screens, files and pages."""
        summary, given = self.summary(level), getattr(self, "given", None)
        more = [] if given is None else [note for note in given.remarks() if note not in summary.notes]
        return replace(summary, notes=(*summary.notes, *more))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
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
