"""Are the games of the study what they are said to be?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.algorithms.online import NaiveFemOMD

from unalike.algorithms.shared.gaussian_mixture import gaussian_task
from unalike_studies.online_mixture import data
from unalike_studies.online_mixture.labels import Labels, best_accuracy

TINY = data.World(components=3, dimension=4, clients=4, rows=6, steps=12)


def test_a_start_lies_as_far_from_the_truth_as_it_is_said_to():
    means = TINY.means(0)
    gaps = np.linalg.norm(means[:, None] - means, axis=-1)
    moved = np.linalg.norm(data.near_start(means, 0) - means, axis=1)
    np.testing.assert_allclose(moved, gaps[np.triu_indices(3, 1)].min() / 16)


def test_true_weights_are_redrawn_or_persist():
    changing = TINY.weights(1)
    assert changing.shape == (12, 4, 3)
    np.testing.assert_allclose(changing.sum(axis=-1), 1)
    assert np.abs(changing[0] - changing[1]).max() > 0.1
    lasting = data.World(components=3, clients=4, steps=5, persistent=True).weights(1)
    assert (lasting == lasting[:1]).all()


@pytest.mark.parametrize("split", [False, True])
def test_a_step_of_the_game_is_a_step_of_the_recipe(split):
    rng, start = np.random.default_rng(0), TINY.means(0)
    algorithm = data.preset(TINY, em_steps=2, split=split, gradient="data")
    state = algorithm.start([jnp.asarray(mean, jnp.float32) for mean in start])
    equal = jnp.full((4, 3), 1 / 3)
    memories = {"weights": equal, "inner": equal}
    naive = NaiveFemOMD(start, 4, em_steps=2, split=split, min_mass=0.0)
    for _ in range(4):
        rows = start[rng.integers(3, size=(4, 6))] + rng.normal(size=(4, 6, 4))
        lot = jnp.asarray(rows, jnp.float32)
        state, memories = data.time_step(gaussian_task(4), algorithm, state, memories, lot, jax.random.key(0))
        naive.step(list(rows))
    np.testing.assert_allclose(np.stack(state["params"]), naive.means, atol=1e-4)
    np.testing.assert_allclose(memories["weights"], naive.weights, atol=1e-4)


def test_who_plays_the_reference_has_no_regret():
    """True means, and weights that are the mean of the true ones: here both are the only component."""
    world = data.World(components=1, dimension=3, clients=2, rows=4, steps=6)
    played = data.play(world, data.preset(world, learns="weights"), 0, world.means(0))
    np.testing.assert_allclose(played.regret, 0, atol=1e-5)


def test_a_distant_start_of_one_component_costs_half_its_squared_distance():
    world = data.World(components=1, dimension=3, clients=20, rows=4, steps=6)
    start = world.means(0) + np.array([3.0, 0, 0])
    played = data.play(world, data.preset(world, learns="weights"), 0, start)
    assert played.final / 6 == pytest.approx(4.5, rel=0.05)


def test_the_same_seed_plays_the_same_game():
    one, other, third = (data.play(TINY, data.preset(TINY), seed).regret for seed in (0, 0, 1))
    assert (one == other).all()
    assert (one != third).any()


def test_components_of_the_labeled_game():
    grouped, named = (Labels(grouped=g, steps=3).drawn(0) for g in (True, False))
    np.testing.assert_allclose(grouped.chances.sum(axis=1), 1, rtol=1e-6)
    assert ((grouped.chances > 0).sum(axis=0) == 1).all()
    assert (np.sort(named.names, axis=1) == np.arange(10)).all()
    np.testing.assert_allclose(np.linalg.norm(named.means, axis=1), 6, rtol=1e-5)
    x, y = grouped.rows(jax.random.key(0), jnp.array([0.0, 1, 0, 0]), 50)
    assert x.shape == (50, 30)
    assert set(np.asarray(y).tolist()) == {3, 4, 5}
    assert 0.9 < best_accuracy(Labels(grouped=True, length=4.0, steps=3), 0, 2000) < 1
