"""Does the advice follow from the numbers, and do the numbers follow from the clients?"""

import time

import numpy as np
import pytest

from unalike import Federation
from unalike.advice import advise_sampling
from unalike.advice.sampling import COLUMNS, SCHEMES
from unalike.errors import ConfigError
from unalike.participation import Cohort, Sampler, WeightStatistics, sampler_registry

SIZES = np.repeat([100, 250, 500, 750, 1000], [10, 30, 30, 20, 10])
UNEQUAL = SIZES / SIZES.sum()
EQUAL = np.full(100, 0.01)
UNEVEN = np.r_[0.9, np.full(19, 0.1 / 19)]


def test_equal_clients_are_drawn_uniformly():
    advice = advise_sampling(EQUAL, 10)
    assert advice.recommended == "uniform"
    assert advice.warnings == ()
    assert "Against md: uniform has the smaller total variance (0.09 against 0.099)" in advice.verdict
    assert "Against clustered-size: both have the same total variance" in advice.verdict


def test_unequal_clients_are_drawn_from_clusters_by_size():
    advice = advise_sampling(UNEQUAL, 10, sizes=SIZES)
    assert advice.recommended == "clustered-size"
    assert "(0.08749 against 0.09869)" in advice.verdict
    assert advise_sampling(UNEQUAL, 10, names=["uniform", "md", "binomial"]).recommended == "md"


def test_all_clients_in_every_round_need_no_sampling():
    assert advise_sampling(np.array([0.5, 0.3, 0.2]), 3).recommended == "full"
    assert advise_sampling(EQUAL[:1] * 100, 1).recommended == "full"


@pytest.mark.parametrize(
    ("scheme", "column", "value"),
    [
        ("md", "total_variance", 0.09869380),
        ("uniform", "total_variance", 0.11755766),
        ("clustered-size", "total_variance", 0.08749070),
        ("md", "gamma", 0.1),
        ("uniform", "gamma", 0.11874511),
        ("uniform", "variance_of_sum", 0.02783602),
        ("md", "distinct_clients", 9.43537),
        ("clustered-size", "distinct_clients", 9.97237),
        ("binomial", "empty_rounds", 0.9**100),
        ("poisson", "empty_rounds", float(np.prod(1 - 10 * UNEQUAL))),
        ("md", "empty_rounds", 0.0),
        ("uniform", "largest_variance", 9 * (1000 / 48500) ** 2),
    ],
)
def test_the_table_holds_the_exact_numbers(scheme, column, value):
    row = advise_sampling(UNEQUAL, 10, names=[scheme])[scheme].row()
    assert row[column] == pytest.approx(value, abs=1e-5 if value > 1 else 1e-8)


def test_every_scheme_has_a_row_with_all_columns():
    advice = advise_sampling(UNEQUAL, 10)
    assert [scheme.name for scheme in advice.schemes] == [
        name for name in SCHEMES if name in sampler_registry
    ]
    for scheme in advice.as_dict()["schemes"]:
        assert set(scheme) == {"scheme", "note", *COLUMNS}
    assert {"md", "uniform", "optimal"} <= set(advice.statistics)


def test_biased_schemes_are_called_biased_and_say_how():
    advice = advise_sampling(UNEQUAL, 10)
    biased = {scheme.name for scheme in advice.schemes if not scheme.row()["unbiased"]}
    assert biased == {"fedavg-original", "fedavg-renormalized"}
    assert advice["fedavg-original"].note == "steps have 0.1 of the full length"
    assert "of the weight is at the wrong clients" in advice["fedavg-renormalized"].note
    assert advise_sampling(EQUAL, 10)["fedavg-renormalized"].row()["unbiased"]


def test_an_impossible_scheme_says_why_and_has_no_numbers():
    poisson = advise_sampling(UNEVEN, 2)["poisson"]
    assert "needs no importance above 1/2" in poisson.note
    assert poisson.row() == {"scheme": "poisson", **dict.fromkeys(COLUMNS)}


def test_steps_of_random_length_are_warned_of_with_the_step_at_which_training_diverges():
    (warning,) = advise_sampling(UNEVEN, 2).warnings
    assert "0.244 (uniform)" in warning
    assert "(md)" not in warning
    assert warning in advise_sampling(UNEVEN, 2).verdict


def test_without_the_usual_schemes_the_least_biased_steadiest_one_is_chosen():
    names = ["fedavg-renormalized", "binomial", "poisson"]
    assert advise_sampling(UNEQUAL, 10, names=names).recommended == "poisson"
    with pytest.raises(ConfigError, match="none of these sampling schemes is possible"):
        advise_sampling(UNEVEN, 2, names=["poisson"])


def test_a_federation_speaks_for_itself():
    rows = {name: (np.zeros((size, 1)), np.zeros(size)) for name, size in {"a": 8, "b": 1, "c": 3}.items()}
    federation = Federation.from_clients(rows, test_fraction=0, classes=2)
    by_rows, by_hand = advise_sampling(federation, 2), advise_sampling(np.array([8, 1, 3]) / 12, 2)
    assert by_rows.verdict == by_hand.verdict
    assert advise_sampling(federation.with_importance("equal"), 2).recommended == "uniform"


def test_a_scheme_of_ones_own_is_compared_too():
    class First(Sampler):
        def draw(self, importance, rng):
            return Cohort(np.array([0]), np.ones(1))

        def statistics(self, importance):
            sure = (np.arange(len(importance)) == 0).astype(float)
            return WeightStatistics(importance, sure, 0 * sure, sure, 0.0)

    sampler_registry.add("first of all")(First)
    try:
        first = advise_sampling(EQUAL, 1, names=["md", "first of all"])["first of all"]
    finally:
        del sampler_registry._makers["first of all"]
    assert first.empty is None
    assert first.note == "99 % of the weight is at the wrong clients"


def test_a_million_clients_take_seconds():
    importance = np.random.default_rng(0).lognormal(size=1_000_000)
    start = time.perf_counter()
    advice = advise_sampling(importance / importance.sum(), 100)
    assert time.perf_counter() - start < 20  # about two on an idle machine
    assert advice.recommended == "clustered-size"
    assert "would take long" in advice["fedavg-renormalized"].note


def test_very_many_clients_of_nearly_equal_importance_are_drawn_uniformly():
    importance = np.random.default_rng(0).uniform(0.999, 1.001, 200_000)
    advice = advise_sampling(importance / importance.sum(), 100, names=["md", "uniform"])
    assert advice.recommended == "uniform"
    assert "needs no table of importances" in advice.verdict


def test_impossible_requests_are_one_sentence():
    with pytest.raises(ConfigError, match=r"per_round must be between 1 and the number of clients \(100\)"):
        advise_sampling(EQUAL, 101)
    with pytest.raises(ConfigError, match=r"importance must sum to one, but sums to 0\.5"):
        advise_sampling(EQUAL[:50], 5)
    with pytest.raises(ConfigError, match="did you mean 'uniform'"):
        advise_sampling(EQUAL, 5, names=["unifrom"])
