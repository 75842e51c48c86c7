"""Is the start of lowest training loss the one that is trained, also after an interruption?"""

from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import unalike.training.fit_plan
from unalike import ConfigError, train
from unalike.algorithms import FedEM
from unalike.experiments.build import make_algorithm, make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.runs import RunFolder
from unalike.training.restarts import best_start, starts, training_loss

SMALL = {
    **{"data": "digits", "samples": 120, "clients": 4, "model": "linear", "algorithm": "fedem", "devices": 1},
    **{"rounds": 6, "steps": 2, "learning_rate": 0.5, "evaluate_every": 0, "checkpoint_every": 2},
    **{"restarts": 3, "seed": 2},
}
EXPERIMENT = make_experiment({**SMALL, "options": {"components": 2}})
FEDERATION = make_federation(EXPERIMENT)
TASK = make_task(EXPERIMENT, FEDERATION)
run = partial(run_experiment, EXPERIMENT, federation=FEDERATION, task=TASK)  # one task: one compilation


class KilledError(Exception):
    """What stands for `kill -9` here: nothing more is written."""


def killed_after(round):
    def observe(report, rounds):
        if report.round == round:
            raise KilledError

    return observe


def fake(losses, samples=None):
    """A run whose clients have these training losses."""
    samples = np.ones(len(losses)) if samples is None else np.asarray(samples, float)
    return SimpleNamespace(evaluate=lambda split: {"loss": np.asarray(losses), "samples": samples})


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole") / "run")


def test_the_first_start_is_the_usual_one_and_all_differ():
    found = starts(make_algorithm(EXPERIMENT), TASK, 2, 4)
    usual = train(FEDERATION, TASK, make_algorithm(EXPERIMENT), rounds=0, seed=2, devices=1).state
    assert equal(found[0], usual)
    assert equal(starts(make_algorithm(EXPERIMENT), TASK, 2, 2)[1], found[1])
    assert not any(equal(found[i], found[j]) for i in range(4) for j in range(i))


def test_the_loss_is_the_mean_over_rows_of_clients_that_have_some():
    assert training_loss(fake([1.0, 4.0, np.nan], [3, 1, 0])) == pytest.approx((3 * 1.0 + 4.0) / 4)


def test_a_start_that_fails_is_never_chosen():
    ends = {"usual": fake([np.nan, 0.0]), "second": fake([3.0, 3.0]), "third": fake([np.inf, 0.0])}
    chosen, losses = best_start(ends.__getitem__, list(ends))
    assert chosen == "second"
    assert losses == [np.inf, 3.0, np.inf]


def test_the_usual_start_is_kept_where_nothing_is_better():
    assert best_start(lambda start: fake([1.0]), ["usual", "second"])[0] == "usual"
    assert best_start(lambda start: fake([np.nan]), ["usual", "second"])[0] == "usual"


@pytest.mark.exact
def test_restarts_train_in_full_from_the_start_that_is_best_after_half(never_stopped):
    algorithm = make_algorithm(EXPERIMENT)
    candidates = starts(algorithm, TASK, 2, 3)
    options = {"seed": 2, "devices": 1, "evaluate_every": 0}
    losses = [
        training_loss(train(FEDERATION, TASK, algorithm, rounds=3, initial=start, **options))
        for start in candidates
    ]
    best = candidates[int(np.argmin(losses))]
    assert equal(
        never_stopped.state, train(FEDERATION, TASK, algorithm, rounds=6, initial=best, **options).state
    )
    assert isinstance(algorithm, FedEM)


@pytest.mark.exact
@pytest.mark.parametrize("round", [0, 1, 2, 3, 6])
def test_a_run_killed_before_or_after_a_checkpoint_goes_on_with_the_same_start(
    round, never_stopped, tmp_path
):
    with pytest.raises(KilledError):
        run(tmp_path / "run", observer=killed_after(round))
    resumed = run(RunFolder.open(tmp_path / "run"), resume=True)
    models = [(one.folder.path / "model.safetensors").read_bytes() for one in (resumed, never_stopped)]
    assert models[0] == models[1]


def test_with_a_checkpoint_no_start_is_tried_again(never_stopped, tmp_path, monkeypatch):
    with pytest.raises(KilledError):
        run(tmp_path / "run", observer=killed_after(3))
    monkeypatch.setattr(
        unalike.training.fit_plan, "best_start", lambda *_: pytest.fail("a start was tried again")
    )
    run(RunFolder.open(tmp_path / "run"), resume=True)


def test_half_of_the_rounds_must_be_known(tmp_path):
    clocked = EXPERIMENT.model_copy(update={"rounds": None, "until": 3.0})
    with pytest.raises(ConfigError, match="say how many rounds"):
        run_experiment(clocked, tmp_path / "run")
    assert not (tmp_path / "run").exists()
