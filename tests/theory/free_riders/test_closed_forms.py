"""Are contraction, slow-down, variance and FedProx's constants those that were worked out by hand?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.theory.free_riders.contraction import contraction, slow_down
from unalike.theory.free_riders.local_process import disguise_amplitude, local_process
from unalike.theory.free_riders.variance import printed_turning_point, random_walk_deviation, variance

FIVE = np.full(5, 600.0)
CASES = [
    ((), 0.0, 0.00533, 0.00533),
    ((600,), 0.0, 0.00477, 0.00514),
    ((3000,), 0.0, 0.00381, 0.00571),
    ((27000,), 0.0, 0.00287, 0.02072),
    ((600,), 0.1, 0.00519, 0.00556),
    ((3000,), 0.1, 0.00952, 0.01143),
    ((600,), 0.3, 0.00856, 0.00893),
]


@pytest.mark.parametrize(("claimed", "phi", "correct", "printed"), CASES)
def test_the_variances_of_the_table(claimed, phi, correct, printed):
    assert variance(FIVE, 0.5, 0.1, claimed, phi).total == pytest.approx(correct, abs=6e-6)
    assert variance(FIVE, 0.5, 0.1, claimed, phi, form="printed").total == pytest.approx(printed, abs=6e-6)


@pytest.mark.parametrize(
    ("free_riders", "ridden", "slower"),
    [
        (1, 0.583, (1.91, 1.29, 1.21, 1.20)),
        (5, 0.750, (4.65, 2.41, 2.05, 2.00)),
        (45, 0.950, (30.0, 13.5, 10.5, 10.0)),
    ],
)
def test_the_slow_down_of_the_table(free_riders, ridden, slower):
    found = contraction(FIVE, 0.5, free_riders * 600)
    assert found.ridden == pytest.approx(ridden, abs=5e-4)
    for fair, expected in zip((0.05, 0.5, 0.9, 1.0), slower, strict=True):
        assert slow_down(fair, found.share) == pytest.approx(expected, rel=5e-3)


def test_contraction_is_the_weighted_mean_and_grows_with_free_riders():
    rng = np.random.default_rng(0)
    sizes, keep = rng.uniform(1, 9, 7), rng.uniform(0.1, 0.9, 7)
    found = [contraction(sizes, keep, claimed) for claimed in (0.0, 3.0, 300.0)]
    assert found[0].fair == pytest.approx(np.average(keep, weights=sizes))
    assert found[0].ridden == found[0].fair
    assert found[0].fair < found[1].ridden < found[2].ridden < 1
    assert 1 - found[1].ridden == pytest.approx((1 - found[1].fair) * (1 - found[1].share))
    assert [f.slow_down for f in found] == sorted(f.slow_down for f in found)


def test_fedprox_at_the_values_that_were_checked():
    eta, rho2, total, per_phi = [], [], [], []
    for mu in (0.0, 0.1, 1.0, 10.0):
        made = local_process(1.0, 0.1, 30, 1.0, 100, mu)
        found = variance(FIVE, made.keep, made.noise, [600], 1.0)
        eta.append(float(made.keep))
        rho2.append(float(made.noise) ** 2)
        total.append(found.ridden + found.fair)
        per_phi.append(found.disguise)
    assert eta == pytest.approx([0.0498, 0.1244, 0.5012, 0.9091], rel=1e-3)
    assert rho2 == pytest.approx([4.988e-4, 4.539e-4, 2.500e-4, 4.545e-5], rel=1e-3)
    assert total == pytest.approx([1.724e-4, 1.602e-4, 1.195e-4, 9.57e-5], rel=1e-3)
    assert per_phi == pytest.approx([0.029, 0.030, 0.042, 0.191], rel=2e-2)
    assert eta == sorted(eta)  # the text of the source says that it falls
    assert total == sorted(total, reverse=True)


def test_more_local_work_is_more_noise():
    """The text of the source says less; its formula says more."""
    amplitudes = [float(disguise_amplitude(1.0, 0.1, 6 * epochs, 1.0, 100)) ** 2 for epochs in (1, 5, 20)]
    assert amplitudes == pytest.approx([3.49e-4, 4.99e-4, 5.00e-4], rel=2e-3)


def test_the_local_process_is_the_limit_of_small_steps_of_descent():
    """A naive second way: u noisy steps of descent on a quadratic, in small steps."""
    rate, steps, curvature, anchor, mu = 0.01, 40, 1.5, 2.0, 0.7
    theta, spread = 5.0, 0.0
    for _ in range(steps):
        theta -= rate * (curvature * (theta - anchor) + mu * (theta - 5.0))
        spread = (1 - rate * (curvature + mu)) ** 2 * spread + rate**2
    made = local_process(curvature, rate, steps, mu=mu)
    assert float(made.keep) * 5.0 + float(made.pull()) * anchor == pytest.approx(theta, rel=5e-3)
    assert float(made.noise) ** 2 == pytest.approx(spread, rel=3e-2)


def test_plain_free_riders_calm_training_and_disguises_do_not():
    claims = np.linspace(0, 30000, 40)
    plain = [variance(FIVE, 0.5, 0.1, [c]) for c in claims]
    assert np.all(np.diff([v.with_free_riders for v in plain]) < 0)
    hidden = [variance(FIVE, 0.5, 0.1, [c], 0.3).disguise for c in claims]
    assert np.all(np.diff(hidden) > 0)


@pytest.mark.parametrize("fair", [0.1, 0.5, 0.8])
def test_the_printed_variance_turns_where_it_should(fair):
    turn = printed_turning_point(fair) * 3000
    near = [variance(FIVE, fair, 0.1, [turn + d], form="printed").total for d in (-5.0, 0.0, 5.0)]
    assert near[1] <= min(near[0], near[2])


def test_closed_forms_of_the_first_and_third_terms():
    sizes, keep, claimed, phi = np.array([100.0, 300.0]), np.array([0.2, 0.7]), 250.0, 0.4
    found, a = variance(sizes, keep, [0.1, 0.3], [claimed], phi), float(sizes @ keep)
    below = (400 - a) * (400 + a + 2 * claimed)
    assert found.ridden == pytest.approx(((100 * 0.1) ** 2 + (300 * 0.3) ** 2) / below)
    assert found.disguise == pytest.approx((claimed * phi) ** 2 / below)


def test_other_noise_in_the_attacked_training_counts_there_alone():
    usual, doubled = (variance(FIVE, 0.5, 0.1, [600], ridden_noise=noise) for noise in (None, 0.2))
    assert doubled.ridden == pytest.approx(4 * usual.ridden)
    assert doubled.fair == usual.fair


def test_without_honest_clients_the_model_walks():
    assert random_walk_deviation([1, 3], [0.0, 0.4]) == pytest.approx(0.3)


def test_nonsense_is_refused():
    with pytest.raises(ConfigError, match="honest clients with rows"):
        contraction([0, 3], 0.5)
    with pytest.raises(ConfigError, match="contraction between 0 and 1"):
        slow_down(1.5, 0.2)
    with pytest.raises(ConfigError, match="unknown form of the variance"):
        variance(FIVE, 0.5, 0.1, form="guessed")
    with pytest.raises(ConfigError, match="negative number of rows"):
        variance(FIVE, 0.5, 0.1, [-1])
    with pytest.raises(ConfigError, match="curvature"):
        local_process(0.0, 0.1, 3)
