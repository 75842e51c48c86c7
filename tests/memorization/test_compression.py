"""Are shortened keys and prototypes what they claim to be, and is their memory counted?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.memorization import fit_protonn, projection_registry

RNG = np.random.default_rng(0)
LABELS = np.arange(48) % 3
KEYS = (RNG.normal(size=(48, 6)) + 4 * np.eye(6)[LABELS]).astype(np.float32)


def test_the_main_directions_keep_the_most_variance():
    line = (RNG.normal(size=(50, 1)) * [[3.0, 4.0, 0.0]] + 1e-3 * RNG.normal(size=(50, 3))).astype(np.float32)
    projection = projection_registry.make("pca:1")(line)
    assert np.allclose(np.abs(projection.matrix), [[0.6, 0.8, 0.0]], atol=1e-3)
    assert projection(line).mean() == pytest.approx(0, abs=1e-4)


def test_random_directions_keep_squared_distances_on_average():
    drawn = [projection_registry.make("random:3", seed=seed)(KEYS) for seed in range(300)]
    gap = KEYS[0] - KEYS[1]
    lengths = [float(((p.matrix @ gap) ** 2).sum()) for p in drawn]
    assert np.mean(lengths) == pytest.approx(float(gap @ gap), rel=0.15)


@pytest.fixture(scope="module")
def learned():
    return fit_protonn(KEYS, LABELS, 3, 6, "pca:2")


def test_prototypes_learn_separable_classes(learned):
    said = learned(KEYS)
    assert (said.argmax(1) == LABELS).mean() > 0.95
    assert np.allclose(said.sum(1), 1, atol=1e-5)
    assert (said >= 0).all()


def test_scores_are_the_published_sum(learned):
    short = (KEYS[:4] - learned.projection.center) @ learned.projection.matrix.T
    for row, said in zip(short, learned(KEYS[:4]), strict=True):
        score = sum(
            z * np.exp(-(learned.gamma**2) * ((b - row) ** 2).sum())
            for b, z in zip(learned.prototypes, learned.votes, strict=True)
        )
        score = np.maximum(score, 0)
        assert np.allclose(said, score / score.sum(), atol=1e-4)


def test_far_from_all_prototypes_every_class_is_as_likely(learned):
    assert np.allclose(learned(np.full((1, 6), 1e6, np.float32)), 1 / 3)


def test_memory_is_reported_with_and_without_the_projection(learned):
    report = learned.memory(48)
    assert report["bytes"] == 4 * 6 * (2 + 3)
    assert report["projection_bytes"] == 4 * (2 * 6 + 6)
    assert report["factor"] == pytest.approx(48 * 6 / 30)
    assert report["factor_with_projection"] == pytest.approx(48 * 6 / 48)


def test_a_shared_projection_stays_as_it_is():
    shared = projection_registry.make("pca:2")(KEYS)
    found = fit_protonn(KEYS, LABELS, 3, 6, shared, turns=1)
    assert found.shared
    assert np.array_equal(found.projection.matrix, shared.matrix)


def test_prototypes_must_be_fewer_than_rows():
    with pytest.raises(ConfigError, match="49 prototypes cannot stand for 48 rows"):
        fit_protonn(KEYS, LABELS, 3, 49)


@pytest.mark.parametrize("number", [1, 2, 48])
def test_any_number_of_prototypes_is_shared_out_among_classes(number):
    found = fit_protonn(KEYS, LABELS, 4, number, projection_registry.make("pca:2")(KEYS), turns=1, steps=1)
    assert len(found.prototypes) == number
