"""Do the claims on centers hold on generated patients, and would mistakes be caught?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.experiments.benchmark import Benchmark, run_benchmark
from unalike_studies.cross_silo import theory, training


def broken(claims):
    return {claim.id for claim in claims if not claim.holds}


@pytest.fixture(scope="module")
def result():
    quick = Benchmark("heart-like", "heart_like", "accuracy", pooled_epochs=20, learning_rate=0.03)
    return run_benchmark(quick, ["local", "fedavg"], seeds=2, budget=1)


def test_the_theory_holds():
    claims = list(theory.theory_claims(quick=True))
    assert broken(claims) == set()
    assert {claim.id for claim in claims} == {"F1", "F2", "F3"}


def test_wrong_sizes_would_be_caught(monkeypatch):
    wrong = {"heart_like": theory.SIZES["heart_like"]._replace(sizes=(303, 261, 46, 131))}
    monkeypatch.setattr(theory, "SIZES", wrong)
    assert broken(theory.size_claims()) == {"F1"}


def test_a_fit_that_depends_on_who_has_which_rows_would_be_caught(monkeypatch):
    right = theory.CoxModel
    monkeypatch.setattr(theory, "CoxModel", lambda ties: right(ties=ties, stratified=True))
    assert broken(theory.cox_claims(quick=True)) == {"F3"}


def test_models_that_travel_better_than_they_stay_would_be_caught(result):
    turned = [
        replace(one, scores=one.scores._replace(elsewhere=1 - one.scores.elsewhere))
        if one.strategy == "local"
        else one
        for one in result.outcomes
    ]
    travels = [claim for claim in training.heart_claims(result, True) if "at home" in claim.claim]
    assert broken(travels) == set()
    stays = training.heart_claims(replace(result, outcomes=tuple(turned)), True)
    assert "F2" in broken(claim for claim in stays if "at home" in claim.claim)


def test_the_tidy_table_is_whole(result):
    assert training.table_claim(result).holds


def test_the_loss_of_travel_is_the_diagonal_less_the_rest():
    assert training.transfer_loss(np.ones((3, 3))) == 0
    assert training.transfer_loss(np.eye(3)) == 1
