"""Are all clients drawn with the same probability, independently?"""

import numpy as np
from scipy.stats import binom, chi2

from unalike.core.random import generator
from unalike.participation import Binomial


def test_binomial_rounds_have_binomially_many_clients():
    sampler, p, rng = Binomial(per_round=3), np.full(8, 0.125), generator(4, "binomial")
    sizes = np.bincount([len(sampler.draw(p, rng).clients) for _ in range(4000)], minlength=9)
    expected = 4000 * binom.pmf(np.arange(9), 8, 3 / 8)
    usual = expected > 5
    assert ((sizes - expected)[usual] ** 2 / expected[usual]).sum() < chi2.ppf(1 - 1e-6, usual.sum())
    assert sizes[0] > 0


def test_binomial_coins_of_everyone_are_full_participation():
    p = np.array([0.2, 0.0, 0.8])
    for per_round in (3, 7):
        cohort = Binomial(per_round=per_round).draw(p, generator(0, "x"))
        assert cohort.clients.tolist() == [0, 2]
        assert np.allclose(cohort.weights, [0.2, 0.8])
