"""Do both pairs of b^2 and kappa^2 hold wherever clients' gradients were seen, and not with anything less?"""

import numpy as np
import pytest

from unalike.theory.sampling.dissimilarity import least_floor, without_growth


@pytest.fixture
def quadratics():
    """|grad f|^2 and sum_i p_i |grad f_i|^2 of losses a_i |w - c_i|^2 / 2 at random w, and at the optimum."""
    rng = np.random.default_rng(3)
    share, curved, centers = rng.dirichlet(np.ones(5)), rng.uniform(0.5, 2, 5), rng.normal(size=(5, 3))
    optimum = (share * curved) @ centers / (share @ curved)

    def seen(w):
        each = curved[:, None] * (w - centers)
        return (share @ each) @ (share @ each), share @ (each**2).sum(axis=1)

    at = np.array([seen(w) for w in rng.normal(size=(40, 3), scale=3)])
    return at[:, 0], at[:, 1], seen(optimum)[1]


@pytest.mark.parametrize("make", [lambda x, y, _: without_growth(x, y), least_floor])
def test_a_pair_fits_every_model_that_was_seen(quadratics, make):
    common, mean, _ = quadratics
    pair = make(*quadratics)
    assert (mean <= pair.growth * common + pair.floor + 1e-9).all()
    assert pair.growth >= 1


def test_no_pair_is_larger_than_it_must_be(quadratics):
    common, mean, at_optimum = quadratics
    plain, grown = without_growth(common, mean), least_floor(common, mean, at_optimum)
    assert (mean > common + 0.999 * plain.floor).any()
    assert (mean > 0.999 * grown.growth * common + grown.floor).any()
    assert grown.floor == at_optimum < plain.floor


def test_clients_that_are_alike_need_neither():
    same = [0.5, 0.1, 2.0]
    assert without_growth(same, same) == (1, 0)
    assert least_floor(same, same, 0.0) == (1, 0)


def test_what_differs_where_the_common_gradient_is_zero_fits_no_growth():
    assert least_floor([0.0], [1.0], 0.5).growth == np.inf
