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


def test_a_rotation_keeps_inner_products_and_hides_the_messages():
    rng = np.random.default_rng(0)
    rows = rng.random((4, 30))
    messages = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    turn = message_privacy_registry.make("rotation")
    sent = [turn(messages, np.random.default_rng(secret)) for secret in range(300)]
    np.testing.assert_allclose(sent[0] @ sent[0].T, messages @ messages.T, atol=1e-12)
    # Over secrets a message points anywhere: no coordinate has a mean, and all have the same variance 1/30.
    assert np.abs(np.mean(sent, axis=0)).max() < 5 / np.sqrt(30 * 300)
    np.testing.assert_allclose(np.var(sent, axis=0).mean(axis=0), 1 / 30, rtol=0.35)


def test_too_many_features_to_turn_are_refused():
    with pytest.raises(ConfigError, match="would take too long"):
        message_privacy_registry.make("rotation")(np.ones((1, 9000)), np.random.default_rng(0))


def test_clients_with_the_same_secret_turn_alike(tmp_path):
    messages = np.eye(5)
    for name, content in (("ours", b"sixteen bytes and more"), ("others", b"another secret of clients")):
        (tmp_path / name).write_bytes(content)
    turns = [
        message_privacy_registry.make(f"rotation:{tmp_path / name}") for name in ("ours", "ours", "others")
    ]
    mine, same, other = (turn(messages, np.random.default_rng(k)) for k, turn in enumerate(turns))
    np.testing.assert_array_equal(mine, same)
    assert np.abs(mine - other).max() > 0.1


def test_secrets_that_are_short_or_not_there_are_refused(tmp_path):
    (tmp_path / "short").write_text("guess")
    with pytest.raises(ConfigError, match="can be guessed"):
        message_privacy_registry.make(f"rotation:{tmp_path / 'short'}")
    with pytest.raises(ConfigError, match="cannot be read"):
        message_privacy_registry.make(f"rotation:{tmp_path / 'nowhere'}")
