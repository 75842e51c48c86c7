"""Do masks cancel, exactly, and does a masked vector say nothing?"""

from math import fsum

import numpy as np
import pytest

from unalike.privacy.masked_sums import LARGEST, WORDS, MaskError, add_masked, mask_vector


def masked(vectors, label=b"sum", seed=0):
    rng, n = np.random.default_rng(seed), len(vectors)
    secrets = {(i, j): rng.bytes(32) for i in range(n) for j in range(i + 1, n)}
    shared = [{j: secrets[min(i, j), max(i, j)] for j in range(n) if j != i} for i in range(n)]
    return [mask_vector(np.asarray(v, float), i, shared[i], label) for i, v in enumerate(vectors)]


@pytest.mark.parametrize("parties", [3, 4, 7])
def test_sums_are_exact_however_different_the_sizes_of_numbers(parties):
    rng = np.random.default_rng(parties)
    vectors = rng.normal(size=(parties, 50)) * 10.0 ** rng.integers(-12, 25, (parties, 50))
    exact = [fsum(column) for column in vectors.T]
    assert add_masked(masked(vectors)).tolist() == exact


def test_small_numbers_beside_large_ones_are_not_lost():
    parts = masked([[1e30, 1e-9], [-1e30, 2e-9], [0.125, 0.0]])
    np.testing.assert_allclose(add_masked(parts), [0.125, 3e-9], rtol=1e-15)


def test_without_one_party_nothing_can_be_read():
    parts = masked([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for leave_out in range(3):
        with pytest.raises(MaskError, match="do not cancel"):
            add_masked([part for place, part in enumerate(parts) if place != leave_out])


def test_masked_bits_are_even_whatever_they_hide():
    zeros, large = masked([np.zeros(400)] * 3)[0], masked([np.full(400, 1e30)] * 3)[0]
    for words in (zeros, large):
        bits = np.unpackbits(words.view(np.uint8))
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))


def test_other_labels_have_other_masks():
    one, other = (masked([np.zeros(3)] * 3, label)[0] for label in (b"one", b"other"))
    assert not (one == other).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, LARGEST, -LARGEST])
def test_what_cannot_be_masked_is_refused(value):
    with pytest.raises(MaskError, match="finite"):
        masked([[value]] * 3)


@pytest.mark.parametrize("shape", [(2, WORDS - 1), (2 * WORDS,), (3, WORDS)])
def test_what_is_no_masked_vector_is_refused(shape):
    with pytest.raises(MaskError):
        add_masked([*masked([[1.0, 2.0]] * 3)[:2], np.zeros(shape, np.uint64)])
