"""Does the similarity of a federation say what its clients are, and warn where it should?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.data import Federation, load
from unalike.data.similarity import measure_similarity, similarity_of
from unalike.data.similarity.principal_direction import client_messages

CLIENTS = 20


def digits(partition="iid", clients=CLIENTS, **options):
    return load("digits", partition=partition, clients=clients, test_fraction=0, **options)


def every_second(federation, change):
    """The federation with the pictures of every second client changed."""
    x = np.array(federation.train.x)
    mine = federation.train.owners % 2 == 1
    x[mine] = change(x[mine])
    return replace(federation, train=replace(federation.train, x=x))


def test_shuffled_clients_are_as_alike_as_their_reference():
    found = measure_similarity(digits(), repeats=3)
    assert found.ratio == pytest.approx(1, abs=0.04)
    assert "as alike as rows dealt at random" in found.verdict()


def test_homogeneity_falls_as_labels_grow_unlike():
    curve = [measure_similarity(digits(f"imbalance:{c},0")).homogeneity for c in (0, 1, 10, 100)]
    assert np.diff(curve).max() < -0.05
    assert curve[0] / curve[2] == pytest.approx(1.88, rel=0.08)


def test_unequal_sizes_lower_it_where_labels_are_alike():
    even, uneven = (measure_similarity(digits(f"imbalance:0,{d}")).homogeneity for d in (0, 1))
    assert uneven < even - 0.1


def test_turned_pictures_are_two_groups_that_the_fiedler_vector_separates():
    turned = measure_similarity(every_second(digits(), lambda x: np.rot90(x, axes=(1, 2))))
    sides = turned.spectrum.fiedler > 0
    assert (sides == sides[0])[::2].all()
    assert (sides != sides[0])[1::2].all()
    assert turned.groups().tolist() == [0, 1] * (CLIENTS // 2)
    assert turned.homogeneity < 0.7 * measure_similarity(digits()).homogeneity


def test_contrast_is_invisible():
    plain = measure_similarity(digits()).homogeneity
    pale = measure_similarity(every_second(digits(), lambda x: 0.5 * x)).homogeneity
    assert pale == pytest.approx(plain, abs=1e-6)


def test_wrong_signs_lower_it_and_raise_the_alarm():
    federation = digits()
    _, messages = client_messages(federation.train)
    flips = np.where(np.random.default_rng(0).random(CLIENTS) < 0.5, -1.0, 1.0)[:, None]
    right, wrong = similarity_of(messages), similarity_of(flips * messages, sign_alarm=True)
    assert wrong.homogeneity < 0.65 * right.homogeneity
    assert any("signs of messages" in words for words in wrong.warnings)
    assert not any("signs" in words for words in measure_similarity(federation).warnings)


def test_negative_features_may_point_away_from_each_other():
    x = np.array([[1.0, 0.2], [1.0, 0.0], [-1.0, 0.1], [-1.0, 0.2]])
    found = measure_similarity(Federation.from_owners(x, np.zeros(4, int), np.arange(4) // 2))
    assert found.misalignments[0, 1] > 0.9
    assert not any("sign" in words for words in found.warnings)


def test_centered_features_have_signs_by_chance_and_a_warning():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)) * [5, 1, 1, 1, 1]
    owners = np.arange(400) % 10
    centered = measure_similarity(Federation.from_owners(x, np.zeros(400, int), owners))
    shifted = measure_similarity(Federation.from_owners(x + 5 * np.eye(5)[0], np.zeros(400, int), owners))
    assert centered.unsure_signs > 5
    assert any("centered" in words for words in centered.warnings)
    assert shifted.unsure_signs == 0
    assert shifted.homogeneity > 1.5 * centered.homogeneity


def test_one_client_has_nobody_to_be_compared_with():
    found = measure_similarity(Federation.from_owners(np.eye(3), np.zeros(3, int), np.zeros(3, int)))
    assert np.isnan(found.homogeneity)
    assert found.importance.tolist() == [1.0]
    assert found.as_dict()["homogeneity"] is None
    assert "nobody to be compared with" in found.verdict()


def test_identical_clients_are_called_duplicates():
    x = np.tile(np.random.default_rng(0).random((5, 3)), (3, 1))
    found = measure_similarity(Federation.from_owners(x, np.zeros(15, int), np.repeat(np.arange(3), 5)))
    assert any("duplicates" in words for words in found.warnings)
    assert np.isfinite(found.homogeneity)
    np.testing.assert_allclose(found.importance, 1 / 3)


def test_a_client_of_zeros_is_left_out_and_counts_nothing():
    x = np.vstack([np.random.default_rng(0).random((8, 3)), np.zeros((4, 3))])
    found = measure_similarity(Federation.from_owners(x, np.zeros(12, int), np.repeat([0, 2, 1], 4)))
    assert found.clients.tolist() == [0, 2]
    assert found.importance.tolist() == [0.5, 0.0, 0.5]
    assert any("Left out, because they have no rows, or only zeros: " in words for words in found.warnings)


def test_a_sample_of_many_clients_says_nearly_the_same():
    federation = digits("imbalance:1,0", clients=60)
    exact, some = measure_similarity(federation), measure_similarity(federation, most=30)
    assert len(some.compared) == 30
    assert exact.standard_error == 0 < some.standard_error
    assert abs(some.homogeneity - exact.homogeneity) < 4 * some.standard_error
    assert np.corrcoef(some.importance, exact.importance)[0, 1] > 0.9
    assert some.importance.sum() == pytest.approx(1)


def test_a_blurred_message_costs_precision_and_the_warning_goes():
    federation = digits("imbalance:1,0")
    plain = measure_similarity(federation)
    kept = measure_similarity(federation, privacy="projection:64")
    noisy = measure_similarity(federation, privacy="gaussian:1,1e-5")
    assert any("mean row" in words for words in plain.warnings)
    assert not any("mean row" in words for words in noisy.warnings)
    assert any("moves homogeneity by -" in words for words in noisy.warnings)
    assert noisy.ratio == pytest.approx(1, abs=0.1)  # noise hides that clients are unlike
    assert kept.homogeneity == pytest.approx(plain.homogeneity, abs=1e-6)  # all 64 pixels are kept
    assert noisy.homogeneity < 0.5 * plain.homogeneity
