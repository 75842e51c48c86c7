import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.aggregation.norm_bound import NormBound, clip_change


def test_clipping_keeps_the_direction():
    start, upload = (
        {"a": jnp.ones(2), "b": jnp.zeros(2)},
        {"a": jnp.array([4.0, 1]), "b": jnp.array([0.0, 4])},
    )
    clipped, factor = clip_change(upload, start, 1.0)
    np.testing.assert_allclose([*clipped["a"], *clipped["b"]], [1.6, 1, 0, 0.8], rtol=1e-6)
    assert float(factor) == pytest.approx(0.2)


@pytest.mark.parametrize("norm", [0.0, -1.0, float("inf"), float("nan")])
def test_a_bound_that_is_none_is_refused(norm):
    with pytest.raises(unalike.ConfigError, match="must be above 0"):
        NormBound(norm)
