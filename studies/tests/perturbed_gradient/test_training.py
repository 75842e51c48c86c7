"""Are clients dealt as unlike as they should be, and are the trainings' identities exact?"""

import numpy as np
import pytest

from unalike.algorithms import FedProx
from unalike.core.random import generator
from unalike_studies.perturbed_gradient import color_images, training
from unalike_studies.perturbed_gradient.data import (
    CONTENDERS,
    Images,
    Problem,
    deal,
    digits,
    images,
    rounds_to,
    zigzag,
)


@pytest.fixture(scope="module")
def unlike():
    return Problem(digits(0), *training.UNLIKE)


def test_every_row_is_dealt_once_and_as_unlike_as_asked():
    labels = np.repeat(np.arange(10), 200)
    tops, spreads = {}, {}
    for skew, spread in ((0.0, 0.0), (1.0, 0.0), (100.0, 1.0)):
        rows = deal(labels, 20, skew, spread, generator(1, "test"))
        assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(2000))
        counts = np.array([np.bincount(labels[r], minlength=10) for r in rows])
        tops[skew] = (counts.max(axis=1) / counts.sum(axis=1)).mean()
        spreads[spread] = np.std([len(r) for r in rows])
    assert tops[0.0] == pytest.approx(0.1)
    assert tops[0.0] < tops[1.0] - 0.1 < tops[100.0] - 0.3
    assert spreads[0.0] < 0.2 * spreads[1.0]


def test_without_the_real_images_there_are_digits():
    data = images(quick=True)
    assert (data.name, len(data.train[1]), len(data.test[1])) == ("digits", 1437, 360)


def test_clients_count_by_their_similarity_and_pixels_lie_around_zero(unlike):
    assert np.allclose(unlike.federation.importance, unlike.similarity.importance)
    assert (unlike.federation.train.x.min(), unlike.federation.train.x.max()) == (-1.0, 1.0)
    assert unlike.raw.test.sizes[0] == 360


def test_the_identities_hold(unlike):
    claims = list(training.identity_claims(unlike))
    assert all(claim.holds for claim in claims)
    assert [claim.id for claim in claims] == ["PG-1", "PG-1", "PG-1", "PG-2", "PG-14"]


def test_a_pull_would_be_caught(unlike, monkeypatch):
    right = Problem.method

    def pulled(self, kind, **settings):
        return right(self, kind, **({**settings, "mu": 0.1} if kind is FedProx else settings))

    monkeypatch.setattr(Problem, "method", pulled)
    assert not next(iter(training.identity_claims(unlike))).holds


def test_traffic_is_half_as_much_again():
    first, *rest = training.traffic_claims()
    assert first.holds
    assert len(rest) == len(training.TABLE)
    assert [claim.holds for claim in rest].count(True) == 1


def race(counts):
    """Curves that reach the target in these rounds."""
    rounds = dict(zip(CONTENDERS, counts, strict=True))
    return {name: [np.where(np.arange(60) >= count, 0.9, 0.1)] for name, count in rounds.items()}


def test_a_race_in_another_order_would_be_caught():
    data = digits(0)
    assert all(
        claim.holds for claim in training.unlike_claims(data, race((20, 24, 27, 29, 29))) if claim.hard
    )
    for counts in ((24, 20, 27, 29, 29), (20, 24, 27, 26, 29), (20, 20, 27, 29, 29), (20, 24, 27, 29, 28)):
        assert not next(iter(training.unlike_claims(data, race(counts)))).holds
    late = next(iter(training.unlike_claims(data, race((20, 24, 27, 29, 99)))))
    assert late.holds
    assert "not reached" in late.measured


def test_rounds_are_counted_from_zero_and_zigzags_turn():
    assert rounds_to(np.array([0.9, 0.1]), 0.8) == 0
    assert rounds_to(np.array([0.9, 0.1, 0.9, 0.9]), 0.8, 2) == 2
    assert zigzag(np.linspace(0, 1, 20)) == (0.0, pytest.approx(1 / 19))
    assert zigzag(np.arange(20) % 2)[0] == 1.0


def test_color_images_are_raced_and_clipped(monkeypatch):
    """On a few made-up rows: every claim is made, with a hundred clients asked for and some of them empty."""
    rng = np.random.default_rng(0)
    x, y = rng.random((400, 12), np.float32), np.arange(400, dtype=np.int32) % 10
    data = Images("CIFAR-10", (x, y), (x[:50], y[:50]), 20, 1, 32, 1e-3, 0.30)
    monkeypatch.setattr(color_images, "ROUNDS", 2)
    claims = list(color_images.race_claims(data))
    assert [claim.id for claim in claims] == ["PG-6", "PG-6", "PG-12", "PG-12"]
    assert not claims[0].hard  # the file has not all rows


def test_without_a_file_or_time_there_is_no_claim_on_color_images(monkeypatch):
    monkeypatch.setattr(color_images, "color_images", lambda: None)
    assert not list(color_images.color_claims(quick=False))
    assert not list(color_images.color_claims(quick=True))
