"""Is what the server receives the weighted sum of what was accepted, however it was added up?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.aggregation.tally import Tally, empty_tally, reweight
from unalike.core.pytrees import largest_difference

RNG = np.random.default_rng(0)
UPLOADS = RNG.normal(size=(5, 3)).astype(np.float32)
STARTS = RNG.normal(size=(5, 2)).astype(np.float32)
WEIGHTS, IMPORTANCE = RNG.uniform(0.1, 1, (2, 5)).astype(np.float32)
ACCEPTED = np.array([1, 0, 1, 1, 0], np.float32)
EVERYONE = range(5)


def tally_of(clients, accepted=ACCEPTED, zeros=np.zeros):
    tally = empty_tally({"w": UPLOADS[0]}, {"v": STARTS[0]}, importance_sum=True, zeros=zeros)
    for i in clients:
        upload = {"w": UPLOADS[i] * accepted[i]}
        tally = tally.add(upload, {"v": STARTS[i]}, WEIGHTS[i], IMPORTANCE[i], accepted[i])
    return tally


def test_it_is_the_sum_by_hand_scaled_up_to_the_weight_that_was_asked_for():
    received = tally_of(EVERYONE).aggregate(round=3)
    kept = WEIGHTS * ACCEPTED * WEIGHTS.sum() / (WEIGHTS * ACCEPTED).sum()
    np.testing.assert_allclose(received.total["w"], kept @ UPLOADS, rtol=1e-5)
    np.testing.assert_allclose(received.start["v"], kept @ STARTS, rtol=1e-5)
    np.testing.assert_allclose(received.importance_sum["w"], (IMPORTANCE * ACCEPTED) @ UPLOADS, rtol=1e-5)
    numbers = (received.weight, received.accepted, received.share)
    np.testing.assert_allclose(numbers, [WEIGHTS.sum(), 3, (IMPORTANCE * ACCEPTED).sum()], rtol=1e-6)


@pytest.mark.parametrize("cut", range(1, 5))
def test_groups_that_are_merged_are_one_group(cut):
    whole, parts = tally_of(EVERYONE), [tally_of(range(cut)), tally_of(range(cut, 5))]
    assert largest_difference(parts[0].merge(parts[1]), whole) < 1e-6
    assert largest_difference(parts[1].merge(parts[0]), whole) < 1e-6


def test_the_host_and_a_compiled_program_add_up_alike():
    compiled = jax.jit(lambda: tally_of(EVERYONE, zeros=jnp.zeros))()
    assert largest_difference(compiled, tally_of(EVERYONE)) < 1e-6


def test_what_starts_from_one_message_needs_no_sum_of_messages():
    tally = empty_tally({"w": UPLOADS[0]}, zeros=np.zeros)
    same = empty_tally({"w": UPLOADS[0]}, {"w": UPLOADS[0]}, zeros=np.zeros)
    message = {"w": np.arange(3, dtype=np.float32)}
    for i in EVERYONE:
        given = ({"w": UPLOADS[i]}, message, WEIGHTS[i], IMPORTANCE[i], np.float32(1))
        tally, same = tally.add(*given), same.add(*given)
    assert tally.start == {}
    assert largest_difference(tally.aggregate(message).start, same.aggregate().start) < 1e-6


def test_a_sum_from_elsewhere_is_the_sum_of_its_uploads():
    total = {"w": (WEIGHTS * ACCEPTED) @ UPLOADS}
    elsewhere = Tally.of_sum(total, WEIGHTS, IMPORTANCE, ACCEPTED)
    here = tally_of(EVERYONE)._replace(start={}, importance_sum={})
    assert largest_difference(elsewhere, here) < 1e-6


def test_whole_numbers_are_added_as_fractions():
    tally = empty_tally({"n": np.zeros(2, np.int32)}, zeros=np.zeros)
    for weight in (0.25, 0.75):
        tally = tally.add({"n": np.array([2, 4], np.int32)}, {}, np.float32(weight), 0.5, np.float32(1))
    assert tally.total["n"].dtype == np.float32
    np.testing.assert_allclose(tally.total["n"], [2, 4])


@pytest.mark.parametrize(("asked", "given", "ratio"), [(1.0, 0.5, 2.0), (0.0, 0.0, 0.0), (-1.0, -0.5, 2.0)])
def test_accepted_weights_are_brought_back_to_what_was_asked_for(asked, given, ratio):
    assert float(reweight(asked, given)) == ratio
