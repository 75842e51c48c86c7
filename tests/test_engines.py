"""Does the same seed give the same model on this machine, on a Ray cluster and between Flower nodes?

The SuperLink and the SuperNodes are real processes that talk over loopback with TLS and keys; the Ray workers
are real processes too.
"""

import threading
from functools import partial

import numpy as np
import pytest

import unalike
from unalike.config import make_experiment
from unalike.experiment import make_task, run_experiment
from unalike.trees import largest_difference

ray = pytest.importorskip("ray")
pytest.importorskip("flwr")

from unalike.deploy import Link, make_authority, make_node_key, parcel_app, read_allowed, serve_node  # noqa: E402
from unalike.deploy.flower import free_port  # noqa: E402
from unalike.deploy.serving import introductions, make_folder, train_nodes  # noqa: E402
from unalike.deploy.worker import Worker  # noqa: E402

METHODS = {
    "fedavg": {},
    "scaffold": {"per_round": 2},
    "fedem": {"options": {"components": 2}},
}
WHOLE = ("participants", "rejected", "bytes_up", "bytes_down")
"""Metrics that are whole numbers."""


def described(algorithm, engine="local"):
    common = {"model": "linear", "steps": 2, "batch_size": 8, "learning_rate": 0.2, "rounds": 2, "seed": 5}
    return make_experiment(
        {**common, "algorithm": algorithm, "evaluate_every": 0, "engine": engine, **METHODS[algorithm]}
    )


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=3, partition="dirichlet:0.5", samples=150, seed=1)


@pytest.fixture(scope="module")
def link(federation, tmp_path_factory):
    """A link with one node for each client."""
    folder, stop = tmp_path_factory.mktemp("deployment"), threading.Event()
    make_authority(folder, ["localhost"])
    address = f"127.0.0.1:{free_port()}"
    threads = []
    for i in range(len(federation)):
        key, _ = make_node_key(folder, f"node-{i}")
        worker = Worker(federation.subset([i]), folder / f"place-{i}")
        app = parcel_app(lambda parcel, _, worker=worker: worker.answer(parcel))
        node = partial(serve_node, app, address, folder / "ca.pem", key, folder / f"place-{i}", stop)
        threads.append(threading.Thread(target=node, args=(lambda line: None,), kwargs={"pull_every": 0.1}))
    with Link(address, folder, read_allowed(folder), folder / "link") as opened:
        for thread in threads:
            thread.start()
        yield opened
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module", autouse=True)
def cluster():
    yield
    ray.shutdown()


def deployed(link, algorithm, folder):
    experiment = described(algorithm)
    with link.open() as post:
        told = introductions(post, 3, 60.0, lambda line: None)
        return train_nodes(experiment, post, told, make_folder(experiment, folder, False))[0]


@pytest.mark.parametrize("algorithm", METHODS)
def test_the_same_seed_gives_the_same_model_on_every_engine(federation, link, algorithm, tmp_path):
    here = run_experiment(
        described(algorithm), federation=federation, task=make_task(described(algorithm), federation)
    )
    on_ray = run_experiment(described(algorithm, "ray:2"), federation=federation)
    between_nodes = deployed(link, algorithm, tmp_path / "run")
    for there in (on_ray, between_nodes):
        assert largest_difference(here.state, there.state) < 1e-5
        ours, theirs = here.metrics(), there.metrics()
        for name in WHOLE:
            assert np.array_equal(ours[name], theirs[name], equal_nan=True)
        correct, also = (np.round(m["test_accuracy"] * len(federation.test.y)) for m in (ours, theirs))
        assert np.array_equal(correct, also, equal_nan=True)
        np.testing.assert_allclose(theirs["train_loss"], ours["train_loss"], rtol=1e-4)
        assert there.events() == []
