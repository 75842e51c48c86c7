"""Are gradients taken where the method says, and are means over similar clients those of the last round?"""

import warnings

import jax
import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import (
    AnchoredGradient,
    FedAvg,
    LocalWork,
    Optimizer,
    PermutedGradient,
    PerturbedGradient,
    SimilarityWeights,
    similarity_weights,
)
from unalike.algorithms.perturbed_gradient import anchors, neighbor_means

from . import naive

SIZES = [5, 8, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
IMPORTANCE = np.array(SIZES) / 16
EDGES = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.5], [1.0, 0.5, 0.0]])
GRAPH = SimilarityWeights(EDGES)


def walk(theta, towards, x, y, batches, beta, rate=0.1):
    """Steps from theta with gradients at the perturbed point; also every such point."""
    points = []
    for rows in batches:
        points.append(beta * theta + (1 - beta) * towards)
        theta = theta - rate * naive.gradient(points[-1], x[rows], y[rows])
    return theta, points


def naive_perturbed(federation, cohorts, beta, edges):
    """The method with a table of everyone's last model; means leave a client itself out."""
    theta = naive.zeros()
    table = [naive.zeros() for _ in SIZES]
    for cohort in cohorts:
        towards = [sum(edges[i][j] * table[j] for j in range(3) if j != i) / sum(edges[i]) for i in range(3)]
        ends = {
            i: walk(theta, towards[i], *federation.train.client(i), naive.in_order(SIZES[i], 3, 2), beta)[0]
            for i in cohort
        }
        theta = np.average(list(ends.values()), axis=0, weights=IMPORTANCE[cohort])
        for i, end in ends.items():
            table[i] = end
        yield theta, np.array(table)


@pytest.mark.parametrize("beta", [0.9, 0.5])
def test_rounds_with_partial_participation_equal_the_naive_method(federation, task, beta):
    cohorts = ([0, 1, 2], [1, 2], [0, 1], [0, 2])
    algorithm = PerturbedGradient(work=WORK, beta=beta, similarity=GRAPH)
    run = naive.train(federation, task, algorithm, 4, participation=naive.Fixed(*cohorts))
    for number, (theta, table) in enumerate(naive_perturbed(federation, cohorts, beta, EDGES)):
        state = run.history.state(number + 1)
        assert np.allclose(naive.flat(state["params"]), theta, atol=2e-5)
        for i in range(3):
            model = {name: leaf[i] for name, leaf in state["models"].items()}
            assert np.allclose(naive.flat(model), table[i], atol=2e-5)


def test_the_anchor_is_the_model_that_everyone_starts_from(federation, task):
    run = naive.train(federation, task, AnchoredGradient(work=WORK, beta=0.6), 2)
    theta = naive.zeros()
    for _ in range(2):
        ends = [
            walk(theta, theta, *federation.train.client(i), naive.in_order(size, 3, 2), 0.6)[0]
            for i, size in enumerate(SIZES)
        ]
        theta = np.average(ends, axis=0, weights=SIZES)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


@pytest.mark.parametrize("make", [AnchoredGradient, PerturbedGradient, PermutedGradient])
def test_with_beta_one_it_is_federated_averaging_to_the_bit(federation, task, make):
    work = LocalWork(epochs=2, batch_size=3)
    one, plain = (naive.train(federation, task, a, 3) for a in (make(work=work, beta=1.0), FedAvg(work=work)))
    assert np.array_equal(naive.flat(one.state["params"]), naive.flat(plain.state["params"]))


def test_with_beta_zero_all_gradients_are_taken_at_the_start(federation, task):
    run = naive.train(federation, task, AnchoredGradient(work=WORK, beta=0.0), 1)
    step = sum(
        share * naive.gradient(naive.zeros(), x[rows], y[rows])
        for i, share in enumerate(IMPORTANCE)
        for x, y in [federation.train.client(i)]
        for rows in naive.in_order(len(x), 3, 2)
    )
    assert np.allclose(naive.flat(run.state["params"]), -0.1 * step, atol=1e-6)


def test_the_weighted_mean_of_all_means_is_the_global_model(federation, task):
    """sum_i p_i u_i = w, where p_i is each client's part of all weights."""
    alike = federation.with_importance(GRAPH.importance)
    run = naive.train(alike, task, PerturbedGradient(work=WORK, similarity=GRAPH), 3)
    algorithm = run.setting.algorithm
    for number in range(4):
        message = algorithm.broadcast(task, run.history.state(number))
        mean = np.tensordot(GRAPH.importance, np.asarray(message["similar"]["w"], np.float64), axes=1)
        assert np.allclose(mean, message["params"]["w"], rtol=1e-6, atol=1e-6)


def test_the_mean_perturbed_point_is_between_the_mean_model_and_its_start(federation):
    """Lemma 4.3 at every local step: sum_i p_i x_i = beta wbar[k] + (1 - beta) wbar[0]."""
    rng, beta = np.random.default_rng(0), 0.7
    last = rng.normal(size=(3, *naive.zeros().shape))
    share, towards = GRAPH.importance, np.tensordot(GRAPH.mixing, last, axes=1)
    start = np.tensordot(share, last, axes=1)
    batches = [naive.in_order(SIZES[i], 0, 4) for i in range(3)]
    points = [walk(start, towards[i], *federation.train.client(i), batches[i], beta)[1] for i in range(3)]
    for k in range(4):
        x = np.array([points[i][k] for i in range(3)])
        models = (x - (1 - beta) * towards) / beta
        mean = beta * np.tensordot(share, models, axes=1) + (1 - beta) * start
        assert np.allclose(np.tensordot(share, x, axes=1), mean, atol=1e-12)


def test_two_clients_are_sent_each_others_model(task):
    pair = naive.federation([5, 8])
    run = naive.train(pair, task, PerturbedGradient(work=WORK), 1)
    means = run.setting.algorithm.broadcast(task, run.state)["similar"]["w"]
    assert np.allclose(means, run.state["models"]["w"][::-1], atol=1e-7)


def test_nobody_is_sent_its_own_mean_where_they_are_permuted(federation, task):
    straight = PerturbedGradient(similarity=GRAPH).mixing()
    permuted = PermutedGradient(similarity=GRAPH).mixing()
    assert sorted(map(tuple, straight)) == sorted(map(tuple, permuted))
    assert not any(np.array_equal(a, b) for a, b in zip(straight, permuted, strict=True))


def test_a_client_that_is_like_nobody_is_anchored(federation, task):
    lonely = SimilarityWeights(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    run = naive.train(federation, task, PerturbedGradient(work=WORK, similarity=lonely), 2)
    message = run.setting.algorithm.broadcast(task, run.state)
    assert np.array_equal(message["similar"]["w"][2], message["params"]["w"])


def test_a_single_client_is_anchored_to_its_start(federation, task):
    alone = federation.subset([1])
    graph, anchor = (
        naive.train(alone, task, make(work=WORK, beta=0.6), 3).state["params"]
        for make in (PerturbedGradient, AnchoredGradient)
    )
    assert np.allclose(naive.flat(graph), naive.flat(anchor), atol=1e-7)


def test_a_rejected_upload_leaves_the_last_model_in_the_table(task):
    federation = naive.federation(SIZES)
    federation.train.x[federation.train.offsets[1]] = 3e38
    run = naive.train(federation, task, PerturbedGradient(work=WORK, similarity=GRAPH), 2)
    assert run.metrics()["rejected"][1:].tolist() == [1, 1]
    assert not np.asarray(run.state["models"]["w"][1]).any(), "it never sent a model, so there is the first"
    assert np.isfinite(naive.flat(run.state["params"])).all()


def test_it_sends_half_as_much_again_as_federated_averaging(federation, task):
    def bytes_per_client(algorithm):
        ready = algorithm.prepare(task, federation)
        message = ready.broadcast(task, ready.init(task, jax.random.key(0)))
        upload = message.get("params", message)
        return sum(ready.traffic(message, upload))

    plain = bytes_per_client(FedAvg())
    assert bytes_per_client(PerturbedGradient()) == 1.5 * plain
    assert bytes_per_client(AnchoredGradient()) == plain


def test_fewer_rounds_are_needed_the_smaller_beta_is(task):
    """On unlike clients with slow steps, each smaller beta lowers the loss at equal rounds."""
    federation = naive.federation([40, 30, 20])
    work, slow = LocalWork(steps=20, batch_size=0), Optimizer("sgd", 0.02)
    losses = []
    for beta in (0.5, 0.7, 0.9, 1.0):
        run = naive.train(federation, task, AnchoredGradient(work=work, optimizer=slow, beta=beta), 10)
        losses.append(naive.loss(naive.flat(run.state["params"]), federation.train.x, federation.train.y))
    assert losses == sorted(losses)


def test_a_beta_that_may_zigzag_is_told(federation, task):
    for make in (AnchoredGradient, PerturbedGradient):
        with pytest.warns(UserWarning, match="zigzag"):
            make(beta=0.5).prepare(task, federation)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(beta=0.51).prepare(task, federation)


def test_similarities_of_another_number_of_clients_are_refused(federation, task):
    with pytest.raises(ConfigError, match="of 3 clients, but there are 2"):
        PerturbedGradient(similarity=GRAPH).prepare(task, federation.subset([0, 1]))


def test_weights_are_found_from_the_rows_when_training_starts(federation, task):
    ready = PerturbedGradient().prepare(task, federation)
    assert ready.similarity == similarity_weights(federation)


def end(federation, task, algorithm):
    return naive.flat(naive.train(federation, task, algorithm, 3).state["params"])


def test_an_own_iterate_can_be_any_of_the_known_ones(federation, task):
    known = {"work": WORK, "beta": 0.7, "similarity": GRAPH}
    for method in (PerturbedGradient, PermutedGradient):
        own = end(federation, task, method(**known, iterate=neighbor_means))
        assert np.array_equal(own, end(federation, task, method(**known)))
    anchored = end(federation, task, PerturbedGradient(**known, iterate=anchors))
    published = end(federation, task, AnchoredGradient(work=WORK, beta=0.7))
    np.testing.assert_allclose(anchored, published, atol=1e-6)


def test_an_own_iterate_sees_the_model_of_the_round_before(federation, task):
    def momentum(state):
        return jax.tree.map(lambda now, before: 2 * now - before, anchors(state), state["previous"])

    algorithm = PerturbedGradient(work=WORK, beta=0.8, similarity=GRAPH, iterate=momentum)
    run = naive.train(federation, task, algorithm, 4)
    theta = before = naive.zeros()
    for _ in range(4):
        ends = [
            walk(theta, 2 * theta - before, *federation.train.client(i), naive.in_order(SIZES[i], 3, 2), 0.8)[
                0
            ]
            for i in range(3)
        ]
        theta, before = np.average(ends, axis=0, weights=IMPORTANCE), theta
    np.testing.assert_allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def test_an_own_iterate_of_wrong_shape_is_refused(federation, task):
    algorithm = PerturbedGradient(work=WORK, similarity=GRAPH, iterate=lambda state: state["params"])
    with pytest.raises(ConfigError, match="function of the server's state"):
        PerturbedGradient(iterate="anchors")
    with pytest.raises(ConfigError, match="one model per client"):
        naive.train(federation, task, algorithm, 1)
