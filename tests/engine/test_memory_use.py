"""Rows are in memory once, as they are stored, and no longer than they are needed."""

import gc
import weakref

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg, Federation, LocalWork, Task
from unalike.data.arrays import ALIGNMENT, aligned_empty
from unalike.engine.local.devices import mesh
from unalike.engine.local.rows import on_devices

WORK = LocalWork(steps=3, batch_size=4)


@pytest.fixture(scope="module")
def images():
    """Three clients' images as bytes."""
    rng = np.random.default_rng(0)
    return {str(i): (rng.integers(0, 256, (20, 6, 6, 1), np.uint8), np.arange(20) % 3) for i in range(3)}


def as_floats(images):
    return {name: (x.astype(np.float32) / np.float32(255), y) for name, (x, y) in images.items()}


@pytest.mark.parametrize(
    ("method", "engine"),
    [*((method, "local") for method in ("fedavg", "knnper", "fedem", "ditto")), ("fedavg", "debug")],
)
def test_images_that_stay_bytes_train_and_predict_as_floats_do(images, method, engine):
    algorithm = unalike.algorithms.algorithm_registry.make(method, work=WORK)
    task = Task.classification(unalike.models.mlp(8, input_shape=(6, 6, 1), outputs=3), 3)
    stored, converted = (Federation.from_clients(given, seed=1) for given in (images, as_floats(images)))
    assert stored.train.x.dtype == np.uint8
    assert converted.train.x.dtype == np.float32
    rounds = 3 if engine == "local" else 1  # what is not compiled is slow
    runs = [unalike.train(f, task, algorithm, rounds=rounds, engine=engine) for f in (stored, converted)]
    for a, b in zip(*(jax.tree.leaves(run.state) for run in runs), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
    losses = [run.client_metrics()["test_loss"] for run in runs]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_images_of_bytes_and_of_floats_may_meet(images):
    mixed = {**images, "0": as_floats(images)["0"]}
    federation, other = Federation.from_clients(mixed), Federation.from_clients(as_floats(images))
    np.testing.assert_array_equal(federation.train.x, other.train.x)


def test_a_skew_turns_bytes_into_floats(images):
    federation = Federation.from_clients(images)
    turned = unalike.data.skew_registry.make("rotation:0", federation=federation, seed=0)
    np.testing.assert_allclose(turned.train.x, federation.train.x / np.float32(255), atol=1e-6)


def test_rows_of_a_federation_lie_where_devices_use_them_in_place():
    federation = unalike.load("digits", clients=7)
    assert federation.train.x.ctypes.data % ALIGNMENT == 0
    placed = on_devices(federation.train.x, mesh(1)).placed
    assert placed.unsafe_buffer_pointer() == federation.train.x.ctypes.data


def test_trainings_on_the_same_array_share_what_lies_on_devices():
    x = np.ones((9, 4), np.float32)[1:]
    once, twice = on_devices(x, mesh(1)), on_devices(x, mesh(1))
    assert once is twice
    assert on_devices(x.copy(), mesh(1)) is not once


@pytest.mark.parametrize("first", [0, 1])
def test_rows_end_with_the_last_who_holds_them(first):
    """Also those that devices use in place, whose memory JAX and NumPy hold together."""
    x = aligned_empty((9, 4), np.dtype(np.float32))[first:]
    x[...] = 1
    rows = weakref.ref(x)
    placed = on_devices(x, mesh(1))
    assert np.asarray(placed.placed).sum() == x.size
    del x
    assert rows() is not None
    del placed
    gc.collect()
    assert rows() is None


def test_a_finished_run_is_freed_without_the_garbage_collector():
    federation = unalike.load("digits", clients=5)
    model = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
    gc.disable()
    try:
        run = unalike.train(federation, Task.classification(model, 10), FedAvg(work=WORK), rounds=2)
        engine, rows = weakref.ref(run.engine), weakref.ref(federation.train.x)
        del run, federation
        assert engine() is None
        assert rows() is None
    finally:
        gc.enable()
