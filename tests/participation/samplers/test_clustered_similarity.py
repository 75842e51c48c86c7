"""Does sampling by similarity discover who is alike, stay unbiased, and survive being stopped?"""

from math import comb

import numpy as np
import pytest
import scipy

from unalike import FedAvg, Task, load, models, train
from unalike.core.random import generator
from unalike.errors import ConfigError, UnalikeError
from unalike.participation import Cohort, Multinomial, RoundContext, sampler_registry
from unalike.participation.samplers import clustered_similarity as module
from unalike.participation.samplers.clustered import Target
from unalike.participation.samplers.clustered_similarity import ClusteredBySimilarity, LastUpdates
from unalike.participation.samplers.similarity import LINKAGES, METHODS, distances

LABELS = np.repeat(np.arange(10), 10)
EQUAL = np.full(100, 0.01)


def kinds(round=0, noise=0.05, labels=LABELS):
    """Updates of clients that hold one class each."""
    rng = generator(round, "updates")
    updates = np.eye(10)[labels] + noise * rng.normal(size=(len(labels), 10))
    return updates.astype(np.float32)


def everyone_reports(sampler, updates, round=0):
    cohort = Cohort(np.arange(len(updates)), np.full(len(updates), 1 / len(updates)))
    sampler.observe(round, cohort, {"update": updates})


def rounds(sampler, first, last, importance, updates=kinds):
    """Cohorts of some rounds, each of which is observed."""
    cohorts = []
    for number in range(first, last):
        cohort = sampler.cohort(RoundContext(number, importance, seed=5))
        sampler.observe(number, cohort, {"update": updates(number)[cohort.clients]})
        cohorts.append(cohort)
    return cohorts


def expected_classes(matrix):
    present = [1 - np.prod(1 - matrix[:, label == LABELS].sum(axis=1)) for label in range(10)]
    return sum(present)


@pytest.mark.parametrize("linkage", ["rows", "condensed"])
@pytest.mark.parametrize("measure", ["arccos", "L2", "L1"])
def test_clients_of_one_class_become_one_group_and_noise_falls_to_that_of_the_oracle(measure, linkage):
    sampler = ClusteredBySimilarity(measure, linkage, per_round=10)
    everyone_reports(sampler, kinds())
    found = [group.tolist() for group in sampler.groups(EQUAL)]
    assert sorted(found) == [np.flatnonzero(label == LABELS).tolist() for label in range(10)]
    target = Target(per_round=10, labels=LABELS).statistics(EQUAL)
    x = kinds(3).astype(float)
    assert sampler.statistics(EQUAL).second_moment(x) == pytest.approx(target.second_moment(x), rel=1e-12)


def test_rounded_importances_do_not_split_a_group_that_just_fits():
    for seed in range(30):
        shares = generator(seed, "shares").dirichlet(np.ones(10), size=10)
        p = (shares / 10).ravel()
        sampler = ClusteredBySimilarity(per_round=10, seed=seed)
        everyone_reports(sampler, kinds())
        assert len(sampler.groups(p)) == 10
        assert expected_classes(sampler.matrix(p)) == pytest.approx(10, abs=1e-12)
        assert sampler.statistics(p).unbiased
        line = sampler.line(p)
        held = np.bincount(line.clients, line.amounts / line.length, minlength=100)
        assert np.allclose(held, 10 * p, rtol=1e-12)


def test_every_class_is_drawn_after_a_short_exploration():
    sampler = ClusteredBySimilarity(per_round=10)
    cohorts = rounds(sampler, 0, 60, EQUAL)
    classes = [len(set(LABELS[cohort.clients])) for cohort in cohorts]
    assert np.mean(classes[:5]) < 9
    assert classes[-10:] == [10] * 10


def test_the_first_round_does_not_know_classes_even_if_clients_are_sorted_by_them():
    found = [expected_classes(ClusteredBySimilarity(per_round=10, seed=s).matrix(EQUAL)) for s in range(40)]
    uniform = 10 * (1 - comb(90, 10) / comb(100, 10))
    assert np.mean(found) == pytest.approx(uniform, abs=0.3)
    assert max(found) < 8


def test_clients_never_heard_of_form_groups_of_their_own():
    sampler = ClusteredBySimilarity("L2", per_round=5)
    known = np.arange(0, 100, 2)
    sampler.observe(0, Cohort(known, np.full(50, 0.02)), {"update": 3 + kinds()[known]})
    for group in sampler.groups(EQUAL):
        assert len(set(group % 2)) == 1


def test_distributions_are_valid_in_every_round_for_uneven_clients():
    rng = generator(1, "sizes")
    for sizes in (rng.integers(1, 300, size=30), np.append(rng.integers(1, 9, size=29), 900)):
        sampler = ClusteredBySimilarity(per_round=8, sizes=sizes)
        p = sizes / sizes.sum()
        multinomial = Multinomial(per_round=8).statistics(p)
        for number in range(6):
            sampler.line(p).check(sizes)
            found = sampler.statistics(p)
            assert found.unbiased
            assert (found.variance <= multinomial.variance + 1e-15).all()
            assert (found.inclusion >= multinomial.inclusion - 1e-12).all()
            (cohort,) = rounds(sampler, number, number + 1, p)
            assert cohort.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("measure", ["arccos", "L2", "L1"])
def test_only_the_rows_of_new_updates_are_compared_and_the_result_is_as_if_all_were(measure, monkeypatch):
    compared = []
    original = module.distance_rows

    def counting(measure, updates, rows, angle):
        compared.append(len(rows))
        return original(measure, updates, rows, angle)

    monkeypatch.setattr(module, "distance_rows", counting)
    memory, rng, last = LastUpdates(measure, 0.5), generator(2, "updates"), np.zeros((20, 7), np.float32)
    for _ in range(15):
        clients = rng.choice(20, 4, replace=False)
        last[clients] = rng.normal(size=(4, 7))
        memory.learn(clients, last[clients])
        assert np.array_equal(memory.among(np.arange(20)), distances(measure, last, 0.5))
    assert compared == [4] * 15


def test_those_who_are_there_are_grouped_by_their_own_updates():
    labels = generator(7, "labels").permutation(np.repeat(np.arange(4), 10))
    sampler = ClusteredBySimilarity(per_round=2)
    everyone_reports(sampler, kinds(labels=labels))
    here = np.flatnonzero(labels >= 2)
    turn = RoundContext(3, np.full(40, 1 / 40)).among(here, np.full(20, 0.05))
    matrix = sampler.line(turn.importance, turn.clients).matrix()
    assert np.allclose(matrix.sum(axis=0), 0.1)
    assert sorted(set(labels[here][row > 0]).pop() for row in matrix) == [2, 3]
    for number in range(20):
        drawn = sampler.cohort(RoundContext(number, np.full(40, 1 / 40)).among(here, np.full(20, 0.05)))
        assert sorted(labels[here[drawn.clients]]) == [2, 3]


def test_those_who_are_there_are_counted_by_their_own_sizes():
    sizes, here = np.array([5, 1, 3, 9, 2, 4]), np.array([1, 3, 5])
    sampler = ClusteredBySimilarity(per_round=2, sizes=sizes)
    turn = RoundContext(0, sizes / 24).among(here, sizes[here] / 24)
    sampler.line(turn.importance, turn.clients).check(sizes[here])


@pytest.mark.parametrize(("linkage", "angle"), [("rows", 0.0), ("condensed", np.pi / 2)])
def test_the_angle_to_clients_never_heard_of_depends_on_the_tree(linkage, angle):
    sampler = ClusteredBySimilarity("arccos", linkage, per_round=2)
    sampler.observe(0, Cohort(np.array([1]), np.ones(1)), {"update": np.ones((1, 3))})
    assert sampler.memory.among(np.arange(3)).tolist() == [[0, angle, 0], [angle, 0, angle], [0, angle, 0]]


def test_fewer_clients_than_draws_and_a_single_client_are_served():
    sampler = ClusteredBySimilarity(per_round=3, sizes=np.full(9, 4))
    everyone_reports(sampler, kinds(labels=LABELS[:9]))
    one = sampler.cohort(RoundContext(0, np.full(9, 1 / 9)).among(np.array([6]), np.ones(1)))
    assert (one.clients.tolist(), one.weights.tolist()) == ([0], [1.0])
    two = sampler.cohort(RoundContext(0, np.full(9, 1 / 9)).among(np.array([2, 6]), np.array([2.0, 1.0])))
    assert np.allclose(two.weights, [2 / 3, 1 / 3])


def test_updates_that_are_not_finite_count_as_zero_and_are_counted():
    updates = kinds()[:6]
    updates[1, 3], updates[4, 0] = np.nan, np.inf
    memory = LastUpdates("arccos", 0.25)
    memory.learn(np.arange(6), updates)
    assert memory.spoilt == 2
    found = memory.among(np.arange(7))
    assert np.isfinite(found).all()
    assert found[1, 4] == found[1, 6] == 0.0
    assert found[1, 0] == found[4, 5] == 0.25
    memory.learn(np.array([2]), np.full((1, 10), 1e300))
    assert memory.spoilt == 3


def test_equal_updates_of_all_clients_are_served():
    sampler = ClusteredBySimilarity(per_round=10)
    everyone_reports(sampler, np.ones((100, 4)))
    assert sampler.statistics(EQUAL).unbiased
    assert len(sampler.groups(EQUAL)) >= 10


@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("measure", ["arccos", "L1"])
def test_a_restored_sampler_goes_on_with_the_same_bits(measure, pipeline):
    p = generator(3, "importance").dirichlet(np.ones(100))

    def make():
        return ClusteredBySimilarity(measure, per_round=7, pipeline=pipeline, seed=2)

    whole, stopped, resumed = make(), make(), make()
    expected = rounds(whole, 0, 12, p)
    rounds(stopped, 0, 6, p)
    resumed.restore(stopped.state())
    for a, b in zip(expected[6:], rounds(resumed, 6, 12, p), strict=True):
        assert np.array_equal(a.clients, b.clients)
        assert np.array_equal(a.weights, b.weights)
    assert all(np.array_equal(whole.state()[name], resumed.state()[name]) for name in whole.state())
    assert np.array_equal(whole.matrix(p), resumed.matrix(p))


def test_a_saved_state_does_not_change_with_what_is_learnt_later():
    sampler = ClusteredBySimilarity(per_round=10)
    everyone_reports(sampler, kinds(0))
    state = sampler.state()
    before = {name: array.copy() for name, array in state.items()}
    everyone_reports(sampler, kinds(1))
    assert all(np.array_equal(state[name], before[name]) for name in before)
    restored = ClusteredBySimilarity(per_round=10)
    restored.restore(state)
    everyone_reports(restored, kinds(2))
    assert all(np.array_equal(state[name], before[name]) for name in before)


def test_a_pipelined_sampler_sees_all_rounds_but_the_last():
    plain, late = (ClusteredBySimilarity(per_round=4, pipeline=lags) for lags in (False, True))
    p, rng = np.full(30, 1 / 30), generator(4, "cohorts")
    for number in range(8):
        before = plain.matrix(p)
        clients = np.sort(rng.choice(30, 4, replace=False))
        for sampler in (plain, late):
            cohort = Cohort(clients, np.full(4, 0.25))
            sampler.observe(number, cohort, {"update": kinds(number)[clients]})
        assert np.array_equal(late.matrix(p), before)


def test_draws_change_only_when_something_was_learnt(monkeypatch):
    calls = []
    original = module.similarity_tree
    monkeypatch.setattr(module, "similarity_tree", lambda *a: calls.append(1) or original(*a))
    sampler, rng = ClusteredBySimilarity(per_round=10), generator(5, "x")
    for _ in range(4):
        sampler.draw(EQUAL, rng)
    assert len(calls) == 1
    everyone_reports(sampler, kinds())
    sampler.draw(EQUAL, rng)
    assert len(calls) == 2


def test_clients_numbers_only_matter_as_names():
    updates, p = kinds(noise=0.3), generator(6, "importance").dirichlet(np.full(100, 2.0))
    sampler = ClusteredBySimilarity(per_round=10)
    everyone_reports(sampler, updates)
    turned = ClusteredBySimilarity(per_round=10)
    everyone_reports(turned, updates[::-1])
    one, other = sampler.groups(p), turned.groups(p[::-1])
    assert {frozenset(g) for g in one} == {frozenset(99 - g) for g in other}


def test_an_empty_cohort_teaches_nothing():
    sampler = ClusteredBySimilarity(per_round=2)
    sampler.observe(0, Cohort(np.zeros(0, np.int64), np.zeros(0)), {"update": np.zeros((0, 3))})
    everyone_reports(sampler, kinds())
    assert sampler.memory.updates.shape == (101, 10)


def test_a_new_run_starts_without_memory():
    sampler = ClusteredBySimilarity(per_round=10)
    fresh = sampler.matrix(EQUAL)
    everyone_reports(sampler, kinds())
    assert not np.array_equal(sampler.matrix(EQUAL), fresh)
    sampler.check(100, 10)
    assert np.array_equal(sampler.matrix(EQUAL), fresh)


def test_bad_updates_are_refused_in_words():
    sampler = ClusteredBySimilarity(per_round=2)
    cohort = Cohort(np.arange(3), np.full(3, 1 / 3))
    with pytest.raises(ConfigError, match=r"one update for each of the 3 clients, .* shape \(2, 4\)"):
        sampler.observe(0, cohort, {"update": np.zeros((2, 4))})
    with pytest.raises(ConfigError, match="as a row of `update`"):
        sampler.observe(0, cohort, {"loss": np.zeros(3)})
    sampler.observe(0, cohort, {"update": np.zeros((3, 4))})
    with pytest.raises(ConfigError, match="updates have 5 numbers, but earlier ones 4"):
        sampler.observe(1, cohort, {"update": np.zeros((3, 5))})


def test_it_is_made_by_name_and_wrong_words_are_refused():
    made = sampler_registry.make(
        "clustered-similarity:l1,condensed", per_round=4, seed=1, sizes=[1], labels=[0]
    )
    assert made == ClusteredBySimilarity("l1", "condensed", per_round=4, seed=1)
    assert made.watches == ("update",)
    assert made.learns
    with pytest.raises(UnalikeError, match="unknown similarity measure 'L3'"):
        sampler_registry.make("clustered-similarity:L3", per_round=4)
    with pytest.raises(UnalikeError, match="unknown similarity measure '3'"):
        sampler_registry.make("clustered-similarity:3", per_round=4)
    with pytest.raises(UnalikeError, match="unknown linkage 'average'"):
        ClusteredBySimilarity("L1", "average", per_round=4)
    assert sampler_registry.make("clustered-similarity:L1,condensed,single", per_round=4).method == "single"
    with pytest.raises(UnalikeError, match="unknown linkage method 'middle'"):
        sampler_registry.make("clustered-similarity:L1,rows,middle", per_round=4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linkage", LINKAGES)
def test_groups_are_subtrees_of_scipys_tree_and_distributions_are_valid(linkage, method):
    rng = np.random.default_rng(3)
    updates = rng.normal(size=(20, 5)).astype(np.float32)
    importance = np.full(20, 1 / 20)
    sampler = ClusteredBySimilarity("L2", linkage, method, per_round=4)
    sampler.observe(0, Cohort(np.arange(20), importance), {"update": updates})
    apart = scipy.spatial.distance.cdist(updates, updates, "sqeuclidean")
    pairs = (
        scipy.spatial.distance.pdist(apart)
        if linkage == "rows"
        else scipy.spatial.distance.squareform(apart, checks=False)
    )
    root, nodes = scipy.cluster.hierarchy.to_tree(scipy.cluster.hierarchy.linkage(pairs, method), rd=True)
    subtrees = {frozenset(node.pre_order()) for node in nodes}
    groups = [frozenset(group.tolist()) for group in sampler.groups(importance)]
    assert root.get_count() == sum(len(group) for group in groups)
    assert subtrees.issuperset(groups)
    # Each is as large as it may be: five of twenty clients fill one of four distributions.
    parents = [min((s for s in subtrees if group < s), key=len) for group in groups]
    assert all(len(group) <= 5 < len(parent) for group, parent in zip(groups, parents, strict=True))
    matrix = sampler.matrix(importance)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(matrix.sum(axis=0), 4 * importance)


def test_a_sampler_that_cannot_serve_is_refused():
    made = sampler_registry.make("clustered-similarity", per_round=4)
    with pytest.raises(ConfigError, match="between 1 and the number of clients"):
        made.check(3, 1)


@pytest.mark.exact
def test_a_training_that_was_stopped_draws_the_same_cohorts(tmp_path):
    federation = load("digits", clients=12, partition="classes:2", seed=1)
    task = Task.classification(models.linear(input_shape=(8, 8, 1), outputs=10), classes=10)
    sampler = ClusteredBySimilarity(per_round=3, sizes=federation.train.sizes)

    def go(rounds, name, resume=False):
        options = {"rounds": rounds, "participation": sampler, "checkpoint_every": 2, "evaluate_every": 8}
        return train(federation, task, FedAvg(), out=tmp_path / name, resume=resume, seed=4, **options)

    whole = go(8, "whole")
    seen = sampler.state()
    go(4, "stopped")
    resumed = go(8, "stopped", resume=True)
    assert len(seen["clients"]) > 3
    assert all(np.array_equal(seen[name], sampler.state()[name]) for name in seen)
    assert np.array_equal(whole.metrics()["test_loss"][-1], resumed.metrics()["test_loss"][-1])
