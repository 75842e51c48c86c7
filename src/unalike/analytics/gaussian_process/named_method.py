"""FGPR as a method by name, beside others in comparisons.

Clients' rows are those of any regression with numbers as features; each client standardizes its outputs for
itself, and features are expected to be of mean 0 and variance 1, as those of prepared tables are. Whatever
model a task has is not used: a Gaussian process predicts from its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from ...algorithms import Algorithm
from ...algorithms.base import algorithm_registry
from ...algorithms.shared.optimizers import Optimizer
from ...data import Federation
from ...errors import ConfigError
from ...models import Task
from .fgpr import FGPR
from .kernels import Kernel


@algorithm_registry.add("fgpr")
@dataclass(frozen=True, kw_only=True)
class NamedFGPR(FGPR):
    """Gaussian processes whose prior clients learn together, and predict with from their own rows (Yue and
    Kontar, 2024)."""

    kernel: str = "rbf"  # type: ignore[assignment]
    """rbf, matern:0.8, ou, periodic:PERIOD, or a sum such as `rbf+ou`."""
    ard: bool = False
    """Whether every input has a length of its own."""
    start: tuple[float, ...] = (1.0, 0.3, 2.0)
    standardize: bool = True
    optimizer: Optimizer = field(default_factory=lambda: Optimizer("adam", 0.05))

    name: ClassVar[str] = "fgpr"

    def __post_init__(self) -> None:
        if isinstance(self.kernel, str):
            object.__setattr__(self, "kernel", Kernel(self.kernel, 1, self.ard))
        super().__post_init__()

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        shape = federation.input_shape
        if federation.classes is not None or len(shape) != 1 or federation.train.x.dtype.kind not in "fiu":
            raise ConfigError(
                "fgpr is for a regression of rows of numbers; choose data such as diabetes, or a table with "
                "a number as its label."
            )
        known = cast(Kernel, self.kernel)
        fitted = replace(self, kernel=cast(str, replace(known, inputs=shape[0])))
        return FGPR.prepare(fitted, task, federation)
