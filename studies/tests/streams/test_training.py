"""Do the trainings on data streams show what was published, and would wrong weights be caught?"""

import numpy as np
import pytest

from unalike.data.sources.source import Source
from unalike.data.streams import weights
from unalike.data.streams.memory import Replace, Span
from unalike_studies.streams import training
from unalike_studies.streams.problems import accuracy, gaussians, logistic, pictures, points


def broken(claims):
    """The claims that do not hold."""
    return [claim for claim in claims if not claim.holds]


# The claims hold.


def test_training_is_the_published_algorithm():
    found = list(training.meta_algorithm_claims())
    assert len(found) == 3
    assert broken(found) == []
    assert all(claim.hard for claim in found)


def test_a_memory_a_hundred_times_as_large_makes_weights_by_memory_historical():
    assert broken(training.memory_size_claims(quick=True)) == []


def test_every_part_is_in_the_study(monkeypatch):
    for name in ("meta_algorithm", "synthetic", "interior", "tuned", "memory_size", "real"):
        monkeypatch.setattr(training, f"{name}_claims", lambda *quick, name=name: iter([name]))
    quick = set(training.training_claims(quick=True))
    assert quick == {"meta_algorithm", "synthetic", "interior", "memory_size"}
    assert set(training.training_claims(quick=False)) == quick | {"tuned", "real"}


def test_without_files_nothing_is_claimed_of_real_data(monkeypatch):
    monkeypatch.setattr(training, "local", lambda name: None)
    assert list(training.real_claims()) == []


# Problems are what they say.


@pytest.mark.parametrize(("fraction", "rows"), [(0.05, 1), (0.2, 4), (0.5, 10)])
def test_the_published_synthetic_problem_has_two_hundred_rows(fraction, rows):
    problem = logistic(fraction, 0)
    assert problem.federation.train.sizes.tolist() == [rows] * 10 + [200 - 10 * rows]
    assert problem.rounds == 200 - 10 * rows


def test_a_fresh_batch_is_a_round_of_another_client():
    problem = gaussians(0, rounds=4, steps=1)
    assert problem.federation.train.sizes.tolist() == [20] * 20 + [80]
    assert problem.ordered
    labels = problem.federation.train.client(20)[1].reshape(4, 20)
    assert len({tuple(np.bincount(batch, minlength=10)) for batch in labels}) == 4


def test_pictures_are_cut_into_two_parts_and_every_fresh_row_arrives():
    rng = np.random.default_rng(0)
    source = Source(rng.normal(size=(2000, 6)).astype(np.float32), rng.integers(0, 10, 2000), 10)
    problem = pictures(source, 0.2, seed=0, samples=1000, rounds=5)
    sizes = problem.federation.train.sizes
    assert len(sizes) == 50
    assert sizes[:25].sum() == pytest.approx(0.2 * sizes.sum(), rel=0.1)
    run = problem.learn("uniform", 0.1, 0)
    assert np.nansum(run.metrics()["arrived"]) == sizes.sum()
    assert 0 < accuracy(run) < 100


def test_one_seed_has_one_problem():
    one, two = points(3).federation.train, points(3).federation.train
    np.testing.assert_array_equal(one.y, two.y)


# Mistakes are caught.


def test_weights_that_forget_the_sizes_of_clients_are_caught(monkeypatch):
    def even(self, clients):
        old = clients.historical / clients.historical.sum()
        return (
            self.historical * old + (1 - self.historical) * ~clients.historical / (~clients.historical).sum()
        )

    monkeypatch.setattr(weights.Fixed, "shares", even)
    assert [claim.claim[:4] for claim in broken(training.meta_algorithm_claims())] == ["last", "its "]


def test_weights_that_turn_old_and_new_round_are_caught(monkeypatch):
    honest = weights.Fixed.shares

    def swapped(self, clients):
        return honest(self, clients._replace(historical=~clients.historical))

    monkeypatch.setattr(weights.Fixed, "shares", swapped)
    assert len(broken(training.meta_algorithm_claims())) == 3


def test_a_memory_that_keeps_too_much_is_caught(monkeypatch):
    monkeypatch.setattr(
        Replace, "span", lambda self, arrivals, t: Span(arrivals.gone(t), arrivals.arrived(t))
    )
    assert broken(training.meta_algorithm_claims())


def test_weights_by_memory_that_count_clients_are_caught(monkeypatch):
    monkeypatch.setattr(
        weights.MemorySize, "totals", lambda self, held: (held > 0) * (1.0 + 99 * (held < 50))
    )
    assert broken(training.memory_size_claims(quick=True))
