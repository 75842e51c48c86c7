"""Are the federations and memories of the study what they are said to be?"""

import numpy as np
import pytest

from unalike_studies.knnper import data
from unalike_studies.knnper.data import Scale, gain, global_model, percent, shared_scores, skewed_problem

SMALL = Scale(clients=8, train=800, test=400, rounds=4)


def test_label_skew_deals_training_and_test_rows_in_the_same_proportions():
    federation = data.label_skew(0.3, 3, clients=10, train=20_000, test=20_000)
    train = federation.label_counts() / federation.train.sizes[:, None]
    cells = federation.test.owners * 10 + federation.test.y
    test = np.bincount(cells, minlength=len(federation) * 10).reshape(-1, 10) / federation.test.sizes[:, None]
    large = federation.train.sizes > 500
    assert np.abs(train - test)[large].max() < 0.06
    assert train.max(axis=1).mean() > 0.25  # unlike clients, of ten classes


def test_clients_with_few_rows_are_left_out():
    federation = data.label_skew(0.05, 3, clients=60, train=600, test=600)
    assert federation.train.sizes.min() >= data.FEWEST
    assert federation.test.sizes.min() >= 1
    assert len(federation) < 60


def test_two_laws_have_the_same_rows_and_clients():
    one, two = data.two_laws(0.3, 3, clients=6, train=300, test=200)
    assert len(one) == len(two) == 6
    assert one.train.sizes.sum() == two.train.sizes.sum() == 300
    assert np.allclose(np.sort(one.train.x[:, 0]), np.sort(two.train.x[:, 0]))
    assert not np.array_equal(one.train.sizes, two.train.sizes)


def test_personal_labels_rename_a_part_of_the_modes():
    plain, renamed = (data.personal_labels(0.3, 3, clients=10, rate=rate) for rate in (0.0, 0.2))
    assert np.array_equal(plain.train.x, renamed.train.x)
    # A renamed mode keeps its class by chance once in ten times.
    assert (plain.train.y != renamed.train.y).mean() == pytest.approx(0.18, abs=0.06)


@pytest.fixture(scope="module")
def problem():
    return skewed_problem(0.3, 5, SMALL)


def test_one_client_in_five_joins_later(problem):
    assert len(problem.old) + len(problem.fresh) == len(problem.federation)
    assert len(problem.fresh) == -(-len(problem.federation) // 5)


def test_gain_is_what_memory_adds(problem):
    memory = problem.everyone
    assert gain(memory) == pytest.approx(percent(memory) - percent(global_model(memory)))
    assert gain(global_model(memory)) == 0


def test_one_lambda_for_all_is_scored_on_every_remembered_row(problem):
    memory = problem.everyone
    rows = memory.embedded("train")
    assert shared_scores(memory, (0.0,))[0] == (rows.common.argmax(1) == rows.labels).sum()
