"""The published claims, as runnable studies."""

from . import foundation as _foundation  # noqa: F401 - registers itself
from .study import Claim, at_least, at_most, run_study, studies

__all__ = ["Claim", "at_least", "at_most", "run_study", "studies"]
