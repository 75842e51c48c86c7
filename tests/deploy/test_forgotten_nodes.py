"""Can a node be forgotten, and do the others retrain without it?"""

import json

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.core.run_files import BEST, FACTS, MODEL
from unalike.deploy.client.app import ClientWorker
from unalike.deploy.forgotten_nodes import RemainingNodes, load_forgotten_nodes
from unalike.deploy.server import introductions, make_folder, train_nodes
from unalike.errors import RunError
from unalike.experiments.forget import forget, prepare_nodes, publish, retraining_folder
from unalike.experiments.forget_plan import open_run
from unalike.runs import RunFolder, load_tensors
from unalike.runs.overview import look_at
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
    forgetting = load_forgotten_nodes(folder)
    post = RemainingNodes(village, forgetting.names)
    told = forgetting.in_their_places(introductions(post, forgetting.remaining, 5.0, lambda line: None))
    forgetting = forgetting.fitted(told)
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
    assert load_forgotten_nodes(folder) is None
    with pytest.raises(RunError, match="elsewhere"):
        forget(folder, ["node-1"], BUDGET)
    prepare_nodes(folder, ["node-1"], BUDGET)
    with pytest.raises(RunError, match="--resume"):
        prepare_nodes(folder, ["node-2"], BUDGET)
    retrained(village, folder)
    with pytest.raises(RunError, match="bring them back"):
        load_forgotten_nodes(folder)


def test_nothing_of_a_forgotten_node_is_left_in_the_folder(village, tmp_path):
    folder = tmp_path / "run"
    served(village, folder, rounds=3).folder.close()
    assert (folder / BEST).exists()
    prepare_nodes(folder, ["node-1"], BUDGET)
    for name in (MODEL, BEST, FACTS, "checkpoints", "report.html"):
        assert not (folder / name).exists()
    assert look_at(folder).state == "forgetting"
    run, certificate = retrained(village, folder, rounds=3)
    run.folder.close()
    found = look_at(folder)
    assert (found.state, found.forgotten, found.rounds) == ("finished", 1, 3)
    with RunFolder.open(folder, read_only=True) as opened:
        assert set(opened.record.client_metrics()["client"]) == {0, 2, 3}
        assert json.loads(opened.record.meta()["nodes"])[1] == "node-1"  # the others keep their places
    assert json.loads((folder / FACTS).read_text())["rows"]["train"][1] == 0
    (coding,) = (one for one in certificate.assumptions if "coded" in one.what)
    assert coding.holds is None


def test_a_label_that_only_the_forgotten_node_had_is_none_any_more(tmp_path):
    """The model that was kept has one class too many, so that training starts with a new one."""
    rng = np.random.default_rng(0)
    words = {"a": ["ill", "well"], "b": ["dead", "well"], "c": ["ill", "well"]}
    workers = {
        name: ClientWorker(
            unalike.Federation.from_clients({name: (rng.normal(size=(20, 3)), labels * 10)}), tmp_path / name
        )
        for name, labels in words.items()
    }
    village, folder = Village.of(workers), tmp_path / "run"
    described = experiment(unlearning="full")
    told = introductions(village, 3, 5.0, lambda line: None)
    train_nodes(described, village, told, make_folder(described, folder, False), patience=5.0)
    prepare_nodes(folder, ["b"], Budget(1, 0.01, 100.0))
    run, certificate = retrained(village, folder)
    assert certificate.guarantee.startswith("(0, 0)-unlearning")
    assert "dead" not in (folder / FACTS).read_text()
    assert run.message["b"].shape == (2,)
