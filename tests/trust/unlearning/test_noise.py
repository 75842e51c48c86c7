"""Is the noise normal, fresh and added without loss?"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from unalike.errors import ConfigError
from unalike.trust.unlearning.noise import add_noise, draw_normals


def test_the_noise_is_normal():
    assert stats.kstest(draw_normals(20_000), "norm").pvalue > 1e-6


def test_the_noise_is_never_the_same():
    assert not np.array_equal(draw_normals(10), draw_normals(10))


def test_every_entry_has_noise_of_its_own_and_keeps_its_type():
    tree = {"w": jnp.ones((50, 40), jnp.float32), "b": jnp.zeros(30, jnp.float32)}
    noisy = add_noise(tree, 0.1)
    gaps = np.concatenate([(np.asarray(noisy[k]) - np.asarray(tree[k])).ravel() for k in tree])
    assert noisy["w"].dtype == np.float32
    assert noisy["w"].shape == (50, 40)
    assert len(np.unique(gaps)) > 1900
    assert abs(gaps.std() - 0.1) < 0.01


def test_whole_numbers_are_refused():
    with pytest.raises(ConfigError, match="real numbers"):
        add_noise({"n": jnp.arange(3)}, 1.0)
