"""Do personalised methods learn, with the settings they have when none are given?

Twenty clients with few classes each. A method must beat FedAvg of the same seed, or lose by less than a
margin where it was seen to gain little (normalisation alone takes out what differs, and L2SGD converges
slowly): margins are two to three points wider than the worse of the two seeds.
"""

from functools import cache

import pytest

import unalike
from unalike.algorithms import FedAvg, LocalWork
from unalike.algorithms.apfl import APFL
from unalike.algorithms.ditto import Ditto
from unalike.algorithms.fedbn import FedBN
from unalike.algorithms.fedper import FedPer
from unalike.algorithms.fedrep import FedRep
from unalike.algorithms.l2sgd import L2SGD
from unalike.algorithms.perfedavg import PerFedAvg
from unalike.algorithms.pfedme import PFedMe, PFedMeSimple
from unalike.models import Task, mlp
from unalike.models.normalised import mlp_norm

WORK = LocalWork(epochs=5, batch_size=16)
SHAPE = {"input_shape": (8, 8, 1), "outputs": 10}
PLAIN = Task.classification(mlp(32, **SHAPE), 10)
NORMALISED = Task.classification(mlp_norm(32, **SHAPE), 10)


@cache
def federation(seed):
    return unalike.load("digits", clients=20, partition="dirichlet:0.3", seed=seed)


@cache
def accuracy(algorithm, task, seed):
    run = unalike.train(federation(seed), task, algorithm, rounds=15, seed=seed, evaluate_every=0, devices=1)
    return run.final()["test_accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "task", "margin"),
    [
        (Ditto(work=WORK), PLAIN, 0.0),
        (APFL(work=WORK), PLAIN, 0.0),
        (FedPer(work=WORK), PLAIN, 0.0),
        (FedRep(work=WORK), PLAIN, 0.0),
        (FedBN(work=WORK), NORMALISED, 0.02),
        (PFedMe(work=WORK), PLAIN, 0.0),
        (PerFedAvg(work=WORK), PLAIN, 0.0),
        (PFedMeSimple(work=WORK), PLAIN, 0.02),
        # Its steps in a round are 1 / p, not the planned ones: as many as the others take on average.
        (L2SGD(work=WORK, p=0.05), PLAIN, 0.06),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_with_default_settings_a_method_is_about_as_good_as_fedavg(method, task, margin):
    for seed in (1, 2):
        found, plain = accuracy(method, task, seed), accuracy(FedAvg(work=WORK), task, seed)
        assert found > plain - margin
