"""Do the claims on likeness of digits hold, and what is made of pictures that are there?"""

import numpy as np
import pytest

from unalike_studies.likeness import data, images, training


def broken(claims):
    return [claim for claim in claims if not claim.holds]


def test_the_claims_hold():
    claims = list(training.training_claims(quick=True))
    assert broken(claims) == []
    assert {claim.id for claim in claims} == {"L3", "L4", "L7", "L8", "L9", "L11", "L12"}


def test_knobs_that_do_nothing_would_be_caught(monkeypatch):
    right = data.deal_by_imbalance
    monkeypatch.setattr(data, "deal_by_imbalance", lambda y, n, c, d, rng: right(y, n, 0.0, 0.0, rng))
    assert {claim.id for claim in broken(training.knob_claims(2))} == {"L3", "L4", "L7"}


def test_fewer_rows_cost_half_their_logarithm_where_clients_are_alike_and_nothing_where_they_are_not():
    assert data.with_fewer_rows(4.0, 4.0, 0.6) - 4.0 == pytest.approx(np.log(0.6) / 2)
    assert data.with_fewer_rows(1.0, 6.0, 0.6) == pytest.approx(1.0, abs=1e-4)
    assert data.with_fewer_rows(3.0, 4.0, 1.0) == pytest.approx(3.0)


def test_without_files_or_time_there_is_no_claim_on_pictures(monkeypatch):
    assert list(images.picture_claims(quick=True)) == []
    monkeypatch.setattr(images, "pictures", lambda file: None)
    assert list(images.picture_claims(quick=False)) == []


def test_published_curves_hold_themselves_and_flat_ones_do_not():
    published = {knob: (value + 0.1, value - 0.1 + 0.01 * knob**0.3) for knob, value in data.CIFAR.items()}
    assert broken(images.cifar_claims(published, data.CIFAR_ROWS)) == []
    flat = dict.fromkeys(published, (4.0, 4.0))
    assert {claim.id for claim in broken(images.cifar_claims(flat | {250.0: (3.9, 3.9)}, 30_000))} >= {
        "L4",
        "L5",
        "L6",
    }
    assert broken(images.mnist_claims(dict(data.MNIST))) == []


def test_pictures_are_measured_by_both_knobs(monkeypatch):
    monkeypatch.setattr(images, "PICTURE_CLIENTS", 10)
    found = images.curve(data.digits(), (0.0, 100.0))
    assert found[0.0][0] > found[100.0][0]
    assert found[0.0][0] > found[0.0][1]
