"""Are SCAFFOLD's control variates those of the paper, and does the server's stay the mean of the clients'?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, LocalWork, Optimizer, Scaffold

from . import naive

SIZES = [5, 8, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
COHORTS = ([0, 2], [1, 2], [0, 1])
IMPORTANCE = np.array(SIZES) / 16


def naive_scaffold(federation, cohorts, rate=0.1, factor=lambda number: 1.0):
    """Karimireddy et al. (2020), option II, with clients weighted by importance."""
    theta, server = naive.zeros(), naive.zeros()
    own = [naive.zeros() for _ in SIZES]
    for number, cohort in enumerate(cohorts):
        ends, step = {}, rate * factor(number)
        for client in cohort:
            x, y = federation.train.client(client)
            batches = naive.in_order(len(x), 3, 2)
            drift = server - own[client]
            end = naive.descend(theta, x, y, batches, step, correction=drift)
            ends[client] = end, own[client] - server + (theta - end) / (len(batches) * step)
        theta = np.average([end for end, _ in ends.values()], axis=0, weights=IMPORTANCE[list(ends)])
        server = server + sum(IMPORTANCE[i] * (control - own[i]) for i, (_, control) in ends.items())
        for client, (_, control) in ends.items():
            own[client] = control
        yield theta, server, list(own)


def controls(run):
    found, fresh = run.memories.gather(np.arange(len(SIZES)))
    assert not fresh.any()
    w, b = (np.asarray(found["control"][name], np.float64) for name in ("w", "b"))
    return np.concatenate([w.swapaxes(1, 2), b[:, None, :]], axis=1)


def weighted_mean(run):
    """What the server's control should be."""
    return np.tensordot(IMPORTANCE, controls(run), axes=1)


@pytest.fixture(scope="module")
def partial_run(federation, task):
    return naive.train(federation, task, Scaffold(work=WORK), 3, participation=naive.Fixed(*COHORTS))


def test_three_rounds_with_partial_participation_equal_the_paper(federation, partial_run):
    expected = list(naive_scaffold(federation, COHORTS))
    for number, (theta, server, _) in enumerate(expected):
        state = partial_run.history.state(number + 1)
        assert np.allclose(naive.flat(state["params"]), theta, atol=2e-5)
        assert np.allclose(naive.flat(state["control"]), server, atol=2e-5)
    own = expected[-1][2]
    assert np.allclose(controls(partial_run), own, atol=2e-5)
    assert np.abs(server).max() > 0.05


def test_the_servers_control_is_the_importance_weighted_mean_of_the_clients(partial_run, federation, task):
    assert np.allclose(naive.flat(partial_run.state["control"]), weighted_mean(partial_run), atol=1e-6)
    full = naive.train(federation, task, Scaffold(work=WORK), 3)
    assert np.allclose(naive.flat(full.state["control"]), weighted_mean(full), atol=1e-6)


def test_the_mean_is_kept_with_weights_that_do_not_sum_to_one(federation, task):
    class Unbiased(naive.Fixed):
        def cohort(self, turn):
            cohort = super().cohort(turn)
            return cohort._replace(weights=turn.importance[cohort.clients] * 3 / 2)

    run = naive.train(federation, task, Scaffold(work=WORK), 3, participation=Unbiased(*COHORTS))
    assert np.allclose(naive.flat(run.state["control"]), weighted_mean(run), atol=1e-6)


def test_the_mean_is_kept_when_an_upload_is_rejected(task):
    federation = naive.federation(SIZES)
    federation.train.x[federation.train.offsets[1]] = 3e38
    run = naive.train(federation, task, Scaffold(work=WORK), 2)
    assert run.metrics()["rejected"][1:].tolist() == [1, 1]
    found, _ = run.memories.gather(np.arange(3))
    w = np.tensordot(IMPORTANCE, np.asarray(found["control"]["w"], np.float64), axes=1)
    assert np.allclose(run.state["control"]["w"], w, atol=1e-6)


def test_a_schedule_is_taken_into_account_when_gradients_are_read_off(federation, task):
    algorithm = Scaffold(work=WORK, optimizer=Optimizer("sgd", 0.1, schedule="decay:0.5"))
    run = naive.train(federation, task, algorithm, 3, participation=naive.Fixed(*COHORTS))
    *_, (theta, _, own) = naive_scaffold(federation, COHORTS, factor=lambda number: 0.5**number)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=2e-5)
    assert np.allclose(controls(run), own, atol=5e-5)


def test_the_first_round_is_federated_averaging(federation, task, partial_run):
    plain = naive.train(federation, task, FedAvg(work=WORK), 1, participation=naive.Fixed(COHORTS[0]))
    first = partial_run.history.state(1)["params"]
    assert np.allclose(naive.flat(first), naive.flat(plain.state["params"]), atol=1e-6)


def test_drift_is_gone_at_the_optimum_of_all():
    """With controls, many local steps still lead to where the mean gradient is zero; FedAvg's do not."""
    federation, task = naive.federation(SIZES), naive.task()
    work = LocalWork(steps=10, batch_size=0)
    norms = {}
    for make in (Scaffold, FedAvg):
        algorithm = make(work=work, optimizer=Optimizer("sgd", 0.3))
        run = naive.train(federation, task, algorithm, 60)
        theta = naive.flat(run.state["params"])
        norms[make] = np.linalg.norm(naive.gradient(theta, federation.train.x, federation.train.y))
    assert norms[Scaffold] < 0.2 * norms[FedAvg]
