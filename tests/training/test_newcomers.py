"""Do clients that join after training stay out of it, and are they judged by what they would really get?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike import ConfigError, FedAvg, Task, load, models, train
from unalike.algorithms import FedEM, Local, LocalWork, Optimizer
from unalike.data import Split
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.training.newcomers import evaluate_newcomers, newcomer_summary, set_apart

WORK = LocalWork(steps=2, batch_size=8)
TASK = Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)
EVERYONE = load("digits", clients=10, partition="dirichlet:0.3", samples=300, seed=1)
SEEN, UNSEEN = set_apart(EVERYONE, 0.3, seed=1)
OPTIMIZER = Optimizer("sgd", 0.2)
OPTIONS = {"rounds": 3, "seed": 1, "devices": 1, "evaluate_every": 0}


@pytest.fixture(scope="module")
def averaged():
    return train(SEEN, TASK, FedAvg(work=WORK, optimizer=OPTIMIZER), **OPTIONS)


@pytest.fixture(scope="module")
def mixed():
    return train(SEEN, TASK, FedEM(work=WORK, optimizer=OPTIMIZER, components=2), **OPTIONS)


@pytest.mark.parametrize(("share", "count"), [(0.1, 1), (0.3, 3), (0.5, 5), (0.94, 9)])
def test_clients_are_set_apart_whole_and_once(share, count):
    seen, unseen = set_apart(EVERYONE, share, seed=4)
    assert (len(seen), len(unseen)) == (10 - count, count)
    names = [federation.name(i) for federation in (seen, unseen) for i in range(len(federation))]
    assert sorted(names, key=int) == [str(i) for i in range(10)]
    for i in range(count):
        original = int(unseen.name(i))
        np.testing.assert_array_equal(unseen.test.client(i)[0], EVERYONE.test.client(original)[0])


def test_the_seed_says_who_is_set_apart():
    chosen = {set_apart(EVERYONE, 0.3, seed=seed)[1].names for seed in range(8)}
    assert set_apart(EVERYONE, 0.3, seed=1)[1].names == UNSEEN.names
    assert len(chosen) > 4


@pytest.mark.parametrize("share", [0.0, 0.04, 0.96, 0.99])
def test_somebody_must_train_and_somebody_must_join(share):
    with pytest.raises(ConfigError, match=r"of 10 clients apart; some must train, some must join"):
        set_apart(EVERYONE, share)


@pytest.mark.exact
def test_no_row_of_a_newcomer_has_a_part_in_training():
    """Their labels may be anything: model and record of training stay what they were."""
    experiment = make_experiment(
        {
            **{"data": "digits", "samples": 300, "clients": 10, "partition": "dirichlet:0.3", "seed": 1},
            **{"model": "linear", "rounds": 3, "steps": 2, "unseen": 0.3, "devices": 1, "evaluate_every": 0},
        }
    )
    federation = make_federation(experiment)
    chosen = set(UNSEEN.names)
    spoilt = replace(
        federation, train=_spoilt(federation.train, chosen), test=_spoilt(federation.test, chosen)
    )
    runs = [run_experiment(experiment, federation=one) for one in (federation, spoilt)]
    columns = [run.metrics() for run in runs]
    np.testing.assert_array_equal(runs[0].message["w"], runs[1].message["w"])
    assert all(
        np.array_equal(columns[0][name], columns[1][name], equal_nan=True)
        for name in columns[0]
        if not name.startswith("unseen")
    )
    assert columns[0]["unseen_loss"][-1] != columns[1]["unseen_loss"][-1]
    assert len(runs[0].setting.federation) == 7


def _spoilt(split, clients):
    owned = np.isin(split.owners.astype(str), list(clients))
    return Split(split.x, np.where(owned, (split.y + 1) % 10, split.y).astype(split.y.dtype), split.offsets)


def test_newcomers_are_judged_with_the_shared_model(averaged):
    found = evaluate_newcomers(averaged, UNSEEN)
    for i in range(len(UNSEEN)):
        x, y = UNSEEN.test.client(i)
        scores = x.reshape(len(x), -1) @ np.asarray(averaged.message["w"]).T + averaged.message["b"]
        assert found["accuracy"][i] == pytest.approx((np.asarray(scores).argmax(1) == y).mean())
        assert found["samples"][i] == len(y)


def test_the_summary_weighs_newcomers_by_their_rows(averaged):
    found, summary = evaluate_newcomers(averaged, UNSEEN), newcomer_summary(averaged, UNSEEN)
    assert summary["unseen_accuracy"] == pytest.approx(
        np.average(found["accuracy"], weights=found["samples"])
    )
    assert summary["unseen_loss"] == pytest.approx(np.average(found["loss"], weights=found["samples"]))
    assert summary["unseen_bottom_decile"] == found["accuracy"].min()


def test_a_newcomer_does_not_depend_on_the_others(mixed):
    together = evaluate_newcomers(mixed, UNSEEN)
    backwards = evaluate_newcomers(mixed, UNSEEN.subset([2, 1, 0]))
    np.testing.assert_allclose(backwards["loss"], together["loss"][::-1], rtol=1e-5)


def test_a_newcomer_fits_its_mixture_weights_to_its_own_rows(mixed):
    """Twenty steps of expectation and maximization with fixed components, written out."""
    found = evaluate_newcomers(mixed, UNSEEN)
    for i in range(len(UNSEEN)):
        chances = _likelihoods(mixed.message, *UNSEEN.train.client(i))
        weights = np.full(2, 0.5)
        for _ in range(20):
            joint = weights * chances
            weights = (joint / joint.sum(1, keepdims=True)).mean(0)
        naive = -np.log(_likelihoods(mixed.message, *UNSEEN.test.client(i)) @ weights).mean()
        assert found["loss"][i] == pytest.approx(naive, rel=1e-4)


def _likelihoods(components, x, y):
    """What each component gives to what happened, as (rows, components)."""
    columns = []
    for params in components:
        scores = np.asarray(x.reshape(len(x), -1) @ np.asarray(params["w"]).T + params["b"], np.float64)
        powers = np.exp(scores - scores.max(1, keepdims=True))
        columns.append((powers / powers.sum(1, keepdims=True))[np.arange(len(y)), y])
    return np.stack(columns, axis=1)


def test_who_has_nothing_to_offer_has_no_newcomers():
    run = train(SEEN, TASK, Local(work=WORK), **{**OPTIONS, "rounds": 0})
    assert newcomer_summary(run, UNSEEN) == {}


def test_errors_of_newcomers_are_summed_up_as_those_of_everyone():
    """The root of the mean over all rows, so that `unseen` and `test` may stand side by side."""
    federation = load("diabetes", clients=4, seed=1)
    task = Task.regression(models.linear(input_shape=federation.input_shape, outputs=1))
    run = train(federation, task, FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.01)), **OPTIONS)
    assert newcomer_summary(run, federation)["unseen_rmse"] == pytest.approx(
        run.final()["test_rmse"], rel=1e-5
    )
