"""Does `train` take what the command line takes, and refuse the rest in a sentence?"""

import warnings

import jax
import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, Federation, Optimizer, Task
from unalike.algorithms import LocalWork, Scaffold
from unalike.errors import DivergenceWarning, UnalikeError
from unalike.models import linear
from unalike.models.losses import logistic
from unalike.timing import Asynchronous

DIGITS = unalike.load("digits", clients=4, samples=160, seed=1)
OTHER = unalike.load("breast_cancer", clients=2, samples=60)
VALUES = unalike.load("diabetes", clients=2, samples=60)
TASK = Task.of(DIGITS, "linear")


def train(federation=DIGITS, task=TASK, algorithm="fedavg", **how):
    how = {"rounds": 1, "engine": "debug", "evaluate_every": 0, **how}
    return unalike.train(federation, task, algorithm, **how)


@pytest.mark.parametrize(
    "how",
    [
        {"algorithm": "scaffold"},
        {"task": "mlp:4"},
        {"timing": "async"},
        {"timing": "fedfix:0.5"},
        {"participation": "md", "per_round": 2},
        {"participation": "full"},
        {"stream": "constant:5"},
        {"aggregator": "median"},
        {"aggregator": "norm-bound:1"},
        {"rounds": np.int64(1)},
    ],
)
def test_the_words_of_the_command_line_are_understood(how):
    assert train(**how).rounds == 1


def test_a_name_is_the_object_with_its_own_settings():
    for name, made in {"scaffold": Scaffold(), "fedavg": FedAvg()}.items():
        one, other = (train(algorithm=given).message for given in (name, made))
        for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True):
            np.testing.assert_array_equal(a, b)
    assert type(train(timing="async").engine) is type(train(timing=Asynchronous()).engine)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"algorithm": FedAvg}, r"algorithm is the class FedAvg; make one of it"),
        ({"algorithm": "fedavgg"}, "did you mean 'fedavg'"),
        ({"algorithm": 3}, "algorithm must be an Algorithm"),
        ({"algorithm": FedAvg(optimizer="sgd")}, "optimizer must be an Optimizer"),
        ({"algorithm": FedAvg(work=3)}, "work must be a LocalWork"),
        ({"federation": "digits"}, r"unalike\.load\('digits'\)"),
        ({"federation": {"a": (np.eye(2), [0, 1])}}, "federation must be a Federation"),
        ({"task": 3}, "task must be a Task"),
        ({"timing": "asink"}, "did you mean 'async'"),
        ({"timing": 5}, "timing must be a Timing"),
        ({"participation": "md"}, "say how many with per_round"),
        ({"participation": 0.1}, "participation must be a Participation"),
        ({"stream": "constant"}, "constant"),
        ({"aggregator": max}, "aggregator must be an Aggregator"),
        ({"rounds": "10"}, "rounds must be a whole number, but is '10'"),
        ({"rounds": 2.5}, "rounds must be a whole number"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"seed": None}, "seed must be a whole number"),
        ({"per_round": 2.0}, "per_round must be a whole number"),
        ({"evaluate_every": -1}, "evaluate_every must not be negative"),
        ({"until": "soon"}, "until must be a time above 0"),
        ({"stop_at": "accuracy=90"}, r"cannot reach 90; give a target in that range, such as 0\.9"),
        ({"stop_at": "accuracy=-1"}, "cannot reach -1"),
        ({"stop_at": 0.9}, "stop_at must be a metric and its target, such as accuracy=0.9, not 0.9"),
        ({"patience": "x"}, "patience must be a whole number, but is 'x'"),
        ({"patience": 3}, "patience follows evaluations, and evaluate_every = 0 makes none"),
        ({"out": 3}, "out must be the path of a run folder, but is 3"),
    ],
)
def test_anything_else_is_one_sentence(how, words):
    with pytest.raises(UnalikeError, match=words):
        train(**how)


@pytest.mark.parametrize(
    ("federation", "task", "words"),
    [
        (
            DIGITS,
            Task.classification(linear(input_shape=(8, 8, 1), outputs=5), 5),
            "has 5 outputs, but .* 10",
        ),
        (
            DIGITS,
            Task.classification(linear(input_shape=(8, 8, 1), outputs=1), 10),
            "has 1 output, but .* 10",
        ),
        (DIGITS, Task.of(OTHER, "linear"), r"does not take rows of shape \(8, 8, 1\)"),
        (DIGITS, "gru:4", "gru reads sequences of whole numbers"),
        (VALUES, Task.classification(linear(input_shape=(10,), outputs=2), 2), "values of a regression"),
        (
            VALUES,
            Task.regression(linear(input_shape=(10,), outputs=3)),
            "3 outputs, but a row has 1 target",
        ),
        (VALUES, Task(linear(input_shape=(10,), outputs=1), logistic), "targets between 0 and 1"),
        (DIGITS, Task(linear(input_shape=(8, 8, 1), outputs=1), logistic), "two classes, but .* 10"),
    ],
)
def test_a_task_that_does_not_fit_the_rows_is_refused(federation, task, words):
    with pytest.raises(ConfigError, match=words):
        train(federation, task)


def test_more_outputs_than_classes_are_fine():
    assert train(task=Task.classification(linear(input_shape=(8, 8, 1), outputs=12), 12)).rounds == 1


@pytest.mark.parametrize(
    ("scale", "kind", "warned"), [(255, float, True), (1, float, False), (255, np.uint8, False)]
)
def test_images_that_are_far_too_large_are_warned_of_with_the_factor(scale, kind, warned):
    x = (np.random.default_rng(0).random((20, 4, 4, 1)) * scale).astype(kind)
    federation = Federation.from_clients({"a": (x, np.arange(20) % 2)})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run = train(federation, "linear")
    assert any("divide them by 255" in str(warning.message) for warning in found) == warned
    assert any(event["kind"] == "features out of scale" for event in run.events()) == warned


def test_divergence_is_a_warning_with_advice():
    diverging = FedAvg(optimizer=Optimizer("sgd", 1e6))
    with pytest.warns(DivergenceWarning, match="try a smaller learning rate"):
        train(task="mlp:8", algorithm=diverging, rounds=4, evaluate_every=1, engine="local")


@pytest.mark.parametrize("given", [np.int64, np.float32, np.float64, np.uint8])
def test_a_model_of_bytes_is_asked_on_the_same_scale(given):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (30, 4, 4, 1)).astype(np.uint8)
    run = train(Federation.from_clients({"a": (x, (x[:, 0, 0, 0] > 99).astype(int))}), "linear", rounds=3)
    np.testing.assert_allclose(run.predict_proba(x.astype(given)), run.predict_proba(x), rtol=1e-5)
    np.testing.assert_allclose(run.predict_proba(x.astype(float) / 255), run.predict_proba(x), rtol=1e-5)
    with pytest.raises(UnalikeError, match="from 0 to 255"):
        run.predict_proba(x.astype(np.int64) * 2)


@pytest.mark.parametrize("work", [{"epochs": 1.5}, {"steps": "a"}, {"batch_size": "16"}, {"epochs": True}])
def test_local_work_is_counted_in_whole_numbers(work):
    with pytest.raises(ConfigError, match="must be a whole number, but is"):
        LocalWork(**work)


def test_momentum_is_an_argument_as_in_other_libraries():
    assert Optimizer("sgd", 0.1, momentum=0.9).options == (("momentum", 0.9),)
    for wrong in (
        lambda: Optimizer(0.1),
        lambda: Optimizer("sgd", "0.1"),
        lambda: Optimizer("sgd", None),
        lambda: Optimizer("sgd", clip="1"),
        lambda: Optimizer("sgd", schedule=3),
        lambda: Optimizer("sgd", momentum="x"),
        lambda: Optimizer("sgd", momentumm=1),
    ):
        with pytest.raises(ConfigError):
            wrong()
