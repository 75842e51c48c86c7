"""Is what is seen of an upload the change it makes, in every engine, and is it only seen, not changed?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import Cohort, FedAvg, Local, LocalWork, Participation, Reply, Task, load, models, train
from unalike.aggregation.observed_updates import add_observed_updates, update, update_norm
from unalike.participation import ClusteredBySimilarity
from unalike.runs import flatten

PLAIN = FedAvg(work=LocalWork(steps=2, batch_size=8))


class Watching(Participation):
    """Takes given cohorts and keeps what it sees of their uploads."""

    watches = ("update", "update_norm")

    def __init__(self, *cohorts):
        self._cohorts, self.seen = [np.array(cohort) for cohort in cohorts], []

    def cohort(self, turn):
        clients = self._cohorts[turn.number]
        return Cohort(clients, np.linspace(1, 2, len(clients)) / len(clients))

    def observe(self, round, cohort, reports):
        self.seen.append((cohort, {name: np.array(values) for name, values in reports.items()}))


class Blind(Watching):
    """The same cohorts, seen by nobody."""

    watches = ()


@pytest.fixture(scope="module")
def federation():
    return load("digits", clients=9, partition="dirichlet:0.5", samples=360, seed=1)


@pytest.fixture(scope="module")
def task():
    return Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def flat(tree):
    """All numbers of a tree, leaf after leaf."""
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in flatten(tree).values()])


def test_an_update_is_upload_minus_message_leaf_after_leaf():
    message = {"b": jnp.array([1.0, 2.0]), "w": jnp.array([[3.0], [4.0]])}
    upload = {"b": jnp.array([2.0, 2.0]), "w": jnp.array([[3.0], [8.0]])}
    assert update(message, upload).tolist() == [1.0, 0.0, 0.0, 4.0]
    assert float(update_norm(message, upload)) == pytest.approx(np.sqrt(17.0))


def test_where_the_upload_is_something_else_it_is_seen_as_it_is():
    message, upload = {"w": jnp.ones(3)}, {"sum": jnp.array([5.0, 6.0]), "count": jnp.array(2.0)}
    assert sorted(update(message, upload).tolist()) == [2.0, 5.0, 6.0]


def test_an_upload_of_the_same_names_but_other_shapes_is_something_else():
    message, upload = {"w": jnp.ones(3)}, {"w": jnp.array([[5.0], [6.0]])}
    assert update(message, upload).tolist() == [5.0, 6.0]


def test_what_is_watched_stands_beside_what_the_client_reports():
    reply = Reply({"w": jnp.array([3.0])}, {}, {"train_loss": jnp.array(0.5)})
    seen = add_observed_updates(("update_norm",), {"w": jnp.array([1.0])}, reply)
    assert {name: float(value) for name, value in seen.items()} == {"train_loss": 0.5, "update_norm": 2.0}
    assert dict(add_observed_updates((), {}, reply)) == dict(reply.report)


def test_the_model_moves_by_the_weighted_sum_of_the_updates_that_are_seen(federation, task):
    """And by the update itself where one client alone takes part."""
    watching = Watching([2], [0, 1, 3], [3, 1, 0, 2], [1])
    run = train(federation, task, PLAIN, rounds=4, participation=watching, keep_history=True)
    for round, (cohort, seen) in enumerate(watching.seen):
        before, after = (flat(run.history.state(k)["params"]) for k in (round, round + 1))
        assert seen["update"].shape == (len(cohort.clients), 650)
        assert np.allclose(cohort.weights @ seen["update"], after - before, atol=1e-6)
        assert np.allclose(np.linalg.norm(seen["update"], axis=1), seen["update_norm"], rtol=1e-5)


def test_the_debug_engine_sees_the_same_updates(federation, task):
    local, debug = (Watching([3, 0]) for _ in range(2))
    for watching, engine in ((local, "local"), (debug, "debug")):
        train(federation, task, PLAIN, rounds=1, participation=watching, engine=engine, evaluate_clients=1)
    (_, one), (_, other) = local.seen[0], debug.seen[0]
    assert one.keys() == other.keys()
    for name in ("update", "update_norm"):
        assert np.allclose(one[name], other[name], rtol=1e-4, atol=1e-6)


@pytest.mark.exact
def test_watching_does_not_change_the_model(federation, task):
    cohorts = [[2], [0, 1, 3], [3, 1]]
    one, other = (
        train(federation, task, PLAIN, rounds=3, participation=kind(*cohorts)) for kind in (Watching, Blind)
    )
    assert np.array_equal(flat(one.state), flat(other.state))


def test_vectors_are_shown_to_the_participation_and_only_numbers_are_recorded(federation, task):
    run = train(federation, task, PLAIN, rounds=1, participation=Watching([0, 1]))
    assert "update" not in run.metrics()
    assert np.isfinite(run.metrics()["update_norm"][1])


def test_clustering_by_similarity_learns_the_updates_that_were_made(federation, task):
    sampler = ClusteredBySimilarity(per_round=2)
    run = train(federation, task, PLAIN, rounds=3, participation=sampler, keep_history=True)
    used = run.record.groups("used")
    assert set(sampler.memory.row) == {int(client) for cohort in used.values() for client in cohort}
    last = used[3]
    rows = sampler.memory.updates[[sampler.memory.row[int(client)] for client in last]]
    weights = np.full(len(last), 1 / 2) if len(last) == 2 else np.ones(1)
    moved = flat(run.history.state(3)["params"]) - flat(run.history.state(2)["params"])
    assert np.allclose(weights @ rows, moved, atol=1e-6)


def test_where_nothing_is_sent_there_is_nothing_to_see(federation, task):
    """Updates of no numbers are all alike, and clustering by them goes on."""
    sampler = ClusteredBySimilarity(per_round=2)
    run = train(federation, task, Local(work=PLAIN.work), rounds=3, participation=sampler)
    assert len(run.record.groups("used")) == 3
    assert sampler.memory.updates.shape[1] == 0
    assert not sampler.memory.distances.any()
