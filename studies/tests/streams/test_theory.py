"""Do the claims on data streams hold, and would wrong importances, constants or tables be caught?"""

import numpy as np
import pytest

from unalike.data.streams import optimal_importance
from unalike.data.streams.bound_constants import Constants
from unalike_studies.streams import theory
from unalike_studies.streams.data import CELLS, FRACTIONS, SETTINGS
from unalike_studies.theory.streams import lower_bound, tradeoff


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


# The claims hold.


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (lambda: theory.solver_claims(10), 3),
        (theory.importance_claims, 6),
        (theory.femnist_claims, 6),
        (theory.threshold_claims, 6),
        (theory.identity_claims, 9),
        (theory.parameter_claims, 5),
        (lambda: theory.lower_bound_claims(2000), 4),
        (theory.table_claims, 4),
        (theory.curve_claims, 6),
    ],
    ids=["solver", "p*", "femnist", "ties", "identities", "parameters", "toy", "tables", "curves"],
)
def test_the_claims_hold(claims, count):
    found = list(claims())
    assert broken(found) == []
    assert len(found) == count


def test_what_does_not_hold_is_said_and_does_not_fail_the_study():
    claims = list(theory.theory_claims(quick=True))
    assert broken(claims) == []
    soft = [claim for claim in claims if not claim.holds]
    assert {claim.id for claim in soft} == {"DS-7", "DS-15"}
    assert any("published 6 q" in claim.claim for claim in soft)
    words = " ".join(claim.claim for claim in soft if claim.id == "DS-15")
    assert all(name in words for name in ("Synthetic", "CIFAR-10", "CIFAR-100", "Shakespeare"))


def test_every_table_has_three_cells():
    assert all(len(row) == len(FRACTIONS) for row in CELLS.values())
    assert all(fresh < setting.clients for setting in SETTINGS.values() for fresh in setting.fresh)


# Mistakes are caught.


def test_roots_that_are_not_separate_are_caught(monkeypatch):
    """One root over both sums was a way to read the formula."""

    def one_root(importance, shares, fresh, ratio):
        first = optimal_importance.fresh_norm(importance, fresh)
        return np.sqrt(first**2 + ratio * np.sqrt(optimal_importance.imbalance(importance, shares)))

    monkeypatch.setattr(theory, "psi", one_root)
    assert any("SLSQP" in claim.claim for claim in broken(theory.solver_claims(10)))
    assert any("cost the same" in claim.claim for claim in broken(theory.threshold_claims()))


def test_importances_that_forget_the_noise_are_caught(monkeypatch):
    monkeypatch.setattr(theory, "optimal_importance", lambda shares, fresh, ratio: np.asarray(shares))
    assert len(broken(theory.importance_claims())) == 6
    assert len(broken(theory.femnist_claims())) == 3
    assert len(broken(theory.solver_claims(10))) == 3
    assert broken(theory.threshold_claims())


def test_a_closed_form_with_a_wrong_number_of_fresh_clients_is_caught(monkeypatch):
    honest = optimal_importance.best_historical_share
    monkeypatch.setattr(theory, "best_historical_share", lambda f, kappa: honest(f, kappa**2))
    (caught,) = broken(theory.solver_claims(10))
    assert "closed form" in caught.claim


def test_constants_without_fresh_clients_are_caught(monkeypatch):
    monkeypatch.setattr(Constants, "ratio", lambda self, fresh: self.kappa)
    assert len(broken(theory.femnist_claims())) >= 3


def test_weights_that_are_not_divided_by_what_is_held_are_caught(monkeypatch):
    monkeypatch.setattr(theory, "constant_weights", lambda importance, held: np.asarray(importance))
    assert any("rows that count" in claim.claim for claim in broken(theory.identity_claims()))


def test_a_stream_that_is_not_forgotten_is_no_lower_bound(monkeypatch):
    monkeypatch.setattr(lower_bound, "OPTIMA", np.zeros((2, 2)))
    assert broken(theory.lower_bound_claims(2000))


def test_curves_of_the_wrong_bound_are_caught(monkeypatch):
    honest = tradeoff.bound_at
    monkeypatch.setattr(tradeoff, "bound_at", lambda h, f, kappa: honest(h, f, kappa) + 2 * np.asarray(f))
    assert broken(theory.curve_claims())


@pytest.mark.parametrize("field", ["ours", "fresh"])
def test_a_digit_that_differs_from_the_table_is_caught(monkeypatch, field):
    wrong = {name: tuple(cell._replace(**{field: 60.0}) for cell in row) for name, row in CELLS.items()}
    monkeypatch.setattr(theory, "CELLS", wrong)
    assert broken(theory.table_claims())
