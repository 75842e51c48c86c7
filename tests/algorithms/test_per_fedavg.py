"""Is Per-FedAvg's gradient that of the loss after a step, in all three variants?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg
from unalike.algorithms.per_fedavg import VARIANTS, PerFedAvg
from unalike.errors import ConfigError

from . import naive
from .personalized import RATE, WORK, assert_agrees, same_model, simulate, trained

ALPHA, DELTA = 0.4, 0.05


def hessian_times(theta, vector, x, y, delta=1e-5):
    there, back = (naive.gradient(theta + way * delta * vector, x, y) for way in (1, -1))
    return (there - back) / (2 * delta)


def meta_gradient(theta, batch, inner, third, variant):
    gradient = naive.gradient(theta - ALPHA * naive.gradient(theta, *inner), *batch)
    if variant == "hessian-free":
        return gradient - ALPHA * hessian_times(theta, gradient, *third, delta=DELTA)
    # In double precision so small a difference is exact enough to stand for the Hessian itself.
    return gradient - (variant == "second-order") * ALPHA * hessian_times(theta, gradient, *inner)


def descend(theta, batches, variant):
    ahead = [*batches, *batches]
    for s in range(len(batches)):
        theta = theta - RATE * meta_gradient(theta, *ahead[s : s + 3], variant)
    return theta


def tuned(theta, x, y):
    """One step on the first mini-batch."""
    return theta - ALPHA * naive.gradient(theta, x[:3], y[:3])


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_rounds_equal_the_paper_and_all_clients_predict_after_one_step(variant):
    expected = simulate(
        lambda theta, _, batches: (descend(theta, batches, variant), batches),
        lambda theta, batches: batches,
        lambda theta, batches: tuned(theta, *batches[0]),
    )
    run = trained(PerFedAvg(work=WORK, alpha=ALPHA, variant=variant, delta=DELTA))
    assert_agrees(run, expected)


def test_the_three_variants_are_three_methods():
    found = [
        naive.flat(trained(PerFedAvg(work=WORK, alpha=ALPHA, variant=v, delta=DELTA)).state["params"])
        for v in VARIANTS
    ]
    gaps = [np.abs(found[a] - found[b]).max() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 1e-3


def test_without_an_inner_step_it_is_fedavg():
    found, plain = trained(PerFedAvg(work=WORK, alpha=0.0)), trained(FedAvg(work=WORK))
    assert same_model(found.state["params"], plain.state["params"], atol=1e-7)
    assert np.allclose(found.evaluate("test")["loss"], plain.evaluate("test")["loss"], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variant": "firstorder"}, "unknown variant 'firstorder'; did you mean 'first-order'?"),
        ({"alpha": -0.1}, "alpha must not be negative"),
        ({"delta": 0.0}, r"delta must be positive, but is 0\.0\."),
        ({"tune_steps": -1}, "tune_steps must not be negative"),
    ],
)
def test_bad_settings_are_refused_in_words(settings, words):
    with pytest.raises(ConfigError, match=words):
        PerFedAvg(**settings)
