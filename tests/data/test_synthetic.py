"""Generated data follow the law that they name."""

import sys

import numpy as np
import pytest

from unalike.data import load, source_registry
from unalike.data.sources.leaf_synthetic import _client
from unalike.data.sources.mixture import draw_mixture
from unalike.data.sources.quadratic import quadratic_truth, weighted_optimum
from unalike.data.sources.source import some_rows
from unalike.errors import ConfigError, UnalikeError

GENERATED = ["synthetic:0.5,0.5", "synthetic_iid", "gaussians", "mixture:2,10", "quadratic"]


@pytest.mark.parametrize("name", GENERATED)
def test_the_seed_decides(name):
    first, again, other = (load(name, clients=5, seed=s).train for s in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.y, again.y)
    assert first.x.shape != other.x.shape or (first.x != other.x).any()


def test_synthetic_has_leafs_shapes():
    federation = load("synthetic:1,1", clients=12)
    assert (len(federation), federation.input_shape, federation.classes) == (12, (60,), 10)
    assert (federation.train.sizes + federation.test.sizes).min() >= 50


def test_synthetic_inputs_have_the_named_variances():
    x, _ = _client(0.0, 0.0, 0, 0, 0, 20_000)
    np.testing.assert_allclose(x.var(axis=0), np.arange(1, 61) ** -1.2, rtol=0.1)


def test_synthetic_labels_are_linear_in_the_inputs():
    from sklearn.linear_model import LogisticRegression

    x, y = max((_client(0.5, 0.5, 0, k, k, 1000) for k in range(5)), key=lambda rows: len(set(rows[1])))
    x = x * np.arange(1, 61) ** 0.6  # equal variances, so that few iterations suffice
    curved = np.abs(x[:, :3]).argmax(axis=1)
    linear, other = (LogisticRegression(C=100, max_iter=100).fit(x, z).score(x, z) for z in (y, curved))
    assert linear > 0.97 > 0.9 > other


def test_synthetic_clients_differ_and_iid_ones_do_not():
    from unalike.data import describe

    divergence = {
        name: describe(load(name, clients=10))["label_divergence"]
        for name in ("synthetic:1,1", "synthetic_iid")
    }
    assert divergence["synthetic:1,1"] > 0.5 > 0.1 > divergence["synthetic_iid"]


def test_mixture_shares_are_those_of_the_rows():
    truth = draw_mixture(3, 5, 0.4, clients=40, seed=2)
    for client in np.flatnonzero(np.bincount(truth.owners) > 500):
        seen = (
            np.bincount(truth.components[truth.owners == client], minlength=3)
            / (truth.owners == client).sum()
        )
        np.testing.assert_allclose(seen, truth.shares[client], atol=0.09)


def test_mixture_sizes_lie_between_50_and_1000():
    sizes = np.bincount(draw_mixture(2, 3, clients=200).owners)
    assert sizes.min() >= 50
    assert sizes.max() == 1000


def test_mixture_labels_follow_their_rule():
    for rule, least, most in (("threshold", 0.97, 1.0), ("bernoulli", 0.7, 0.95)):
        truth = draw_mixture(3, 150, rule=rule, clients=30)
        predicted = np.einsum("nd,nd->n", truth.x, truth.models[truth.components]) > 0
        assert least < (predicted == truth.y).mean() <= most


def test_mixture_refuses_an_unknown_rule():
    with pytest.raises(UnalikeError, match="did you mean 'threshold'"):
        source_registry.make("mixture:3,10,0.4,treshold")


def test_gaussians_are_separable_when_they_are_far_apart():
    from sklearn.neighbors import NearestCentroid

    source = source_registry.make("gaussians:4,20,12", samples=2000)
    assert NearestCentroid().fit(source.x, source.y).score(source.x, source.y) > 0.999
    assert np.bincount(source.y).tolist() == [500] * 4


@pytest.mark.parametrize("condition", [1.0, 100.0])
def test_quadratic_closed_form(condition):
    arguments = (6, 2.0, condition, 3)
    federation = load(f"quadratic:6,2.0,{condition},3", clients=8, seed=4)
    truth = quadratic_truth(*arguments, clients=8, seed=4)
    np.testing.assert_array_equal(federation.train.sizes, truth.sizes)
    assert len(set(truth.sizes)) > 1
    for i in range(8):
        rows, targets = (array.astype(np.float64) for array in federation.train.client(i))
        hessian = rows.T @ rows / len(rows)
        np.testing.assert_allclose(hessian, truth.hessians[i], atol=1e-5 * condition)
        np.testing.assert_allclose(np.linalg.lstsq(rows, targets)[0], truth.optima[i], atol=1e-4)
        np.testing.assert_allclose(np.linalg.cond(hessian), condition, rtol=1e-3)
    np.testing.assert_array_equal(federation.test.x, federation.train.x)


def test_the_weighted_optimum_is_that_of_all_rows_together():
    federation = load("quadratic:5,1,10,4", clients=9)
    rows, targets = federation.train.x.astype(np.float64), federation.train.y.astype(np.float64)
    pooled = np.linalg.lstsq(rows, targets)[0]
    truth = quadratic_truth(5, 1, 10, 4, clients=9)
    np.testing.assert_allclose(weighted_optimum(truth), pooled, atol=1e-5)
    equal = quadratic_truth(5, 1, 1, clients=9)
    np.testing.assert_allclose(weighted_optimum(equal), equal.optima.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("name", ["synthetic:0.5,0.5", "synthetic_iid"])
def test_some_rows_of_synthetic_clients_are_rows_of_all(name):
    whole, some = (
        source_registry.make(name, clients=9, seed=3),
        source_registry.make(name, clients=9, seed=3, samples=500),
    )
    kept = some_rows(len(whole.y), 500, 3)
    np.testing.assert_array_equal(some.x, whole.x[kept])
    np.testing.assert_array_equal(some.y, whole.y[kept])
    np.testing.assert_array_equal(some.owners, whole.owners[kept])


def test_too_many_rows_are_refused_before_they_are_drawn(monkeypatch):
    with pytest.raises(ConfigError, match=r"100000 clients have 4.* rows of .* GiB; .* --samples 5000000"):
        load("synthetic", clients=100_000)
    monkeypatch.setattr(sys.modules["unalike.data.sources.source"], "free_memory", lambda: 1 << 20)
    with pytest.raises(ConfigError, match=r"these data need 1.4 MiB but 1.0 MiB are free; ask for"):
        load("synthetic", clients=100, samples=3000)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gaussians", {"samples": 10**13}),
        ("gaussians:10,100000000000", {}),
        ("mixture:3,1000000000", {"clients": 10}),
        ("quadratic:1000000", {}),
    ],
)
def test_data_beyond_memory_are_refused_before_they_are_made(name, options):
    with pytest.raises(ConfigError, match=r"these data need .*iB but .* are free"):
        load(name, **options)


def test_data_made_in_any_number_are_asked_for_more():
    with pytest.raises(ConfigError, match=r"100000 clients cannot share 10000 rows; .* --samples 1000000"):
        load("gaussians", clients=100_000)
