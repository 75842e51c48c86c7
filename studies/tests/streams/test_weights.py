"""Do the claims on weights hold, and would wrong weights be caught?"""

import numpy as np

from unalike.data.historical_split import HistoricalSplit
from unalike.data.streams import rounds_in_memory
from unalike.data.streams import stream as streams
from unalike_studies.streams import weights


def broken(claims):
    """The claims that do not hold."""
    return [claim for claim in claims if not claim.holds]


def test_the_claims_hold():
    found = [*weights.weight_claims(quick=True)]
    assert broken(found) == []
    assert {claim.id for claim in found} == {"DS-16", "DS-17", "DS-18", "DS-19", "DS-20"}
    assert all(claim.hard for claim in found)


def test_rows_that_are_weighed_alike_however_long_they_stay_are_caught(monkeypatch):
    honest = rounds_in_memory.row_rates
    monkeypatch.setattr(streams, "row_rates", lambda tau, offsets: honest(np.minimum(tau, 1), offsets))
    assert len(broken(weights.lifetime_claims())) >= 3


def test_targets_that_nobody_pulls_to_are_caught(monkeypatch):
    honest = weights.general_importance

    def deaf(shares, fresh, target, terms):
        return honest(shares, fresh, shares, terms)

    monkeypatch.setattr(weights, "general_importance", deaf)
    assert len(broken(weights.target_claims(2))) == 2


def test_a_split_of_clients_for_rows_is_caught(monkeypatch):
    monkeypatch.setattr(HistoricalSplit, "rows", lambda self, total: total // 2)
    assert len(broken(weights.split_claims())) == 4
