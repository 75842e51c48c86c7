"""Do the claims on sampling schemes hold, and would a scheme that lies about itself be caught?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.participation import (
    ClusteredBySize,
    Cohort,
    Multinomial,
    Optimal,
    RoundContext,
    Uniform,
    WeightStatistics,
)
from unalike.participation.samplers import clustered_size as clustered_size_module
from unalike_studies.sampling import theory

IMPORTANCE = theory.SIZES / theory.SIZES.sum()
DRAWS = 3000


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


def lying(monkeypatch, kind, **changes):
    """Let a scheme report moments that are not its own."""
    honest = kind.statistics

    def statistics(self, importance, *rest):
        true = honest(self, importance, *rest)
        return replace(true, **{name: change(getattr(true, name)) for name, change in changes.items()})

    monkeypatch.setattr(kind, "statistics", statistics)


@pytest.fixture(scope="module")
def md_weights():
    return theory.draw_weights(Multinomial(per_round=4), IMPORTANCE, DRAWS)


# The claims hold.


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (lambda: theory.moments_claims(DRAWS), 8),
        (lambda: theory.identity_claims(20_000), 4),
        (theory.table_claims, 18),
        (theory.comparison_claims, 7),
        (theory.coverage_claims, 4),
        (lambda: theory.validity_claims(24), 4),
        (lambda: theory.laboratory_claims(quick=True), 12),
        (theory.pitfall_claims, 2),
    ],
    ids=["moments", "identities", "table", "comparison", "coverage", "validity", "laboratory", "pitfall"],
)
def test_the_claims_hold(claims, count):
    found = list(claims())
    assert broken(found) == []
    assert len(found) == count
    assert all(claim.hard for claim in found)


def test_importances_of_two_kinds_have_the_squares_that_were_asked_for():
    for squares in (0.0105, 0.0115, 0.019):
        importance = theory.with_squares(squares)
        assert importance @ importance == pytest.approx(squares)
        assert importance.sum() == pytest.approx(1.0)
        assert (importance > 0).all()


# Moments.


@pytest.mark.parametrize(
    "lie",
    [
        {"mean": lambda mean: np.roll(mean, 1)},
        {"variance": lambda variance: 1.5 * variance},
        {"inclusion": lambda inclusion: 0.9 * inclusion},
        {"variance_of_sum": lambda variance: variance + 0.01},
        {"alpha": lambda alpha: 0.0},
        {"clients_variance": lambda variance: 1.5 * variance},
    ],
    ids=lambda lie: next(iter(lie)),
)
def test_moments_that_are_wrong_are_many_standard_errors_away(md_weights, lie):
    true = Multinomial(per_round=4).statistics(IMPORTANCE)
    assert theory.largest_deviation(md_weights, true) <= 5
    ((name, change),) = lie.items()
    assert theory.largest_deviation(md_weights, replace(true, **{name: change(getattr(true, name))})) > 5


def test_a_scheme_whose_statistics_lie_is_caught_and_the_others_are_not_blamed(monkeypatch):
    lying(monkeypatch, Multinomial, variance=lambda variance: 1.5 * variance)
    (caught,) = broken(theory.moments_claims(DRAWS))
    assert caught.id == "CS-1"
    assert "md" in caught.claim


def test_a_scheme_that_draws_otherwise_than_it_says_is_caught(monkeypatch):
    """Uniform draws under the name of multinomial ones."""
    monkeypatch.setattr(Multinomial, "draw", lambda self, p, rng: Uniform(per_round=4).draw(p, rng))
    (caught,) = broken(theory.moments_claims(DRAWS))
    assert "md" in caught.claim


def test_optimal_sampling_that_draws_otherwise_than_it_says_is_caught(monkeypatch):
    def everyone(self, turn: RoundContext) -> Cohort:
        return Cohort(np.arange(len(turn.importance)), np.ones(len(turn.importance)))

    monkeypatch.setattr(Optimal, "cohort", everyone)
    assert broken(theory.moments_claims(DRAWS))


def test_a_constant_that_is_wrong_is_infinitely_many_standard_errors_away():
    """Weights that never change have no standard error; then any difference counts."""
    same = np.tile(IMPORTANCE, (10, 1))
    ones, zeros = np.ones(12), np.zeros(12)
    honest = WeightStatistics(IMPORTANCE, IMPORTANCE, zeros, ones, 0.0, alpha=0.0, clients_variance=0.0)
    assert theory.largest_deviation(same, honest) == 0
    assert theory.largest_deviation(same, replace(honest, mean=IMPORTANCE + 1e-6)) > 1e6


# Identities, tables, comparisons.


def test_a_wrong_alpha_breaks_the_identities(monkeypatch):
    lying(monkeypatch, Multinomial, alpha=lambda alpha: alpha + 1e-6)
    assert any("Var[sum]" in claim.claim for claim in broken(theory.identity_claims(10)))


def test_clustered_draws_that_do_not_fit_their_distributions_are_caught(monkeypatch):
    monkeypatch.setattr(ClusteredBySize, "draw", lambda self, p, rng: Multinomial(per_round=4).draw(p, rng))
    (caught,) = broken(theory.identity_claims(DRAWS))
    assert caught.claim == "the same, by drawing"


@pytest.mark.parametrize("words", list(theory.TABLE))
def test_a_digit_that_differs_from_the_printed_table_is_caught(monkeypatch, words):
    for what, published in theory.TABLE[words].items():
        shifted = {**theory.TABLE, words: {**theory.TABLE[words], what: published + 2e-4}}
        monkeypatch.setattr(theory, "TABLE", shifted)
        (caught,) = broken(theory.table_claims())
        assert caught.claim.startswith(what)
        monkeypatch.undo()


def test_a_wrong_gamma_is_caught_in_every_comparison(monkeypatch):
    lying(monkeypatch, Uniform, alpha=lambda alpha: alpha + 0.1)
    caught = [claim.id for claim in broken(theory.comparison_claims())]
    assert caught.count("CS-4") == 4
    assert "CS-5" in caught


# Clustered schemes.


def test_conditions_are_checked_in_whole_numbers():
    sizes = np.array([1, 2, 3])
    rows = np.array([[2, 4, 0], [0, 0, 6]])
    assert theory._valid(rows, sizes, 2)
    assert not theory._valid(rows + np.array([[1, -1, 0], [-1, 1, 0]]), sizes, 2), "a negative probability"
    assert not theory._valid(rows + np.array([[1, -1, 0], [0, 0, 0]]), sizes, 2), "a client counts more"
    assert not theory._valid(np.array([[2, 4, 1], [0, 0, 5]]), sizes, 2), "rows that do not sum to one"


def test_probabilities_that_are_no_multiples_of_one_row_are_not_valid():
    class Crooked:
        def matrix(self, importance):
            return np.array([[0.3, 0.7], [0.2, 0.8]])

    rows = theory._exact(Crooked(), np.array([0.25, 0.75]), np.array([1, 3]))
    assert (rows == -1).all()
    assert not theory._valid(rows, np.array([1, 3]), 2)


def test_the_instances_are_awkward():
    rng = np.random.default_rng(11)
    drawn = [theory._awkward_sizes(rng, k) for k in range(60)]
    assert any(m * sizes[0] / sizes.sum() >= 7.5 for sizes, m in drawn)
    assert any(m == len(sizes) for sizes, m in drawn)
    assert all(1 <= m <= len(sizes) and sizes.min() > 0 for sizes, m in drawn)


def test_distributions_that_forget_a_client_are_caught(monkeypatch):
    honest = ClusteredBySize.matrix

    def forgetful(self, importance):
        rows = honest(self, importance)
        rows[:, 0], rows[:, -1] = 0, rows[:, -1] + rows[:, 0]
        return rows

    monkeypatch.setattr(ClusteredBySize, "matrix", forgetful)
    caught = broken(theory.validity_claims(6))
    assert any(claim.id == "CS-7" and claim.measured == 6 for claim in caught)


def test_a_scheme_with_more_variance_than_multinomial_is_caught(monkeypatch):
    lying(monkeypatch, ClusteredBySize, variance=lambda variance: variance + 1e-6)
    assert [claim.id for claim in broken(theory.validity_claims(6))] == ["CS-8"]


# The laboratory and the pitfall.


def test_a_simulation_that_ends_elsewhere_than_the_formula_says_is_caught(monkeypatch):
    monkeypatch.setattr(theory, "simulate", lambda *_, **__: np.full((2, 60), 1.5))
    assert [claim.id for claim in broken(theory._stationary_claims(quick=True))] == 4 * ["CS-10"]


def test_ties_broken_by_number_are_caught(monkeypatch):
    monkeypatch.setattr(clustered_size_module, "bits", lambda seed, purpose, numbers: numbers)
    (caught,) = broken(theory.pitfall_claims())
    assert caught.measured == pytest.approx(10.0)
