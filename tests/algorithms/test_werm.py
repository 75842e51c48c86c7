"""Does the weight of WERM weigh two means, and does its private form hide each set by itself?"""

import numpy as np
import pytest

import unalike
from unalike.algorithms import DPSGD, WERM, WERMDPSGD, LocalWork, Optimizer
from unalike.data.reference_rows import reference_sizes, split_reference

from . import naive

SIZES, RATE = [7, 6, 1], 0.3
ALL = LocalWork(steps=3, batch_size=0)
SGD = Optimizer("sgd", RATE)


def model(method, federation=None, rounds=2):
    federation = naive.federation(SIZES) if federation is None else federation
    return naive.flat(naive.train(federation, naive.task(), method, rounds).message)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.8, 1.0])
def test_a_step_is_that_of_the_weighted_sum_of_two_means(weight):
    federation = naive.federation(SIZES)
    found = model(WERM(work=ALL, optimizer=SGD, weight=weight, reference_fraction=0.4), federation, 1)
    expected = naive.zeros()
    for i, share in enumerate(federation.importance):
        x, y = federation.train.client(i)
        theta, r = naive.zeros(), int(reference_sizes(np.array([len(x)]), 0.4)[0])
        n = len(x) - r
        for _ in range(ALL.steps):
            step = naive.gradient(theta, x[:n], y[:n])
            if r:
                step = weight * step + (1 - weight) * naive.gradient(theta, x[n:], y[n:])
            theta = theta - RATE * step
        expected += share * theta
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_share_of_training_rows_as_weight_is_fedavg_on_all_rows():
    federation = naive.federation([8, 4])
    work = LocalWork(epochs=2, batch_size=3)
    plain = model(unalike.FedAvg(work=work, optimizer=SGD), federation)
    pooled = model(WERM(work=work, optimizer=SGD, weight=0.75, reference_fraction=0.25), federation)
    np.testing.assert_allclose(pooled, plain, atol=1e-6)


@pytest.mark.parametrize(("weight", "part"), [(1.0, 0), (0.0, 1)])
def test_at_its_ends_it_learns_from_one_set_alone(weight, part):
    federation = naive.federation([8, 6])
    alone = split_reference(federation, 0.5)[part]
    found = model(WERM(work=ALL, optimizer=SGD, weight=weight), federation)
    np.testing.assert_allclose(found, model(unalike.FedAvg(work=ALL, optimizer=SGD), alone), atol=1e-6)


def test_without_reference_rows_it_is_fedavg():
    found = model(WERM(work=ALL, optimizer=SGD, weight=0.3, reference_fraction=0.0))
    np.testing.assert_allclose(found, model(unalike.FedAvg(work=ALL, optimizer=SGD)), atol=1e-6)


def test_its_private_form_without_noise_or_clipping_is_werm():
    silent = {"noise": 0.0, "reference_noise": 0.0, "clip_norm": 1e6}
    private = model(WERMDPSGD(work=ALL, optimizer=SGD, weight=0.7, **silent), naive.federation([8, 6]))
    plain = model(WERM(work=ALL, optimizer=SGD, weight=0.7), naive.federation([8, 6]))
    np.testing.assert_allclose(private, plain, atol=1e-6)


def test_each_set_is_clipped_and_hidden_by_noise_of_its_own_weight():
    """Far from any row (a norm of nearly nothing) only noise is left: of deviation rate z C share / b."""
    federation = naive.federation([60, 60])
    model_of = unalike.models.linear(input_shape=(naive.FEATURES,), outputs=300)
    task = unalike.Task.classification(model_of, 300)
    one = LocalWork(steps=1, batch_size=10)
    for noise, reference, weight, share in ((2e6, 0.0, 0.3, 0.3), (0.0, 2e6, 0.3, 0.7), (0.0, 2e6, 0.9, 0.1)):
        settings = {"noise": noise, "reference_noise": reference, "clip_norm": 1e-6, "weight": weight}
        method = WERMDPSGD(work=one, optimizer=Optimizer("sgd", 1.0), **settings)
        runs = [unalike.train(federation, task, method, rounds=r, evaluate_every=0) for r in (0, 1)]
        moved = np.ravel(np.asarray(runs[1].message["w"]) - np.asarray(runs[0].message["w"]))
        expected = 2.0 * share / 10 / np.sqrt(2)  # the mean of two clients
        assert abs(moved.std() / expected - 1) < 5 / np.sqrt(2 * len(moved))


def test_both_sets_have_an_account_and_one_that_weighs_nothing_spends_nothing():
    sizes = np.array([10, 4])
    both = WERMDPSGD(weight=0.5, reference_fraction=0.25).private_rows(sizes)
    assert {name: rows.sizes.tolist() for name, rows in both.items()} == {
        "row_epsilon": [7, 3],
        "reference_epsilon": [3, 1],
    }
    assert both["reference_epsilon"].setting == "reference_noise"
    assert WERMDPSGD(weight=1.0).private_rows(sizes)["reference_epsilon"].sizes.tolist() == [0, 0]
    assert list(DPSGD().private_rows(sizes)) == ["row_epsilon"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"weight": 1.1}, "weight must lie between 0 and 1"),
        ({"reference_fraction": 1.0}, "reference fraction"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, words):
    for method in (WERM, WERMDPSGD):
        with pytest.raises(unalike.ConfigError, match=words):
            method(**settings)
