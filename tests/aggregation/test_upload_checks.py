"""Is a bad upload told from a good one, and named for what is wrong with it?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.aggregation.upload_checks import fault

EXPECTED = {"w": np.zeros((2, 3), np.float32), "b": [np.zeros(3, np.float32)]}


def test_an_upload_like_the_others_has_no_fault():
    assert fault({"w": np.ones((2, 3), np.float32), "b": [jnp.ones(3)]}, EXPECTED) is None
    assert fault({}, {}) is None


@pytest.mark.parametrize(
    ("upload", "reason"),
    [
        ({"w": np.ones((3, 2), np.float32), "b": EXPECTED["b"]}, r"\['w'\] has shape \(3, 2\)"),
        ({"w": EXPECTED["w"], "b": [np.zeros(3)]}, r"\['b'\]\[0\] has dtype float64 instead of float32"),
        ({"w": EXPECTED["w"], "b": [np.array([0, np.nan, 0], np.float32)]}, r"\['b'\]\[0\] holds NaN"),
        ({"w": np.full((2, 3), -np.inf, np.float32), "b": EXPECTED["b"]}, r"\['w'\] holds NaN or infinite"),
        ({"w": EXPECTED["w"]}, "has structure"),
        ({"w": EXPECTED["w"], "b": [EXPECTED["b"][0]] * 2}, "has structure"),
    ],
)
def test_a_fault_is_named(upload, reason):
    import re

    assert re.match(reason, fault(upload, EXPECTED))
