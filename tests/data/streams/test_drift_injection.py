"""Do rows change when and as the words say, and only those?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, MemoryStream, Optimizer
from unalike.core.pytrees import largest_difference
from unalike.data.federation import Split
from unalike.data.streams import Selection, StreamPart, change_registry, drift_registry
from unalike.models import linear

ROUNDS = 8
KINDS = ["abrupt:3,label-swap", "gradual:2,4,label-swap", "recurring:2,label-swap"]
WORK = {"work": LocalWork(steps=2, batch_size=8), "optimizer": Optimizer("sgd", 0.1)}


@pytest.fixture(scope="module")
def federation():
    rng = np.random.default_rng(1)
    owners = np.repeat(np.arange(4), [30, 17, 9, 24])
    x = rng.normal(size=(80, 5)).astype(np.float32)
    return Federation.from_owners(x, np.arange(80) % 3, owners, test_fraction=0.3, classes=3)


def begun(federation, drift, arrivals="poisson:2", memory=None, rounds=ROUNDS, **options):
    stream = MemoryStream(arrivals, memory, drift=drift, **options)
    stream.begin(federation, 1, rounds)
    return stream


def rows_of(selection, client):
    """Rows and whether they are changed, of one of the clients that were asked for."""
    part = slice(selection.offsets[client], selection.offsets[client + 1])
    drifted = np.zeros(len(selection.rows), bool) if selection.drifted is None else selection.drifted
    return dict(zip(selection.rows[part].tolist(), drifted[part].tolist(), strict=True))


# When -----------------------------------------------------------------------------------------------------


def test_shares_of_the_new_concept():
    shares = {
        "abrupt:3,label-swap": [0, 0, 0, 1, 1, 1],
        "gradual:2,4,label-swap": [0, 0, 0.25, 0.5, 0.75, 1],
        "recurring:2,label-swap": [0, 0, 1, 1, 0, 0],
    }
    for words, wanted in shares.items():
        drift = drift_registry.make(words)
        assert [drift.share(round) for round in range(6)] == wanted
        changes = [r for r in range(1, 6) if wanted[r] != wanted[r - 1]]
        assert drift.turns(5) == changes
        assert drift.segments(5)[-1] == wanted[5]


@pytest.mark.parametrize("words", ["abrupt:3,label-swap", "recurring:2,label-swap"])
@pytest.mark.parametrize("arrivals", ["poisson:2", "constant:1.5", "spread:6", "intermittent:6,2"])
def test_a_row_keeps_the_concept_of_the_round_in_which_it_came(federation, words, arrivals):
    """Round by round: whatever is new has the round's concept; whatever is old keeps its own."""
    stream, everyone = begun(federation, words, arrivals), np.arange(4)
    known = [{} for _ in everyone]
    for round in range(ROUNDS):
        selection = stream.select(round, everyone)
        coming = stream.arriving(round, everyone)
        for client in everyone:
            fresh = rows_of(coming, client)
            assert fresh.keys().isdisjoint(known[client])
            assert set(fresh.values()) <= {bool(stream.drift.share(round))}
            known[client] |= fresh
            held = rows_of(selection, client)
            assert held == {row: known[client][row] for row in held}


@pytest.mark.parametrize("memory", [None, "replace", "reservoir:5", "fifo:3", "window:2"])
@pytest.mark.parametrize("words", KINDS)
def test_what_is_remembered_of_a_row_does_not_depend_on_memory_or_on_who_is_asked(federation, memory, words):
    stream, all_of_it = begun(federation, words, memory=memory), begun(federation, words)
    for round in (6, 1, 7, 3):
        some, whole = stream.select(round, np.array([3, 1])), all_of_it.select(round, np.arange(4))
        for place, client in enumerate((3, 1)):
            everything = rows_of(whole, client)
            assert all(everything[row] == changed for row, changed in rows_of(some, place).items())


def test_gradual_drift_changes_its_share_of_rows():
    x = np.zeros((40_000, 1), np.float32)
    many = Federation.from_owners(x, np.arange(40_000) % 2, np.repeat([0, 1], 20_000), classes=2)
    stream = begun(many, "gradual:2,4,label-swap", "constant:2000")
    shares = [stream.arriving(round, np.arange(2)).drifted.mean() for round in range(7)]
    np.testing.assert_allclose(shares, [0, 0, 0.25, 0.5, 0.75, 1, 1], atol=0.03)
    assert shares[:2] == [0, 0]
    assert shares[5:] == [1, 1]


def test_clients_with_historical_data_see_no_drift(federation):
    stream = begun(federation, "abrupt:3,label-swap", "constant:1,0.5")
    drifted = [rows_of(stream.select(6, np.arange(4)), c) for c in range(4)]
    assert [any(rows.values()) for rows in drifted] == [False, False, True, True]


def test_a_drift_after_the_last_round_is_refused(federation):
    with pytest.raises(ConfigError, match="begin in round 8, but there are 8"):
        begun(federation, "abrupt:8,label-swap")
    begun(federation, "abrupt:8,label-swap", "constant:1", rounds=None)
    begun(federation, "abrupt:8,label-swap", "constant:1", rounds=9)


@pytest.mark.parametrize(("arrivals", "rounds"), [("historical", 8), ("spread:3", 8), ("spread:3", None)])
def test_a_drift_that_no_row_would_see_is_refused(federation, arrivals, rounds):
    with pytest.raises(ConfigError, match="no row arrives from then on"):
        begun(federation, "abrupt:3,label-swap", arrivals, rounds=rounds)
    if arrivals != "historical":
        begun(federation, "abrupt:2,label-swap", arrivals, rounds=rounds)


# How ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_swapped_labels_are_a_permutation_that_undoes_itself(classes):
    swap = change_registry.make("label-swap")
    y = np.arange(classes)
    swap.begin(Federation.from_owners(np.zeros((classes, 1)), y, np.zeros(classes, int), classes=classes))
    pairs = {0: 1, 1: 0, 2: 3, 3: 2, 4: 5, 5: 4, 6: 7, 7: 6, 8: 9, 9: 8}
    assert swap.labels(y).tolist() == [pairs[c] if pairs[c] < classes else c for c in range(classes)]
    assert (swap.labels(swap.labels(y)) == y).all()


@pytest.mark.parametrize("shape", [(4, 4, 1), (4, 4), (2, 3, 1), (6,), (5,), (1,)])
def test_rotations_keep_lengths_and_four_are_none(shape):
    turn = change_registry.make("feature-rotation")
    x = np.random.default_rng(0).normal(size=(3, *shape))
    turned = turn.features(x)
    np.testing.assert_allclose((turned**2).sum(), (x**2).sum())
    assert shape == (1,) or not np.array_equal(turned, x)
    again = turn.features(turn.features(turn.features(turned)))
    np.testing.assert_array_equal(again, x)


def test_rows_that_cannot_change_so_are_refused():
    numbers = Federation.from_owners(np.zeros((4, 2)), np.zeros(4), np.zeros(4, int), classes=None)
    with pytest.raises(ConfigError, match="needs classes"):
        begun(numbers, "abrupt:3,label-swap")
    letters = Federation.from_owners(np.zeros((4, 2), int), np.arange(4), np.zeros(4, int), classes=4)
    with pytest.raises(ConfigError, match="needs images or vectors"):
        begun(letters, "abrupt:3,feature-rotation")


def test_only_changed_rows_are_read_changed(federation):
    train, swap = federation.train, change_registry.make("label-swap")
    swap.begin(federation)
    some = Selection(np.array([3, 7, 8]), np.array([0, 3]), None, np.array([True, False, True]), swap)
    y = some.read(train)[1]
    assert y.tolist() == [swap.labels(train.y[3]), train.y[7], swap.labels(train.y[8])]
    assert some.read(train, np.array([1, 0, 0]))[1].tolist() == [y[1], y[0], y[0]]


def test_a_balanced_memory_balances_the_classes_that_came(federation):
    stream = begun(federation, "abrupt:1,label-swap", "spread:6", "balanced:6")
    found = stream.select(7, np.array([0, 3]))  # who have more rows than room
    y = found.read(federation.train)[1]
    assert [np.bincount(part).tolist() for part in np.split(y, found.offsets[1:-1])] == [[2, 2, 2]] * 2


# Hold-out -------------------------------------------------------------------------------------------------


def test_the_hold_out_has_the_concept_of_the_rows_that_came_last(federation):
    stream = begun(federation, "recurring:2,label-swap")
    swapped = stream.drift.change.labels(federation.test.y)
    for done, changed in enumerate([False, False, False, True, True, False]):
        wanted = swapped if changed else federation.test.y
        np.testing.assert_array_equal(stream.holdout(federation.test, done).y, wanted)
    assert stream.holdout(federation.test, 3) is stream.holdout(federation.test, 4)
    assert stream.holdout(federation.test, 1) is federation.test


def test_a_part_of_the_clients_sees_what_the_whole_does(federation):
    stream = begun(federation, "gradual:2,4,label-swap")
    numbers = np.array([3, 1])
    part, test = StreamPart(stream, numbers, federation.train.offsets), federation.test
    for done in (0, 3, 4, 5, 7):
        np.testing.assert_array_equal(
            part.holdout(test.take(numbers), done).y, stream.holdout(test, done).take(numbers).y
        )
    here = part.select(5, np.arange(2)).read(federation.train.take(numbers))[1]
    np.testing.assert_array_equal(here, stream.select(5, numbers).read(federation.train)[1])


# Training -------------------------------------------------------------------------------------------------


def trained(federation, drift, rounds=ROUNDS, **options):
    task = unalike.Task.classification(linear(input_shape=(5,), outputs=3), classes=3)
    options = {"seed": 1, "evaluate_every": 1, **options}
    stream = MemoryStream("constant:2", "replace", drift=drift)
    return unalike.train(federation, task, FedAvg(**WORK), rounds=rounds, stream=stream, **options)


@pytest.mark.parametrize("change", ["label-swap", "feature-rotation"])
def test_before_it_begins_a_drift_changes_nothing(federation, change):
    with_drift, without = (
        trained(federation, words, keep_history=True) for words in (f"abrupt:3,{change}", None)
    )
    for round in range(4):
        assert largest_difference(with_drift.history.state(round), without.history.state(round)) == 0
    assert largest_difference(with_drift.state, without.state) > 0
    test = [run.metrics()["test_loss"] for run in (with_drift, without)]
    np.testing.assert_array_equal(test[0][:4], test[1][:4])
    assert (test[0][4:] != test[1][4:]).all()


def test_the_hold_out_after_an_abrupt_drift_is_that_of_a_federation_that_was_always_so(federation):
    swap = change_registry.make("label-swap")
    swap.begin(federation)
    test = federation.test
    swapped = replace(federation, test=Split(test.x, swap.labels(test.y), test.offsets))
    drifting, calm = trained(federation, "abrupt:1,label-swap", 3), trained(swapped, None, 3)
    for done, alike in enumerate([False, False, True, True]):
        losses = [
            run.engine.evaluate(drifting.messages, drifting.memories, "test", done)["loss"]
            for run in (drifting, calm)
        ]
        assert np.allclose(*losses, rtol=1e-6) == alike


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_one_step_of_descent_on_each_rounds_rows_by_hand(engine):
    federation = unalike.load("quadratic:3,1,12,2", clients=3, seed=2)
    task = unalike.Task.regression(linear(0, input_shape=(3,), outputs=1))
    algorithm = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.05))
    stream = MemoryStream("constant:2", "fifo:3", ordered=True, drift="abrupt:2,feature-rotation")
    run = unalike.train(federation, task, algorithm, rounds=4, stream=stream, engine=engine)
    theta, sizes = np.zeros(3), federation.train.sizes
    for round in range(4):
        last = np.minimum(2 * (round + 1), sizes)
        first = np.maximum(last - 3, 0)
        change = 0
        for i in range(3):
            x, y = (part[first[i] : last[i]].astype(np.float64) for part in federation.train.client(i))
            for row, place in enumerate(range(first[i], last[i])):
                if place >= 4:  # rounds 0 and 1 have brought four rows
                    x[row] = [-x[row, 1], x[row, 0], x[row, 2]]
            change = change - len(x) / (last - first).sum() * 0.05 * (x @ theta - y) @ x / len(x)
        theta = theta + change
    np.testing.assert_allclose(np.asarray(run.state["params"]["w"])[0], theta, atol=1e-5)


@pytest.mark.parametrize("drift", [KINDS[0], "abrupt:3,feature-rotation"])
def test_the_debug_engine_drifts_alike(federation, drift):
    two = federation.subset([0, 1])  # what is not compiled is slow
    runs = [trained(two, drift, 4, engine=engine) for engine in ("local", "debug")]
    assert largest_difference(runs[0].state, runs[1].state) < 1e-5
    for name in ("test_loss", "prequential_loss"):
        np.testing.assert_allclose(*(run.metrics()[name] for run in runs), atol=1e-5)


@pytest.mark.parametrize("drift", KINDS)
def test_a_resumed_run_drifts_alike(federation, tmp_path, drift):
    whole = trained(federation, drift, out=tmp_path / "whole", checkpoint_every=2)
    options = {"out": tmp_path / "cut", "checkpoint_every": 2}
    with pytest.raises(ZeroDivisionError):
        trained(federation, drift, observer=lambda report, _: 1 / (5 - report.round), **options)
    resumed = trained(federation, drift, resume=True, **options)
    assert largest_difference(whole.state, resumed.state) == 0
    for name, values in whole.metrics().items():
        np.testing.assert_array_equal(values, resumed.metrics()[name])
