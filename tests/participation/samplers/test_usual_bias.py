"""Is the bias of the usual draw known, and said where it is worth saying?"""

import warnings

import numpy as np
import pytest

from unalike import FedAvg, Federation, Task, models, train
from unalike.participation import Multinomial, Renormalized
from unalike.participation.samplers.renormalized import renormalized_statistics
from unalike.participation.samplers.usual_bias import usual_bias, warn_of_bias


def importances(clients, spread, seed=0):
    found = np.random.default_rng(seed).lognormal(0, spread, clients)
    return found / found.sum()


def rows(count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 2)).astype(np.float32), np.arange(count) % 2


def federation(*sizes):
    clients = {f"c{i}": rows(size) for i, size in enumerate(sizes)}
    return Federation.from_clients(clients, classes=2, test_fraction=0.0)


def learn(clients, **options):
    task = Task.classification(models.linear(input_shape=(2,), outputs=2), 2)
    return train(clients, task, FedAvg(), rounds=1, **options)


@pytest.mark.parametrize(("n", "m"), [(7, 1), (12, 3), (30, 29), (200, 10)])
def test_the_two_ends_are_those_of_the_exact_statistics(n, m):
    p = importances(n, 1.0)
    found, exact = usual_bias(p, m), renormalized_statistics(p, m).mean / p
    assert found.gain == pytest.approx(exact[found.favored], rel=0.03)
    assert found.loss == pytest.approx(exact[found.slighted], rel=0.03)
    assert found.slighted == exact.argmin() == p.argmax()


def test_who_hardly_counts_is_not_spoken_of():
    p = np.array([1e-6, *[1.0] * 9])
    assert usual_bias(p / p.sum(), 3).favored != 0


def test_equal_clients_everyone_and_unbiased_draws_are_silent():
    equal, unequal = np.full(10, 0.1), importances(10, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_of_bias(Renormalized(per_round=3), equal, str) == []
        assert warn_of_bias(Renormalized(per_round=10), unequal, str) == []
        assert warn_of_bias(Multinomial(per_round=3), unequal, str) == []


def test_a_run_warns_once_and_has_it_in_its_events():
    unequal = federation(2, 2, 2, 40)
    with pytest.warns(UserWarning, match="client c3 0.5. times; sampling md") as said:
        run = learn(unequal, per_round=2)
    assert len(said) == 1
    (event,) = run.events()
    assert (event["round"], event["kind"], event["slighted"]) == (0, "biased sampling", "c3")
    assert event["counts_only"] < 1 < event["counts"]


def test_runs_without_bias_have_no_event():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learn(federation(4, 4, 4, 4), per_round=2).events() == []
        assert learn(federation(2, 2, 2, 40), participation=Multinomial(per_round=2)).events() == []
