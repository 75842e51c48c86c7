"""Does a node that rehearses do to a server what its behavior does in a simulation?"""

import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.server import introductions, make_folder, train_nodes
from unalike.errors import ConfigError
from unalike.experiments.build import make_task
from unalike.experiments.run import run_experiment
from unalike.trust.behaviors import behavior_registry

from .in_process_nodes import Village, experiment


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, samples=200, seed=1)


def served(federation, folder, spec, **values):
    """Train with nodes of which the last one rehearses."""
    workers = {
        f"node-{i}": ClientWorker(
            federation.subset([i]),
            folder / f"node-{i}",
            behavior=behavior_registry.make(spec) if i == len(federation) - 1 else None,
        )
        for i in range(len(federation))
    }
    village, described = Village.of(workers), experiment(**values)
    told = introductions(village, len(workers), 5.0, lambda line: None)
    return train_nodes(described, village, told, make_folder(described, folder / "run", False), patience=5.0)[
        0
    ]


@pytest.mark.parametrize("spec", ["free-rider:plain", "free-rider:decay", "sign-flip:2", "label-flip"])
def test_a_node_lies_as_a_simulated_client_does(federation, tmp_path, spec):
    """Clients are of one size, so that a free-rider's rows are the mean that it would claim."""
    assert len(set(federation.train.sizes.tolist())) == 1
    described = experiment(behavior=spec, dishonest="1")
    simulated = run_experiment(described, federation=federation, task=make_task(described, federation))
    run = served(federation, tmp_path, spec)
    assert largest_difference(run.state, simulated.state) < 1e-5
    assert run.events() == []


def test_the_server_is_not_told(federation, tmp_path):
    run = served(federation, tmp_path, "free-rider:decay")
    assert "dishonest" not in run.metrics()
    assert run.setting.algorithm.dishonest == ()


def test_a_node_alone_cannot_collude(federation, tmp_path):
    lie = behavior_registry.make("inner-product")
    with pytest.raises(ConfigError, match="needs to know what other clients send"):
        ClientWorker(federation.subset([0]), tmp_path, behavior=lie)
