"""Claims on HM1, HM2 and penalized regression, by simulation."""

from __future__ import annotations

from collections.abc import Iterator

from ..study import Claim
from .hm1_simulations import borrowing_claims, convergence_claims, published_claims
from .hm2_simulations import newcomer_claims, participation_claims, propagation_claims
from .selection import fused_claims, selection_claims


def training_claims(quick: bool) -> Iterator[Claim]:
    """LM3, LM4, LM6 to LM9, LM11, LM12 and LM17."""
    yield from borrowing_claims(quick)
    yield from convergence_claims(quick)
    yield from published_claims(quick)
    yield from propagation_claims(quick)
    yield from participation_claims(quick)
    yield from newcomer_claims(quick)
    yield from selection_claims(quick)
    if not quick:
        yield from fused_claims()
