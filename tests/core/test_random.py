"""Is every draw a function of its seed, purpose and counters, and of nothing else?"""

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.core.random import bits, generator, purpose_code


def splitmix(state):
    """SplitMix64's finalizer with Python integers."""
    word = (1 << 64) - 1
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & word
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & word
    return state ^ (state >> 31)


def naive_bits(seed, purpose, *counters):
    word, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    state = splitmix((seed + golden) & word)
    for counter in (purpose_code(purpose), *counters):
        state = splitmix((state + golden * (counter + 1)) & word)
    return state


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**64 - 1])
def test_bits_equal_an_implementation_with_python_integers(seed):
    for counters in [(), (0,), (3, 2**40), (2**63, 1, 7)]:
        assert int(bits(seed, "shuffle", *counters)) == naive_bits(seed, "shuffle", *counters)


def test_scalar_and_vector_calls_give_equal_bits():
    rounds, clients = np.arange(3)[:, None], np.arange(5)
    table = bits(7, "anything", rounds, clients)
    assert table.shape == (3, 5)
    assert all(table[r, c] == bits(7, "anything", r, c) for r in range(3) for c in range(5))


def test_negative_and_huge_seeds_are_taken_modulo_two_to_the_64():
    assert bits(-1, "a", 0) == bits(2**64 - 1, "a", 0)
    assert bits(2**64 + 9, "a", 0) == bits(9, "a", 0)


def test_seeds_purposes_and_counters_all_matter_and_so_does_their_order():
    draws = [
        bits(1, "shuffle", 0, 1),
        bits(2, "shuffle", 0, 1),
        bits(1, "partition", 0, 1),
        bits(1, "shuffle", 1, 0),
        bits(1, "shuffle", 0),
        bits(1, "shuffle", 0, 1, 0),
    ]
    assert len({int(draw) for draw in draws}) == len(draws)


def test_a_hundred_thousand_counters_have_distinct_bits():
    assert len(np.unique(bits(3, "shuffle", 0, np.arange(100_000)))) == 100_000


@pytest.mark.parametrize("shift", [0, 20, 40, 56])
def test_every_byte_of_the_bits_is_equidistributed(shift):
    draws = bits(5, "bytes", np.arange(50)[:, None], np.arange(512)).ravel()
    counts = np.bincount(((draws >> np.uint64(shift)) & np.uint64(255)).astype(int), minlength=256)
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi2.ppf(0.001, 255) < statistic < chi2.ppf(0.999, 255)


def test_flipping_any_bit_of_a_counter_flips_half_of_the_output():
    base = np.arange(256, dtype=np.uint64)
    for bit in range(64):
        changed = bits(1, "avalanche", base) ^ bits(1, "avalanche", base ^ (np.uint64(1) << np.uint64(bit)))
        assert abs(np.bitwise_count(changed).mean() - 32) < 1.5


def test_neighboring_seeds_are_not_correlated():
    one, two = (bits(seed, "x", np.arange(4000)).astype(np.float64) for seed in (10, 11))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.06


def test_a_generator_is_reproducible_and_belongs_to_its_counters_alone():
    first = generator(1, "participation", 4).random(5)
    generator(1, "participation", 5).random(1000)
    assert np.array_equal(first, generator(1, "participation", 4).random(5))
    others = [generator(2, "participation", 4), generator(1, "other", 4), generator(1, "participation", 5)]
    assert all(not np.array_equal(first, other.random(5)) for other in others)
