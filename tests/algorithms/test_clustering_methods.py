"""Do IFCA and clustered federated learning find clusters, and do they average within them?"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Optimizer
from unalike.algorithms import IFCA, ClusteredFL
from unalike.algorithms.shared.linkage import complete_linkage_halves
from unalike.core import pytrees
from unalike.data.federation import Split
from unalike.models import Task, linear

WORK = LocalWork(steps=2, batch_size=0)
RATE = Optimizer("sgd", 0.1)


def quadratics(*optima):
    """Client i has the loss |theta - optimum_i|^2 / 2."""
    points = np.asarray(optima, np.float32).reshape(len(optima), -1)
    rows, width = np.eye(points.shape[1], dtype=np.float32), points.shape[1]
    x = np.tile(rows * np.sqrt(width), (len(points), 1))
    y = (points * np.sqrt(width)).ravel()
    offsets = np.arange(len(points) + 1) * width
    nothing = Split(x[:0], y[:0], np.zeros_like(offsets))
    split = Split(x, y, offsets)
    federation = Federation(split, nothing, split, None)
    return federation, Task.regression(linear(0, input_shape=(width,), outputs=1))


TWO_KINDS = np.array([[3.0, 0.0], [-3.0, 0.1], [3.1, 0.2], [-3.1, 0.0], [2.9, -0.2]])


def train(federation, task, algorithm, rounds, **options):
    options = {"devices": 1, "evaluate_every": 0, **options}
    return unalike.train(federation, task, algorithm, rounds=rounds, **options)


def test_ifca_settles_on_the_mean_of_each_kind():
    federation, task = quadratics(*TWO_KINDS)
    run = train(federation, task, IFCA(clusters=2, work=WORK, optimizer=RATE), 100)
    found = np.asarray(run.state["params"]["w"])[:, 0]
    truth = np.array([TWO_KINDS[[0, 2, 4]].mean(0), TWO_KINDS[[1, 3]].mean(0)])
    order = np.argsort(-found[:, 0])
    np.testing.assert_allclose(found[order], truth, atol=1e-4)


def test_a_cluster_that_nobody_chooses_stays_where_it_is():
    federation, task = quadratics([3.0, 0.0], [3.0, 0.1], [3.0, 0.2])
    start = {"params": {"w": jnp.array([[[2.0, 0.0]], [[-9.0, 0.0]]])}}
    run = train(federation, task, IFCA(clusters=2, work=WORK, optimizer=RATE), 5, initial=start)
    np.testing.assert_array_equal(run.state["params"]["w"][1], start["params"]["w"][1])
    assert np.abs(run.state["params"]["w"][0] - start["params"]["w"][0]).max() > 0.1


def test_one_cluster_is_federated_averaging():
    federation, task = quadratics(*TWO_KINDS)
    one, average = (train(federation, task, a, 3) for a in (IFCA(clusters=1, work=WORK), FedAvg(work=WORK)))
    assert pytrees.largest_difference(pytrees.row(one.state["params"], 0), average.state["params"]) < 1e-6


def test_ifca_sends_all_models_down_and_one_up():
    federation, task = quadratics(*TWO_KINDS)
    run = train(federation, task, IFCA(clusters=3, work=WORK), 1)
    assert run.metrics()["bytes_down"][-1] == 5 * 3 * 2 * 4
    assert run.metrics()["bytes_up"][-1] == 5 * (2 * 4 + 4)


def test_newcomers_choose_the_model_of_their_kind():
    federation, task = quadratics(*TWO_KINDS)
    run = train(federation, task, IFCA(clusters=2, work=WORK, optimizer=RATE), 60)
    newcomers, _ = quadratics([-3.0, 0.0], [3.0, 0.0])
    columns = unalike.training.newcomers.evaluate_newcomers(run, newcomers)
    assert (columns["loss"] < 0.1).all()


def test_without_a_split_clustered_learning_is_federated_averaging():
    federation, task = quadratics(*TWO_KINDS)
    whole, average = (
        train(federation, task, a, 4) for a in (ClusteredFL(tol1=0.0, work=WORK), FedAvg(work=WORK))
    )
    assert int(whole.state["count"]) == 1
    models = pytrees.row(whole.state["models"], 0)
    assert pytrees.largest_difference(models, average.state["params"]) < 1e-5


def test_a_torn_federation_is_split_by_kind_and_each_half_settles_on_its_mean():
    federation, task = quadratics(*TWO_KINDS)
    method = ClusteredFL(tol1=0.2, tol2=0.4, work=WORK, optimizer=RATE)
    run = train(federation, task, method, 150)
    cluster = np.asarray(run.state["cluster"])
    assert int(run.state["count"]) == 2
    assert len({cluster[0], cluster[2], cluster[4]}) == len({cluster[1], cluster[3]}) == 1
    models = np.asarray(run.state["models"]["w"])[:, 0]
    np.testing.assert_allclose(models[cluster[0]], TWO_KINDS[[0, 2, 4]].mean(0), atol=1e-3)
    np.testing.assert_allclose(models[cluster[1]], TWO_KINDS[[1, 3]].mean(0), atol=1e-3)
    newcomers, _ = quadratics([-3.0, 0.0], [3.0, 0.0])
    assert (unalike.training.newcomers.evaluate_newcomers(run, newcomers)["loss"] < 0.1).all()


@pytest.mark.parametrize(("tol1", "clusters"), [(0.5, 1), (0.7, 2)])
def test_a_split_asks_for_the_plain_mean_change_whatever_clients_count(tol1, clusters):
    """Changes are 1, 1, -2 and 2.4: their mean is 0.6, and 0.2 where the third counts most."""
    federation, task = quadratics([10.0], [10.0], [-20.0], [24.0])
    federation = federation.with_importance([0.2, 0.2, 0.4, 0.2])
    method = ClusteredFL(tol1=tol1, tol2=2.0, work=LocalWork(steps=1, batch_size=0), optimizer=RATE)
    assert int(train(federation, task, method, 1).state["count"]) == clusters


def test_nobody_is_split_off_while_somebody_is_missing():
    federation, task = quadratics(*TWO_KINDS)
    run = train(federation, task, ClusteredFL(tol1=99.0, tol2=0.0, work=WORK), 5, per_round=4)
    assert int(run.state["count"]) == 1


def test_clusters_are_never_more_than_asked_for():
    federation, task = quadratics(*np.random.default_rng(0).normal(size=(9, 2)))
    run = train(federation, task, ClusteredFL(tol1=99.0, tol2=0.0, most=3, work=WORK), 6)
    assert int(run.state["count"]) == 3
    assert set(np.asarray(run.state["cluster"])) == {0, 1, 2}


@pytest.mark.parametrize("seed", range(6))
def test_the_halves_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(11, 3))
    member = np.arange(11) != seed
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    found = np.asarray(complete_linkage_halves(jnp.asarray(distances, jnp.float32), jnp.asarray(member)))
    inside = distances[np.ix_(member, member)]
    groups = fcluster(linkage(squareform(inside, checks=False), "complete"), 2, "maxclust")
    assert not found[seed]
    for a, b in combinations(range(10), 2):
        assert (found[member][a] == found[member][b]) == (groups[a] == groups[b])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: IFCA(clusters=0), "at least 1"),
        (lambda: ClusteredFL(tol1=-1.0), "negative"),
        (lambda: ClusteredFL(most=0), "at least 1"),
        (lambda: ClusteredFL(groups=17), "between 0 and 16"),
    ],
)
def test_impossible_settings_are_refused(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


def test_more_clusters_than_clients_are_refused():
    federation, task = quadratics(*TWO_KINDS)
    with pytest.raises(ConfigError, match="9 clusters need as many clients"):
        train(federation, task, IFCA(clusters=9), 1)


def test_groups_of_like_features_train_apart_from_the_first_round():
    rng = np.random.default_rng(0)
    kind = np.arange(6) % 2
    x = (np.eye(2)[np.repeat(kind, 8)] + 0.2 * rng.random((48, 2))).astype(np.float32)
    y = rng.normal(size=48).astype(np.float32)
    everyone = Federation.from_owners(x, y, np.repeat(np.arange(6), 8), classes=None)
    task = Task.regression(linear(0, input_shape=(2,), outputs=1))
    run = train(everyone, task, ClusteredFL(groups=2, tol1=0.0, work=WORK, optimizer=RATE), 3)
    assert run.state["cluster"].tolist() == kind.tolist()
    assert int(run.state["count"]) == 2
    for group in (0, 1):
        alone = train(
            everyone.subset(np.flatnonzero(kind == group)), task, FedAvg(work=WORK, optimizer=RATE), 3
        )
        both = (pytrees.row(run.state["models"], group), alone.state["params"])
        for mine, theirs in zip(*map(jax.tree.leaves, both), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)
