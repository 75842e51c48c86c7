"""Can a node be forgotten, and do the others retrain without it?"""

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.core.run_files import MODEL
from unalike.deploy.forgotten_nodes import RemainingNodes, started_forgetting
from unalike.deploy.server import introductions, make_folder, train_nodes
from unalike.errors import RunError
from unalike.experiments.forget import forget, prepare_nodes, publish, retraining_folder
from unalike.experiments.forget_plan import open_run
from unalike.runs import load_tensors
from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.certificate import model_digest

from .in_process_nodes import Village, experiment

BUDGET = Budget(1, 0.01, 1e-30)


@pytest.fixture
def federation():
    return unalike.load("digits", clients=4, partition="dirichlet:0.5", samples=200, seed=1)


@pytest.fixture
def village(federation, tmp_path):
    return Village(federation, tmp_path / "nodes")


def served(village, folder, **values):
    described = experiment(unlearning="full", **values)
    told = introductions(village, 4, 5.0, lambda line: None)
    return train_nodes(described, village, told, make_folder(described, folder, False), patience=5.0)[0]


def retrained(village, folder, **values):
    described = experiment(unlearning="full", **values)
    forgetting = started_forgetting(folder)
    post = RemainingNodes(village, forgetting.names)
    told = forgetting.in_their_places(introductions(post, forgetting.remaining, 5.0, lambda line: None))
    out, going_on = retraining_folder(*forgetting)
    run, _ = train_nodes(
        described, post, told, out, patience=5.0, resume=going_on, retraining=forgetting.retraining()
    )
    return run, publish(*forgetting, run)


def test_the_ledger_of_real_clients_is_that_of_simulated_ones(federation, village, tmp_path):
    from unalike.experiments.run import run_experiment

    served(village, tmp_path / "there")
    run_experiment(experiment(unlearning="full"), tmp_path / "here", federation=federation)
    ours, theirs = (open_run(tmp_path / name, read_only=True).ledger(0) for name in ("here", "there"))
    np.testing.assert_allclose(ours.deviations, theirs.deviations, rtol=1e-4)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6)


def test_a_forgotten_node_is_sent_nothing_and_the_others_start_again_without_it(village, tmp_path):
    folder = tmp_path / "run"
    served(village, folder)
    prepare_nodes(folder, ["node-1"], BUDGET)
    assert not (folder / MODEL).exists()
    village.requests.clear()
    run, certificate = retrained(village, folder)
    assert "node-1" not in {name for name, _ in village.requests}
    assert certificate.digest == model_digest(load_tensors(folder / MODEL)[0])
    assert certificate.label == "conditional"
    assert open_run(folder, read_only=True).log.pending is None
    assert (open_run(folder, read_only=True).ledger(1).weights[:, 1] == 0).all()
    assert not [event for event in run.events() if event["kind"] == "client away"]


def test_it_is_the_model_of_a_simulation_without_the_node(federation, village, tmp_path):
    from unalike.experiments.build import make_algorithm, make_task
    from unalike.participation import Full, Remaining

    folder, described = tmp_path / "run", experiment()
    served(village, folder)
    prepare_nodes(folder, ["node-1"], BUDGET)
    village.away = {"node-1"}
    run, _ = retrained(village, folder)
    there = unalike.train(
        federation.without_rows([1]),
        make_task(described, federation),
        make_algorithm(described),
        rounds=4,
        seed=5,
        participation=Remaining(Full(), [1]),
    )
    assert largest_difference(run.message, there.message) < 1e-5


def test_a_run_that_has_forgotten_is_not_trained_on(village, tmp_path):
    folder = tmp_path / "run"
    served(village, folder)
    assert started_forgetting(folder) is None
    with pytest.raises(RunError, match="elsewhere"):
        forget(folder, ["node-1"], BUDGET)
    prepare_nodes(folder, ["node-1"], BUDGET)
    with pytest.raises(RunError, match="--resume"):
        prepare_nodes(folder, ["node-2"], BUDGET)
    retrained(village, folder)
    with pytest.raises(RunError, match="bring them back"):
        started_forgetting(folder)
