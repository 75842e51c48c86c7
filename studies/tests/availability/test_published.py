"""Is every strategy given the same pairs of rates, and is the lead that of paired runs?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.data import load
from unalike_studies.availability.data import Rates, make_problem
from unalike_studies.availability.published import (
    EPOCHS,
    MNIST,
    OURS,
    RIVALS,
    STEPS,
    SYNTHETIC,
    Contest,
    contest_claims,
    outcome,
)
from unalike_studies.trainings import Trainings

TINY = Contest(
    "tiny",
    lambda seed: make_problem(load("gaussians:2,3,3", clients=4, samples=40, seed=seed)),
    (1.0,),
    1.0,
    dict.fromkeys((OURS, *RIVALS), "1/1"),
)


def test_grids_are_the_published_ones():
    assert (len(SYNTHETIC.grid), len(MNIST.grid)) == (48, 42)


GRID = [Rates(0.1, 1.0)]


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    return Trainings(tmp_path_factory.mktemp("kept") / "availability.jsonl")


@pytest.fixture(scope="module")
def claims(trainings):
    return list(contest_claims(TINY, 1, "1 run where 10 were published", trainings, rounds=2, grid=GRID))


def test_every_strategy_has_a_line_and_what_was_scaled_down_is_said(claims):
    assert len(claims) == 1 + len(RIVALS) + 3
    assert all("where 10 were published" in claim.note for claim in claims)
    assert all(claim.claim.startswith("tiny, 5 steps: ") for claim in claims)
    assert not any(claim.hard for claim in claims)


def test_the_lead_is_the_difference_of_the_lines(claims):
    ends = {
        claim.claim.split(": ")[1].split(",")[0]: float(claim.measured.split()[0]) for claim in claims[:5]
    }
    assert claims[-3].measured == pytest.approx(ends[OURS] - ends["adafed"], abs=0.02)
    assert np.isfinite(claims[-1].measured)


def test_a_second_study_trains_nothing_and_says_the_same(claims, trainings, monkeypatch):
    monkeypatch.setattr("unalike_studies.availability.published.learn", pytest.fail)
    again = list(contest_claims(TINY, 1, "1 run where 10 were published", trainings, rounds=2, grid=GRID))
    assert again == claims


def test_another_way_to_train_is_another_training(claims, trainings, monkeypatch):
    asked = []
    monkeypatch.setattr(trainings, "numbers", lambda decides, train: asked.append(decides) or np.ones(2))
    for local in (STEPS, EPOCHS):
        outcome(trainings, replace(TINY, local=local), TINY.make(0), OURS, GRID[0], 2, 0)
    assert asked[0] != asked[1]
    assert asked[0] | {"local": asked[1]["local"]} == asked[1]
