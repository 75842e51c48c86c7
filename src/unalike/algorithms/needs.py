"""What a method needs of engines, timings, aggregators and deployments."""

from __future__ import annotations

from typing import NamedTuple


class Needs(NamedTuple):
    """The needs of a method beyond the weighted sum of uploads; `a | b` has the needs of both.

    >>> Needs(uploads=True) | Needs(float64=True)
    Needs(uploads=True, importance_sum=False, rounds=False, round_weights=False, rows_to_predict=False,
    shared_seed=False, static_rates=False, float64=True)
    """

    uploads: bool = False
    """`aggregate` needs each upload, not only their weighted sum."""
    importance_sum: bool = False
    """`aggregate` also needs the sum of uploads weighted by importance, whatever their weights."""
    rounds: bool = False
    """All clients of a step must start from the same model, because rounds follow each other in phases."""
    round_weights: bool = False
    """Rounds of a stream count by the weight of their rows (`Algorithm.weigh_round`)."""
    rows_to_predict: bool = False
    """`predictor` uses a client's training rows, so that it cannot predict without them."""
    shared_seed: bool = False
    """Clients hide rows by noise that follows from the run's seed, which real clients would know."""
    static_rates: bool = False
    """Learning rates must be Python numbers, so that each is compiled for itself."""
    float64: bool = False
    """Rounds compute with 64-bit floats, as closed forms of statistics require; rows must be, too."""

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))
