"""Does the smallest stream lose what it is said to lose?"""

import numpy as np
import pytest
import scipy

from unalike_studies.theory.streams.lower_bound import (
    HESSIANS,
    OPTIMA,
    lasting_gap,
    loss,
    measured_gap,
    minimizer,
    variability,
)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_the_formulas_are_those_of_the_losses(q):
    def plain(z):
        x, y = z
        first = (x + 1) ** 2 + (x + y + 1) ** 2 / 2
        return q * first + (1 - q) * ((x - 1) ** 2 / 2 + (x + y - 1) ** 2 / 2)

    point = np.array([0.3, -0.2])
    assert loss(point, q) == pytest.approx(plain(point))
    found = scipy.optimize.minimize(plain, [0.0, 0.0], tol=1e-12)
    np.testing.assert_allclose(minimizer(q), found.x, atol=1e-5)
    assert lasting_gap(q) == pytest.approx(plain((1 - 2 * q, 0)) - found.fun)


def test_gradient_descent_does_not_get_below():
    assert measured_gap(20_000) == pytest.approx(1 / 12, abs=1e-4)
    assert measured_gap(200) == pytest.approx(1 / 12, abs=5e-3)


def test_the_variability_is_the_largest_on_the_square():
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    one, two = ((corners - OPTIMA[k]) @ HESSIANS[k] for k in (0, 1))
    largest = ((one - two) ** 2).sum(axis=1).max()
    assert variability(0.3) == pytest.approx(0.3 * 0.7 * largest)
