"""Does it matter whether rounds go to the engine one by one or several at a time?

They are two programs, and as users compile them they give the same bytes: the model and what is recorded.
"""

import numpy as np
import pytest

import unalike
from unalike import Cohort, FedAvg, LocalWork, Participation
from unalike.algorithms import Optimizer
from unalike.core import pytrees
from unalike.participation import Poisson
from unalike.testing import example_federation, example_task

FEDERATION = example_federation()
TASK = example_task(FEDERATION)
WORK = LocalWork(epochs=2, batch_size=4)


def trained(algorithm, rounds=21, **options):
    return unalike.train(FEDERATION, TASK, algorithm, rounds=rounds, seed=3, **options)


@pytest.mark.exact
@pytest.mark.parametrize("per_round", [None, 2])
@pytest.mark.parametrize(
    "algorithm", [FedAvg(work=WORK), FedAvg(work=WORK, server_optimizer=Optimizer("adam", 0.1))]
)
def test_the_model_and_the_record_are_the_same_to_the_bit(algorithm, per_round):
    singly = trained(algorithm, per_round=per_round, evaluate_every=1)
    together = trained(algorithm, per_round=per_round, evaluate_every=0)
    assert pytrees.largest_difference(singly.state, together.state) == 0
    one, other = singly.metrics(), together.metrics()
    assert one["round"].tolist() == other["round"].tolist() == list(range(22))
    for name in ("train_loss", "participants", "bytes_up", "clock"):
        assert np.array_equal(one[name], other[name], equal_nan=True), name


class Sometimes(Participation):
    """Nobody comes to every third round."""

    def cohort(self, turn):
        clients = np.arange(0 if turn.number % 3 == 1 else 2)
        return Cohort(clients, np.full(len(clients), 0.5))


@pytest.mark.exact
def test_empty_rounds_between_others_are_recorded_and_change_nothing():
    run = trained(FedAvg(work=WORK), rounds=7, participation=Sometimes(), evaluate_every=0)
    assert [event["round"] for event in run.events() if event["kind"] == "empty round"] == [2, 5]
    singly = trained(FedAvg(work=WORK), rounds=7, participation=Sometimes(), evaluate_every=1)
    assert pytrees.largest_difference(run.state, singly.state) == 0


def test_a_kept_history_has_every_version():
    run = trained(FedAvg(work=WORK), rounds=5, keep_history=True, evaluate_every=0)
    assert all(run.history.state(version) is not None for version in range(6))


def test_rejected_uploads_are_found_in_the_round_they_belong_to():
    class Diverging(FedAvg):
        def client(self, task, message, memory, data, key):
            reply = super().client(task, message, memory, data, key)
            bad = (data.round == 4) & (data.size == FEDERATION.train.sizes[1])
            return reply._replace(upload=pytrees.scale(1.0 + bad * np.float32(np.inf), reply.upload))

    run = trained(Diverging(work=WORK), rounds=8, evaluate_every=0)
    assert [(event["round"], event["client"]) for event in run.events()] == [(5, 1)]


@pytest.mark.parametrize("per_round", [2, 3])
def test_cohorts_of_different_sizes_lose_nobody(per_round):
    """Rounds that go to the devices together have as many slots each, however many clients they have."""
    federation = unalike.load("digits", clients=6, partition="dirichlet:0.5", samples=120, seed=1)
    task = unalike.Task.classification(unalike.models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)
    options = {"rounds": 6, "seed": 3, "participation": Poisson(per_round=per_round), "evaluate_every": 0}
    algorithm = FedAvg(work=LocalWork(steps=2, batch_size=4))
    together, singly = (
        unalike.train(federation, task, algorithm, keep_history=alone, **options) for alone in (False, True)
    )
    sizes = {len(clients) for clients in together.record.groups("used").values()}
    assert len(sizes) > 1
    assert pytrees.largest_difference(together.state, singly.state) < 1e-6
