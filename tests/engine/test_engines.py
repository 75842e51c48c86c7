"""Does the same seed give the same model on this machine, on a Ray cluster and between Flower nodes?

The SuperLink and the SuperNodes are real processes that talk over loopback with TLS and keys; the Ray workers
are real processes too.
"""

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.experiments.build import make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment

ray = pytest.importorskip("ray")
pytest.importorskip("flwr")

from unalike.deploy.local_deployment import local_deployment, train_deployed  # noqa: E402

METHODS = {
    "scaffold": {"per_round": 2},
    "fedem": {"options": {"components": 2}},
}
INT_COLUMNS = ("participants", "rejected", "bytes_up", "bytes_down")
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
    with local_deployment(federation, tmp_path_factory.mktemp("deployment")) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def cluster():
    yield
    ray.shutdown()


@pytest.mark.parametrize("algorithm", METHODS)
def test_the_same_seed_gives_the_same_model_on_every_engine(federation, link, algorithm, tmp_path):
    here = run_experiment(
        described(algorithm), federation=federation, task=make_task(described(algorithm), federation)
    )
    on_ray = run_experiment(described(algorithm, "ray:2"), federation=federation)
    between_nodes = train_deployed(link, described(algorithm), tmp_path / "run", 3)
    for there in (on_ray, between_nodes):
        assert largest_difference(here.state, there.state) < 1e-5
        ours, theirs = here.metrics(), there.metrics()
        for name in INT_COLUMNS:
            assert np.array_equal(ours[name], theirs[name], equal_nan=True)
        correct, also = (np.round(m["test_accuracy"] * len(federation.test.y)) for m in (ours, theirs))
        assert np.array_equal(correct, also, equal_nan=True)
        np.testing.assert_allclose(theirs["train_loss"], ours["train_loss"], rtol=1e-4)
        assert there.events() == []
