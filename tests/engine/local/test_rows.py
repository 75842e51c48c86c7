"""Does a client see its own rows and no others, wherever they lie?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import train
from unalike.algorithms import ClientData, FedAvg, FedEM, LocalWork
from unalike.core.pytrees import largest_difference
from unalike.data import MemoryStream, Selection
from unalike.engine import LocalEngine, Setting
from unalike.engine.local.batches import plan_batches
from unalike.engine.local.devices import mesh
from unalike.engine.local.layout import assign_to_cores
from unalike.engine.local.rows import GatheredRows, Resident, whole
from unalike.errors import ConfigError

from .. import toys

SIZES = [3, 7, 1, 4, 9]


@pytest.fixture(scope="module")
def split():
    return toys.split(SIZES)


def seen(placed, layout, cores, index, size):
    """The rows that client number `index` of the cohort gets on its own core."""
    width, place = len(layout.place) // cores, layout.slot_of_client[index]
    x, y = np.asarray(placed.x), np.asarray(placed.y)
    first = int(placed.start[place])
    first += (place // width) * (len(x) // cores)
    return x[first : first + size], y[first : first + size]


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("cohort", [[0, 1, 2, 3, 4], [4, 0], [2], [3, 1, 4]])
def test_gathered_rows_are_the_clients_own(split, cohort, cores):
    clients = np.array(cohort)
    layout = assign_to_cores(split.sizes[clients], cores)
    placed = GatheredRows(split, cores).place(clients, layout)
    assert len(placed.x) % cores == 0
    for index, client in enumerate(clients):
        x, y = seen(placed, layout, cores, index, SIZES[client])
        assert np.array_equal(x, split.client(client)[0])
        assert np.array_equal(y, split.client(client)[1])


def test_resident_rows_stay_where_they_are(split):
    clients = np.array([4, 0, 2])
    layout = assign_to_cores(split.sizes[clients], 2)
    placed = Resident(split, mesh()).place(clients, layout)
    for index, client in enumerate(clients):
        first = placed.start[layout.slot_of_client[index]]
        assert np.array_equal(np.asarray(placed.x)[first : first + SIZES[client]], split.client(client)[0])


@pytest.mark.parametrize("cores", [1, 2])
def test_a_selection_chooses_rows_and_weights_and_may_be_empty(split, cores):
    clients = np.array([1, 3, 4])
    rows = np.array([4, 4, 9, 16, 15])
    selection = Selection(rows, np.array([0, 3, 3, 5]), np.arange(5, dtype=np.float32))
    layout = assign_to_cores(np.diff(selection.offsets), cores)
    placed = GatheredRows(split, cores).place(clients, layout, selection)
    for index in range(3):
        low, high = selection.offsets[index : index + 2]
        x, y = seen(placed, layout, cores, index, high - low)
        assert np.array_equal(x, split.x[rows[low:high]])
        assert np.array_equal(y, split.y[rows[low:high]])
    real = placed.weights[placed.weights > 0]
    assert sorted(real.tolist()) == [1, 2, 3, 4]


def test_a_selection_of_resident_rows_lists_them_and_moves_nothing(split):
    rows = np.array([4, 4, 9, 16, 15])
    selection = Selection(rows, np.array([0, 3, 3, 5]), np.arange(5, dtype=np.float32))
    layout = assign_to_cores(np.diff(selection.offsets), 2)
    placed = Resident(split, mesh()).place(np.array([1, 3, 4]), layout, selection)
    assert np.array_equal(placed.x, split.x)
    for index in range(3):
        low, high = selection.offsets[index : index + 2]
        place = layout.slot_of_client[index]
        assert placed.held[place, : high - low].tolist() == rows[low:high].tolist()
        assert placed.held_weights[place, : high - low].tolist() == list(range(low, high))


def test_nobody_has_rows(split):
    selection = Selection(np.zeros(0, np.int64), np.zeros(3, np.int64))
    placed = GatheredRows(split, 2).place(
        np.array([0, 1]), assign_to_cores(np.zeros(2, np.int64), 2), selection
    )
    assert len(placed.x) == len(placed.y) == 2
    assert not placed.start.any()


def test_whole_is_all_rows_of_the_clients_in_the_order_asked_for(split):
    chosen = whole(split, np.array([3, 0]))
    assert np.array_equal(split.x[chosen.rows], np.concatenate([split.client(3)[0], split.client(0)[0]]))
    assert chosen.offsets.tolist() == [0, 4, 7]


def client_data(placed, start, size, batches, index, capacity):
    return ClientData(
        x=jnp.asarray(placed.x),
        y=jnp.asarray(placed.y),
        weights=None,
        own_weights=None,
        start=jnp.asarray(start),
        size=jnp.asarray(size),
        steps=jnp.asarray(batches.steps[index]),
        positions=jnp.asarray(batches.positions[index]),
        round=jnp.asarray(0),
        key=None,
        capacity=capacity,
    )


def test_both_placements_show_a_client_the_same_rows(split):
    clients = np.array([4, 0, 3])
    batches = plan_batches(LocalWork(batch_size=4), split.sizes[clients], clients, 0, 0, 10)
    layout = assign_to_cores(batches.steps, 1)
    gathered = GatheredRows(split, 1).place(clients, layout)
    resident = Resident(split, mesh(1)).place(clients, layout)
    for index, client in enumerate(clients):
        place = layout.slot_of_client[index]
        views = [
            client_data(placed, placed.start[place], SIZES[client], batches, index, 10)
            for placed in (gathered, resident)
        ]
        one, two = (view.all_rows() for view in views)
        for a, b in zip(one[:4], two[:4], strict=True):
            assert np.array_equal(a, b)
        assert np.array_equal(np.asarray(one.x)[: SIZES[client]], split.client(client)[0])


def test_training_on_gathered_rows_is_training_on_resident_rows():
    federation, task = toys.federation(SIZES), toys.logistic_task()
    setting = Setting(federation, task, FedAvg(work=LocalWork(epochs=2, batch_size=4)), 3)
    steps = [toys.step(0, [0, 1, 2, 3, 4], federation.importance), toys.step(1, [4, 1, 0, 3, 2], [0.2] * 5)]
    answers = []
    for resident in (True, False):
        engine = LocalEngine(setting, resident=resident)
        assert engine.rows.gathered is not resident
        state, memories, _ = toys.start(setting)
        answers.append(toys.advance(engine, setting, steps, state, memories)[0][-1]["params"])
    assert largest_difference(*answers) < 1e-6
    assert np.abs(answers[0]["w"]).max() > 1e-3


@pytest.mark.parametrize("algorithm", [FedAvg(work=LocalWork(epochs=2, batch_size=4)), FedEM()])
def test_a_stream_of_resident_rows_trains_as_one_of_gathered_rows(algorithm):
    federation, task = toys.federation([30, 20, 10, 25, 5]), toys.logistic_task()
    answers = []
    for resident in (True, False):
        stream = MemoryStream("poisson:4", 6)
        stream.begin(federation, 0)
        setting = Setting(federation, task, algorithm, 3, stream)
        engine = LocalEngine(setting, resident=resident)
        assert engine.rows.gathered is not resident
        answers.append(train(federation, task, algorithm, engine=engine, rounds=5, seed=3, stream=stream))
    resident, gathered = (run.state for run in answers)
    assert largest_difference(resident, gathered) < 1e-6


def test_rounds_of_a_stream_go_together_and_are_what_they_are_alone():
    federation, task = toys.federation([30, 20, 10, 25, 5]), toys.logistic_task()
    algorithm = FedAvg(work=LocalWork(epochs=1, batch_size=4))
    runs = [
        train(
            federation, task, algorithm, rounds=8, stream=MemoryStream("poisson:4", 6), evaluate_every=every
        )
        for every in (1, 8)  # what is evaluated after every round is computed round by round
    ]
    assert largest_difference(*(run.state for run in runs)) < 1e-6


def test_a_stream_that_changes_rows_has_them_gathered():
    federation = toys.federation([30, 20])
    stream = MemoryStream("constant:4", 6, drift="abrupt:2,label-swap")
    stream.begin(federation, 0)
    setting = Setting(federation, toys.logistic_task(), FedAvg(), 0, stream)
    assert LocalEngine(setting, resident=True).rows.gathered


def test_more_devices_than_there_are_is_refused_in_words():
    setting = Setting(toys.federation([2]), toys.logistic_task(), FedAvg(), 0, None, 99)
    with pytest.raises(ConfigError, match="devices must be between 1 and"):
        LocalEngine(setting)
