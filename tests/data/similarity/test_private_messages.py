"""Does noise on messages keep the promise that it is drawn for?"""

import numpy as np
import pytest
from scipy.stats import norm

from unalike.data.similarity.private_messages import message_privacy_registry, noise_scale
from unalike.errors import ConfigError


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_noise_is_the_least_that_keeps_the_guarantee(epsilon, delta):
    def leaked(sigma):
        # The hockey-stick divergence between two normal laws whose means are 2 apart, integrated.
        z = np.linspace(-12 * sigma, 12 * sigma + 2, 400_001)
        excess = np.maximum(norm(2, sigma).pdf(z) - np.exp(epsilon) * norm(0, sigma).pdf(z), 0)
        return np.trapezoid(excess, z)

    sigma = noise_scale(epsilon, delta)
    assert leaked(sigma) == pytest.approx(delta, rel=1e-2)
    assert leaked(0.9 * sigma) > delta


def test_a_projection_to_all_dimensions_keeps_inner_products():
    rows = np.random.default_rng(0).normal(size=(6, 4))
    messages = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    sent = message_privacy_registry.make("projection:9")(messages, np.random.default_rng(1))
    np.testing.assert_allclose(sent @ sent.T, messages @ messages.T, atol=1e-12)


@pytest.mark.parametrize("bad", ["projection:0", "gaussian:0,0.1", "gaussian:1,1", "gaussian:1,0"])
def test_impossible_protection_is_refused(bad):
    with pytest.raises(ConfigError, match="not possible"):
        message_privacy_registry.make(bad)
