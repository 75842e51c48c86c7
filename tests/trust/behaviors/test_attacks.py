"""Do attacks send what their papers say, and does the server's rule see nothing else?"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from unalike import ConfigError, FedAvg, LocalWork
from unalike.aggregation.base import Uploads
from unalike.aggregation.norm_bound import NormBound
from unalike.core.pytrees import largest_difference
from unalike.privacy.central import central_dp
from unalike.trust.behaviors import Situation, behavior_registry
from unalike.trust.behaviors.colluding_clients import ColludingClients, mean_change
from unalike.trust.behaviors.label_flip import LabelFlip
from unalike.trust.behaviors.little_is_enough import largest_shift

from .examples import FEDERATION, LAST_TWO, attacked, flat, honest

START = {"w": jnp.asarray(np.random.default_rng(0).normal(size=5), jnp.float32)}
UPLOAD = {"w": jnp.asarray(np.random.default_rng(1).normal(size=5), jnp.float32)}
CHANGES = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
HONEST, LYING = jnp.array([1.0, 1, 1, 0, 0, 0]), jnp.array([0.0, 0, 0, 0, 1, 1])


def sent(spec, key=0):
    now = Situation(START, {}, jnp.asarray(3), jax.random.key(key))
    return np.asarray(behavior_registry.make(spec).change_upload(UPLOAD, now)[0]["w"])


@pytest.mark.parametrize(("spec", "factor"), [("sign-flip", -1), ("sign-flip:4", -4), ("scaled:10", 10)])
def test_changes_are_multiplied(spec, factor):
    expected = np.asarray(START["w"]) + factor * (np.asarray(UPLOAD["w"]) - np.asarray(START["w"]))
    assert np.allclose(sent(spec), expected, atol=1e-5)


def test_random_uploads_are_gaussian_around_the_message():
    drawn = np.array([sent("random:2", key) for key in range(2000)])
    assert np.allclose(drawn.mean(0), START["w"], atol=0.2)
    assert np.allclose(drawn.std(0), 2.0, rtol=0.06)


def test_scaling_by_one_or_scaling_nothing_changes_nothing():
    idle = FedAvg(work=LocalWork(steps=0))
    assert (
        largest_difference(attacked("scaled:7", "1", method=idle).state, honest(idle).state) < 1e-6
    )  # nothing times seven
    one = attacked("scaled:1", "2")
    assert largest_difference(one.state, honest().state) < 1e-6


def test_inner_product_turns_the_honest_mean_around():
    told = behavior_registry.make("inner-product:0.5").change_uploads({"w": CHANGES}, HONEST, LYING)["w"]
    mean = CHANGES[:3].mean(0)
    assert np.allclose(told[4:], -0.5 * mean, atol=1e-6)
    assert np.array_equal(told[:4], CHANGES[:4])
    assert float(np.asarray(told[4]) @ mean) < 0


def test_a_little_is_the_mean_less_some_deviations():
    told = behavior_registry.make("little-is-enough:1.5").change_uploads({"w": CHANGES}, HONEST, LYING)["w"]
    assert np.allclose(told[5], CHANGES[:3].mean(0) - 1.5 * CHANGES[:3].std(0), atol=1e-5)


def test_the_largest_shift_is_the_quantile_of_the_supporters_that_are_needed():
    for n, m in ((50, 24), (51, 12), (25, 5), (10, 4)):
        supporters = n // 2 + 1 - m
        z = norm.ppf((n - m - supporters) / (n - m))
        assert float(largest_shift(n, m)) == pytest.approx(max(z, 0.0), abs=1e-3)
    assert float(largest_shift(4, 3)) == 0.0


def test_without_anyone_honest_lies_are_zeros():
    for spec in ("inner-product", "little-is-enough"):
        told = behavior_registry.make(spec).change_uploads({"w": CHANGES}, 0 * HONEST, LYING)["w"]
        assert np.allclose(told[4:], 0.0)


def uploads(weight=None):
    start = {"w": jnp.broadcast_to(START["w"], (6, 5))}
    accepted = HONEST + LYING
    return Uploads(
        {"w": start["w"] + CHANGES},
        jnp.full(6, 1 / 6) if weight is None else weight,
        jnp.full(6, 1 / 6),
        accepted,
        jnp.arange(6),
        start,
    )


def test_the_rule_of_the_server_sees_lies_like_uploads():
    lie = behavior_registry.make("inner-product:10")
    plain = ColludingClients(NormBound(1e9), lie, (4, 5)).combine(uploads()).update["w"]
    by_hand = (CHANGES[:3].sum(0) - 20 * CHANGES[:3].mean(0)) / 5
    assert np.allclose(plain, by_hand, atol=1e-4)
    bounded, _ = ColludingClients(NormBound(0.5), lie, (4, 5)).with_lies(uploads())
    lengths = np.linalg.norm(np.asarray(bounded.changes()["w"][4:]), axis=1)
    assert np.allclose(lengths, 0.5, atol=1e-5)


def test_the_mean_change_leaves_out_who_weighs_nothing():
    weights = jnp.array([1.0, 0, 3, 0, 0, 0])
    assert np.allclose(mean_change(uploads(), weights)["w"], (CHANGES[0] + 3 * CHANGES[2]) / 4, atol=1e-6)


def test_lies_of_nobody_change_nothing():
    lie = behavior_registry.make("inner-product")
    told = ColludingClients(NormBound(1e9), lie, (17,)).combine(uploads()).update["w"]
    assert np.allclose(told, (CHANGES[:3].sum(0) + CHANGES[4:].sum(0)) / 5, atol=1e-5)


def test_a_training_with_colluding_clients_is_that_of_the_honest_ones_turned_back():
    """With epsilon = (n - q) / q and equal weights the mean of all changes is zero: nothing moves."""
    federation = FEDERATION.with_importance("equal")
    start = attacked("inner-product:2", federation=federation, rounds=0).state
    assert largest_difference(attacked("inner-product:2", federation=federation).state, start) < 1e-5


def test_labels_are_turned_around_or_one_is_passed_off_as_another():
    mine = np.isin(FEDERATION.train.owners, LAST_TWO)
    before = FEDERATION.train.y
    reverse = LabelFlip().change_data(FEDERATION, LAST_TWO).train.y
    assert np.array_equal(reverse[mine], 2 - before[mine])
    assert np.array_equal(reverse[~mine], before[~mine])
    swapped = LabelFlip(0, 2).change_data(FEDERATION, LAST_TWO).train.y
    assert np.array_equal(swapped[mine] == 2, (before[mine] == 2) | (before[mine] == 0))
    twice = LabelFlip().change_data(LabelFlip().change_data(FEDERATION, LAST_TWO), LAST_TWO)
    assert np.array_equal(twice.train.y, before)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("sign-flip:0", "scale of sign-flip must be above 0"),
        ("scaled:0", "gamma of scaled must be a number other than 0"),
        ("random:-1", "std of random must not be negative"),
        ("inner-product:0", "epsilon of inner-product must be above 0"),
        ("little-is-enough:much", "z of little-is-enough must be a number"),
        ("label-flip:3", "both a source and a target"),
        ("sign-flop", "did you mean 'sign-flip'"),
    ],
)
def test_a_mistake_is_one_sentence(spec, sentence):
    with pytest.raises(ConfigError, match=sentence):
        behavior_registry.make(spec)


def test_what_cannot_be_attacked_says_so():
    with pytest.raises(ConfigError, match="classes of label-flip go from 0 to 2"):
        LabelFlip(0, 9).change_data(FEDERATION, LAST_TWO)
    with pytest.raises(ConfigError, match="this is a regression"):
        LabelFlip().change_data(replace(FEDERATION, classes=None), LAST_TWO)
    with pytest.raises(ConfigError, match="CentralPrivacy works on the sum"):
        attacked("inner-product", aggregator=central_dp(1.0, 0.5, clients=6))
    assert flat(START).shape == (5,)
