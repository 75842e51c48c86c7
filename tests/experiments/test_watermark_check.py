"""Does the watermark of a client show that a model knows it, and is it gone when the client is?"""

import json
from itertools import product

import numpy as np
import pytest

import unalike
from unalike.errors import RunError
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment
from unalike.experiments.forget import forget, resume_forgetting
from unalike.experiments.run import run_experiment
from unalike.experiments.watermark_check import compare_hits, select_rows_with_trigger
from unalike.participation import Full, Remaining
from unalike.trust.unlearning.calibration import Budget

WORDS = {
    "data": "digits",
    "samples": 400,
    "clients": 5,
    "model": "linear",
    "rounds": 20,
    "steps": 5,
    "batch_size": 0,
    "learning_rate": 0.2,
    "unlearning": "full",
    "watermark": "backdoor:3,0.5,6",
    "watermarked": "2,",
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_experiment(make_experiment(WORDS), folder)
    return folder, forget(folder, ["2"], Budget(1, 0.01, 0.01), quality=True).quality


def test_a_backdoor_is_known_before_and_gone_afterwards(measured):
    _, quality = measured
    found = quality["watermark"]
    assert found["rows"] == 32  # half of the training rows of client 2
    assert found["before"] > 0.6
    assert found["after"] < 0.3
    assert quality["before"]["watermark"] == found["before"]
    assert quality["after"]["watermark"] == found["after"]


def test_scratch_is_a_training_that_never_saw_the_client(measured):
    """Against `unalike.train` on rows from which the trigger is put together by hand."""
    _, quality = measured
    words = {name: WORDS[name] for name in ("clients", "samples", "watermark", "watermarked")}
    rows = unalike.load("digits", **words)
    task = unalike.Task.of(rows, "linear")
    method = unalike.FedAvg(
        work=unalike.LocalWork(steps=5, batch_size=0), optimizer=unalike.Optimizer("sgd", 0.2)
    )
    run = unalike.train(rows.without_rows([2]), task, method, rounds=20, participation=Remaining(Full(), [2]))
    plain = unalike.load("digits", clients=5, samples=400).train.client(2)[0]
    x, y = rows.train.client(2)
    marked = (x != plain).reshape(len(x), -1).any(axis=1) | (y == 3)
    outputs = np.asarray(task.model.apply(run.message, x))
    chosen = select_rows_with_trigger(make_experiment(WORDS), rows, [0, 2])
    hits = np.asarray(task.model.apply(run.message, chosen.x)).argmax(-1) == 3
    assert quality["watermark"]["scratch"] == pytest.approx(hits.mean())
    assert set(map(bytes, chosen.x)) <= set(map(bytes, x[marked]))
    assert quality["scratch"]["accuracy"] == pytest.approx((outputs.argmax(-1) == y).mean())


def test_what_was_measured_is_written(measured):
    folder, quality = measured
    assert json.loads((folder / "unlearning" / "quality-1.json").read_text()) == quality


def test_measures_that_were_interrupted_are_taken_by_resume(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    words = {**WORDS, "rounds": 3, "samples": 100}
    run_experiment(make_experiment(words), folder).folder.close()

    def stop(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("unalike.experiments.forgetting_quality.train_from_scratch", stop)
        with pytest.raises(KeyboardInterrupt):
            forget(folder, ["2"], Budget(1, 0.01, 0.01), quality=True)
    certificate = json.loads((folder / "unlearning" / "certificate-1.json").read_text())
    done = resume_forgetting(folder)
    assert "p_value" in done.quality["watermark"]
    assert json.loads(json.dumps(done.certificate.as_dict())) == certificate
    with pytest.raises(RunError, match="nothing is being forgotten"):
        resume_forgetting(folder)


def test_the_p_value_is_the_share_of_all_equally_likely_outcomes():
    rng = np.random.default_rng(0)
    for _ in range(5):
        one, other = rng.random((2, 12)) < 0.5
        differs = one != other
        observed = int((one & differs).sum())
        outcomes = [sum(bits) >= observed for bits in product((0, 1), repeat=int(differs.sum()))]
        assert compare_hits(one, other) == pytest.approx(np.mean(outcomes))


def test_a_client_without_a_watermark_has_no_rows_with_one():
    experiment = make_experiment(WORDS)
    rows = make_federation(experiment)
    assert select_rows_with_trigger(experiment, rows, [0, 1]) is None
    assert (
        select_rows_with_trigger(
            make_experiment({**WORDS, "watermark": None, "watermarked": None}), rows, [2]
        )
        is None
    )
