"""Optimal weights of clients in a stream: those that minimize the published error bound.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), corollaries 5.1 (psi, where the
target are the shares of rows) and 5.1' (phi, for any other target). The case behind both: historical clients
keep all of their rows, fresh ones receive rows at a constant rate and use each in one round (a memory with
capacity for one batch, C_m = b_m). Training warns where a stream is another one (:mod:`.fresh_use`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s
from ..importance import importance_of
from .optimal_importance import optimal_importance
from .target_importance import BY_ROWS, USUAL_DISCREPANCY, Tradeoff, general_importance
from .weights import Collected, StreamWeights, stream_weight_registry

ESTIMATED = "estimated"
_TARGETS = (BY_ROWS, "equal")


@stream_weight_registry.add("optimal")
class Optimal(StreamWeights):
    """`optimal:0.15` minimizes the published bound for c2/c1 = 0.15; `optimal` estimates c2/c1 from first
    local steps (see `unalike advise stream`); `optimal:0.15,equal` for target weights other than rows."""

    by_lifetime = True
    assumes_single_use = True

    def __init__(
        self,
        ratio: float | str | None = None,
        target: str | ArrayLike = BY_ROWS,
        discrepancy: float | None = None,
    ) -> None:
        """Choose the bound's constants and the target.

        Args:
            ratio: c2/c1; estimated when it is None or `estimated`.
            target: what clients should count where the error is judged: `data` (their rows), `equal`, or
                a number per client, also in a file.
            discrepancy: the part of c2 that stands for the discrepancy between clients, from 0 to 1, for
                targets other than rows; half where c2/c1 is given, else estimated, too.
        """
        self.ratio = _check_ratio(ratio)
        """None until it is estimated."""
        self.target = check_target(target)
        self.discrepancy = discrepancy
        if discrepancy is not None and not 0 <= discrepancy <= 1:
            raise ConfigError(f"the discrepancy's part of c2 must be from 0 to 1, but is {discrepancy}.")

    def fit(self, tradeoff: Callable[[], Tradeoff]) -> None:
        if self.ratio is None:
            self.ratio, measured = tradeoff()
            self.discrepancy = measured if self.discrepancy is None else self.discrepancy

    @property
    def tradeoff(self) -> Tradeoff:
        """What is known of the bound's constants."""
        if self.ratio is None:
            raise ConfigError("optimal weights need c2/c1, such as optimal:0.15; a training estimates it.")
        return Tradeoff(self.ratio, USUAL_DISCREPANCY if self.discrepancy is None else self.discrepancy)

    def shares(self, clients: Collected) -> Float64s:
        rows, fresh = clients.totals / max(int(clients.totals.sum()), 1), ~clients.historical
        if is_by_rows(self.target):
            return optimal_importance(rows, fresh, self.tradeoff.ratio)
        alpha = importance_of(self.target, clients.totals)
        return general_importance(rows, fresh, alpha, self.tradeoff.terms)

    def facts(self) -> dict[str, float]:
        if self.ratio is None:
            return {}
        if is_by_rows(self.target):
            return {"tradeoff_ratio": self.ratio}
        return {"tradeoff_ratio": self.ratio, "tradeoff_discrepancy": self.tradeoff.discrepancy}


def is_by_rows(target: str | ArrayLike) -> bool:
    """Whether a target counts all rows alike, so that the bound is psi."""
    return isinstance(target, str) and target == BY_ROWS


def check_target(target: str | ArrayLike) -> str | ArrayLike:
    """The same target weights, if their name means something."""
    if isinstance(target, str | int | float):
        if str(target) not in _TARGETS and not _is_file(str(target)):
            raise ConfigError(
                f"target weights must be {' or '.join(_TARGETS)}, or a file of one number per client, but "
                f"are {target!r}."
            )
        return str(target)
    return np.asarray(target, np.float64)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # no file system has a name like this
        return False


def _check_ratio(ratio: float | str | None) -> float | None:
    if ratio is None or ratio == ESTIMATED:
        return None
    if isinstance(ratio, str):
        raise ConfigError(
            f"optimal weights begin with c2/c1, a number or {ESTIMATED!r}, such as "
            f"optimal:{ESTIMATED},equal, and not with {ratio!r}."
        )
    if not ratio >= 0:
        raise ConfigError(f"the ratio c2/c1 must not be negative, but is {ratio}.")
    return ratio
