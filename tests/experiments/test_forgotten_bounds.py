"""Is a certificate proven only where the bound holds of every client whose work it compares?"""

import shutil

import jax
import numpy as np
import pytest

import unalike
from unalike.data.sources.source import SCALED_TOGETHER
from unalike.experiments.assumptions import coding_assumptions
from unalike.experiments.build import make_algorithm, make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget
from unalike.experiments.forget_plan import open_run
from unalike.experiments.run import run_experiment
from unalike.participation import Full, Remaining
from unalike.training.train import train
from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.certificate import label_of

LARGE = Budget(1, 0.01, 1e6)
"""Noise that hides everything, so that training starts again from the last model."""


def words(folder):
    """Least squares with a step size that suits all clients but `steep`, on whose rows models move apart."""
    return {
        "data": f"folder:{folder}",
        "model": "linear",
        "unlearning": "full",
        "rounds": 4,
        "steps": 3,
        "batch_size": 0,
        "test_fraction": 0.0,
        "learning_rate": 0.1,
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("steep")
    rng = np.random.default_rng(0)
    (place / "sites").mkdir()
    for name, size in (("a", 1.0), ("b", 1.0), ("steep", 6.0)):
        x = (rng.normal(size=(12, 2)) * size).astype(np.float32)
        np.savez(place / "sites" / f"{name}.npz", x=x, y=rng.normal(size=12).astype(np.float32))
    run_experiment(make_experiment(words(place / "sites")), place / "run").folder.close()
    return place


@pytest.fixture
def folder(trained, tmp_path):
    shutil.copytree(trained / "run", tmp_path / "run")
    return tmp_path / "run"


def label_after(folder, *requests, **settings):
    for names in requests:
        done = forget(folder, names, LARGE, rounds=1, **settings)
        done.run.folder.close()
    return done.certificate.label


def test_one_client_can_break_the_bound_of_another(trained):
    """What the following labels are about: a's true distance is far above its sensitivity."""
    experiment = make_experiment(words(trained / "sites"))
    federation = make_federation(experiment)
    without = train(
        federation.without_rows([0]), make_task(experiment, federation), make_algorithm(experiment), rounds=4,
        participation=Remaining(Full(), [0]),
    )  # fmt: skip
    opened = open_run(trained / "run", read_only=True)
    ours = opened.branch(0).parameters(4)
    theirs = jax.tree.leaves(without.state["params"])
    gaps = [np.sum((ours[name] - np.asarray(b)) ** 2) for name, b in zip(sorted(ours), theirs, strict=True)]
    assert np.sqrt(sum(gaps)) > 2 * opened.ledger(0).sensitivity("full")[4, 0]


def test_a_client_forgotten_in_the_same_request_counts(folder):
    assert label_after(folder, ["a", "steep"]) == "heuristic"


def test_a_client_forgotten_before_counts_as_long_as_its_training_is_on_the_way(folder):
    assert label_after(folder, ["steep"]) == "proven"
    assert label_after(folder, ["a"]) == "heuristic"


def test_clients_that_are_taken_out_together_do_not_count(folder):
    assert label_after(folder, ["a", "steep"], rule="group") == "proven"


def test_a_schedule_is_followed_as_far_as_any_retraining_went(trained, tmp_path):
    shutil.copytree(trained / "sites", tmp_path / "sites")
    (tmp_path / "sites" / "steep.npz").unlink()
    growing = {**words(tmp_path / "sites"), "schedule": "decay:1.2", "rounds": 2}
    run_experiment(make_experiment(growing), tmp_path / "run").folder.close()
    assert label_after(tmp_path / "run", ["a"]) == "proven"
    shutil.rmtree(tmp_path / "run")
    run_experiment(make_experiment(growing), tmp_path / "run").folder.close()
    done = forget(tmp_path / "run", ["a"], LARGE, rounds=15)
    done.run.folder.close()
    assert done.certificate.label == "heuristic"


@pytest.mark.parametrize(
    "name", ["breast_cancer", "diabetes", "heart_like", "tcga_like", "digits", "gaussians"]
)
def test_columns_that_all_clients_scale_are_no_proof(name):
    federation = unalike.load(name, partition="iid", clients=1, test_fraction=0.0)  # all rows of all
    rows = federation.train.x.reshape(len(federation.train.x), -1).astype(np.float64)
    together = bool(np.allclose(rows.mean(axis=0), 0, atol=1e-4))
    assert together == (name in SCALED_TOGETHER)
    label = label_of(coding_assumptions(make_experiment({"data": name}), federation))
    assert label == ("heuristic" if together else "proven")
