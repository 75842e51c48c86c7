"""Are projected weights the nearest ones within their bounds?"""

import numpy as np
import optax
import pytest
from scipy.optimize import minimize

from unalike.algorithms.shared.simplex import project_simplex


@pytest.mark.parametrize("seed", range(5))
def test_without_bounds_it_is_the_usual_projection(seed):
    values = np.random.default_rng(seed).normal(size=7).astype(np.float32)
    np.testing.assert_allclose(
        project_simplex(values), optax.projections.projection_simplex(values), atol=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
def test_within_bounds_no_solver_comes_nearer(seed):
    rng = np.random.default_rng(seed)
    values, center = rng.normal(size=6), rng.dirichlet(np.ones(6))
    low, high = np.maximum(center - 0.1, 0), np.minimum(center + 0.1, 1)
    found = np.asarray(project_simplex(values.astype(np.float32), low, high), np.float64)
    solved = minimize(
        lambda p: np.square(p - values).sum(),
        center,
        bounds=list(zip(low, high, strict=True)),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
    )
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert (found >= low - 1e-6).all()
    assert (found <= high + 1e-6).all()
    np.testing.assert_allclose(found, solved.x, atol=1e-3)


def test_bounds_that_leave_one_answer_give_it():
    only = np.array([0.2, 0.8], np.float32)
    np.testing.assert_allclose(
        project_simplex(np.array([5.0, -3.0], np.float32), only, only), only, atol=1e-6
    )
