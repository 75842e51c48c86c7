"""Does the study measure what it says?"""

import pytest

from unalike_studies.fairness import training
from unalike_studies.fairness.data import three_groups


def test_an_outcome_is_of_clients_and_groups():
    found = training.measure(training.learn(three_groups(0), "gifair", 0, rounds=2, rho=0.9))
    assert len(found.groups) == 3
    assert found.discrepancy == max(found.groups) - min(found.groups)
    assert 0 <= found.spread <= 50
    assert sum(n * g for n, g in zip((12, 20, 8), found.groups, strict=True)) / 40 == pytest.approx(
        found.mean
    )


def test_two_numbers_are_sent():
    (claim,) = training.bytes_sent()
    assert claim.holds


def test_afl_takes_one_step_of_everyone():
    method = training.method("afl")
    assert method.work.steps == 1
    assert method.optimizer.learning_rate == pytest.approx(1.0)
