"""Do metrics say what everybody means by their names, of one client, of many together, on every engine?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    recall_score,
    roc_auc_score,
)

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Task
from unalike.algorithms import algorithm_registry
from unalike.core.catalog import separate
from unalike.models import Metric, accuracy, linear, mean_squared_error, metric_registry
from unalike.models.metrics import (
    deciding_metric,
    find_metric,
    higher_is_better,
    is_share,
    label_of,
    mean_by_client,
    mean_of_all,
    metric_columns,
)

CLASSES = 4
NAMES = ("accuracy", "balanced_accuracy", "f1", "auc", "calibration_error", "nlpd")
NAMES += ("worst_class", "class_discrepancy")


@pytest.fixture(scope="module")
def rows():
    """Logits that know something, and labels of which one class is rare."""
    rng = np.random.default_rng(0)
    labels = rng.choice(CLASSES, 400, p=[0.4, 0.3, 0.28, 0.02])
    logits = rng.normal(size=(400, CLASSES)) * 1.5 + 1.5 * np.eye(CLASSES)[labels]
    return logits.astype(np.float32), labels.astype(np.int32)


def statistic(metric, logits, labels):
    return np.asarray(metric(jnp.asarray(logits), jnp.asarray(labels)), np.float64)


def value(metric, logits, labels):
    means = statistic(metric, logits, labels).mean(0)
    return float(metric.of_clients(means[None])[0])


def oracle(name, logits, labels):
    chances, said = softmax(logits.astype(np.float64), -1), logits.argmax(-1)
    match name:
        case "accuracy":
            return accuracy_score(labels, said)
        case "balanced_accuracy":
            return balanced_accuracy_score(labels, said)
        case "worst_class":
            return recall_score(labels, said, average=None).min()
        case "class_discrepancy":
            return np.ptp(recall_score(labels, said, average=None))
        case "f1":
            return f1_score(labels, said, average="macro")
        case "auc":
            return roc_auc_score(labels, chances, multi_class="ovr", average="macro")
        case "nlpd":
            return log_loss(labels, chances, labels=range(CLASSES))
        case "calibration_error":
            sure, right, total = chances.max(-1), said == labels, 0.0
            for low in np.arange(15) / 15:
                inside = (sure > low) & (sure <= low + 1 / 15)
                total += abs(sure[inside].sum() - right[inside].sum()) / len(labels)
            return total
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_what_everybody_calls_so(rows, name):
    metric = metric_registry.make(name, outputs="logits")
    assert value(metric, *rows) == pytest.approx(oracle(name, *rows), abs=5e-4 if name == "auc" else 1e-5)


def test_the_confusion_table_counts_labels_and_predictions(rows):
    logits, labels = rows
    found = statistic(metric_registry.make("confusion"), logits, labels).mean(0) * len(labels)
    np.testing.assert_allclose(found, confusion_matrix(labels, logits.argmax(-1), labels=range(CLASSES)))


@pytest.mark.parametrize("bins", [10, 100, 1000])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_the_error_of_a_binned_auc_is_below_its_bound(bins, scale):
    rng = np.random.default_rng(bins)
    labels = rng.integers(2, size=500)
    logits = (scale * (rng.normal(size=(500, 1)) + labels[:, None])).astype(np.float32)
    metric = metric_registry.make(f"auc:{bins}")
    cells = statistic(metric, logits, labels).mean(0)[0]
    positive, negative = cells[:, 1] / cells[:, 1].sum(), cells[:, 0] / cells[:, 0].sum()
    gap = abs(value(metric, logits, labels) - roc_auc_score(labels, logits[:, 0]))
    assert gap <= 0.5 * (positive * negative).sum() + 1e-9


@pytest.mark.parametrize("name", [*NAMES, "confusion"])
def test_one_logit_of_yes_is_two_classes(name):
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=200)
    score = (rng.normal(size=(200, 1)) + labels[:, None]).astype(np.float32)
    two = np.concatenate([np.zeros_like(score), score], -1)
    one, both = (metric_registry.make(name, outputs=kind) for kind in ("logit", "logits"))
    np.testing.assert_allclose(
        statistic(one, score, labels).mean(0), statistic(both, two, labels).mean(0), atol=1e-6
    )


def test_a_client_with_one_class_has_an_f1_and_no_auc(rows):
    logits, labels = rows
    alone = labels == 1
    known = value(metric_registry.make("f1"), logits[alone], labels[alone])
    assert known == pytest.approx(oracle("f1", logits[alone], labels[alone]))
    two = logits[:, :2]
    assert np.isnan(value(metric_registry.make("auc"), two[alone], labels[alone]))


def test_outputs_that_are_not_numbers_have_no_auc_and_no_calibration():
    logits, labels = np.full((3, CLASSES), np.nan, np.float32), np.array([0, 1, 2])
    for name in ("auc", "calibration_error"):
        assert np.isnan(value(metric_registry.make(name), logits, labels))


def test_scores_without_an_end_are_the_last(rows):
    logits = np.array([[-np.inf], [0.0], [np.inf]], np.float32)
    assert value(metric_registry.make("auc"), logits, np.array([0, 0, 1])) == 1.0


@pytest.mark.parametrize("shape", [(300,), (300, 2)])
def test_regressions_have_their_own(shape):
    rng = np.random.default_rng(2)
    target = rng.normal(size=shape).astype(np.float32)
    said = (target + 0.5 * rng.normal(size=shape)).astype(np.float32)
    away = (said - target).reshape(300, -1).astype(np.float64)
    made = {name: metric_registry.make(name, outputs="values") for name in ("rmse", "mae", "nlpd:0.5")}
    assert value(made["rmse"], said, target) == pytest.approx(np.sqrt((away**2).sum(1).mean()), rel=1e-5)
    assert value(made["mae"], said, target) == pytest.approx(np.abs(away).sum(1).mean(), rel=1e-5)
    density = -norm.logpdf(away, scale=0.5).sum(1).mean()
    assert value(made["nlpd:0.5"], said, target) == pytest.approx(density, rel=1e-5)
    covers = metric_registry.make("interval_coverage:0.8,0.5")
    low, high = norm.interval(0.8, scale=0.5)
    assert value(covers, said, target) == pytest.approx(((away >= low) & (away <= high)).mean())


@pytest.mark.parametrize("name", [*NAMES, "confusion"])
def test_clients_statistics_compose_to_those_of_all_rows(rows, name):
    logits, labels = rows
    metric, sizes = metric_registry.make(name, outputs="logits"), np.array([37, 0, 300, 1, 62])
    means = mean_by_client(statistic(metric, logits, labels), sizes)
    assert np.isnan(means[1]).all()
    together = mean_of_all(means, sizes.astype(float))
    np.testing.assert_allclose(together, statistic(metric, logits, labels).mean(0), atol=1e-12)
    if not metric.table:
        assert metric.of_all(means, sizes.astype(float)) == pytest.approx(value(metric, logits, labels))
        first = metric.of_clients(means)[0]
        assert first == pytest.approx(value(metric, logits[:37], labels[:37]), nan_ok=True)
        assert np.isnan(metric.of_clients(means)[1])


def test_nobody_measured_is_nan():
    metric = metric_registry.make("f1")
    assert np.isnan(metric.of_all(np.full((2, 3, 3), np.nan), np.zeros(2)))
    assert np.isnan(metric.of_clients(np.full(2, np.nan))).all()


# ---- tasks


def test_metrics_share_a_statistic_and_are_asked_for_by_name():
    task = Task.classification(
        linear(input_shape=(3,), outputs=CLASSES), CLASSES, metrics=("f1", "confusion")
    )
    assert list(task.metrics) == ["f1", "confusion"]
    assert list(task.statistics) == ["confusion"]
    assert deciding_metric(task.metrics) == "f1"
    x, y = np.zeros((5, 3), np.float32), np.zeros(5, np.int32)
    assert task.statistic_shapes(x, y) == {"loss": (), "confusion": (CLASSES, CLASSES)}


def test_a_table_alone_does_not_replace_what_judges():
    task = Task.classification(linear(input_shape=(3,), outputs=CLASSES), CLASSES, metrics=["confusion"])
    assert deciding_metric(task.metrics) == "accuracy"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: Task.regression(m, metrics=["f1"]), "f1 is for tasks that predict classes, and this one"),
        (lambda m: Task.classification(m, 4, metrics=["rmse"]), "rmse is for tasks that predict values"),
        (lambda m: Task.classification(m, 4, metrics=["recall"]), "unknown metric 'recall'"),
        (lambda m: Task.classification(m, 4, metrics=["f1", "f1"]), "f1 is there twice"),
        (lambda m: Task.classification(m, 4, metrics=["auc", "auc:7"]), "auc is there twice"),
        (lambda m: Task.classification(m, 4, metrics=["auc:0"]), "1 to 10000 bins"),
        (lambda m: Task.regression(m, metrics=["nlpd:0"]), "standard deviation above 0"),
        (lambda m: Task.regression(m, metrics=["interval_coverage:1"]), "between 0 and 1"),
        (lambda m: Task(m, lambda outputs, y: outputs, ["f1"]), "pass outputs='logits'"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused_in_one_sentence(make, words):
    with pytest.raises(ConfigError, match=words):
        make(linear(input_shape=(3,), outputs=CLASSES))


def custom(metrics):
    return Task.custom(
        lambda key: jnp.zeros((2, 1)), lambda w, x: x @ w, unalike.models.losses.squared_error, metrics
    )


def test_plain_functions_are_metrics_whose_name_tells_the_direction():
    made = custom({"hits": accuracy, "error_rate": accuracy, "mse": mean_squared_error}).metrics
    assert [metric.higher_is_better for metric in made.values()] == [True, False, False]
    assert list(made) == ["hits", "error_rate", "rmse"]
    assert made["rmse"].statistic == "mse"
    assert made["rmse"].of_clients(np.array([4.0, np.nan])).tolist()[0] == 2.0
    again = custom(made).metrics
    assert again == made


def test_users_say_the_direction_with_a_metric():
    mine = Metric("distance_kept", mean_squared_error, higher_is_better=False)
    assert custom({"distance_kept": mine}).metrics["distance_kept"] is mine
    renamed = custom({"kept": mine}).metrics["kept"]
    assert (renamed.name, renamed.statistic, renamed.higher_is_better) == ("kept", "kept", False)


def test_a_registered_metric_of_ones_own_is_known_everywhere():
    @metric_registry.add("staleness_kept")
    def staleness_kept():
        """Mine."""
        return Metric("staleness_kept", accuracy, higher_is_better=False, label="kept", share=True)

    try:
        assert not higher_is_better("test_staleness_kept")
        assert label_of("test_staleness_kept") == "test kept"
        assert is_share("unseen_staleness_kept")
        assert metric_columns(["test_staleness_kept", "test_f1"], first=["staleness_kept"]) == (
            "test_staleness_kept",
            "test_f1",
        )
    finally:
        del metric_registry._makers["staleness_kept"]
    assert find_metric("test_staleness_kept") is None


def test_a_list_of_metrics_may_have_arguments():
    assert separate("f1,interval_coverage:0.9,2,auc:500") == ["f1", "interval_coverage:0.9,2", "auc:500"]


# ---- engines

ASKED = (*NAMES, "confusion")


@pytest.fixture(scope="module")
def federation():
    """Clients of very different sizes; the last one has no test rows."""
    rng = np.random.default_rng(3)
    clients = {}
    for number, size in enumerate((60, 700, 9, 25, 40)):
        y = rng.choice(CLASSES, size, p=[0.4, 0.3, 0.2, 0.1]).astype(np.int32)
        x = (rng.normal(size=(size, 3)) + np.eye(CLASSES)[y][:, :3]).astype(np.float32)
        clients[f"client {number}"] = (x, y)
    made = Federation.from_clients(clients, test_fraction=0.4, seed=0)
    keep = made.test.offsets[:-1].copy()
    test = type(made.test)(made.test.x[: keep[-1]], made.test.y[: keep[-1]], np.append(keep, keep[-1]))
    return made.__class__(**{**made.__dict__, "test": test})


@pytest.fixture(scope="module")
def task():
    return Task.classification(linear(input_shape=(3,), outputs=CLASSES), CLASSES, metrics=ASKED)


def trained(federation, task, engine="local", name="fedavg", devices=2, **options):
    algorithm = algorithm_registry.make(name, work=LocalWork(steps=3))
    return unalike.train(
        federation, task, algorithm, rounds=1, seed=0, engine=engine, devices=devices, **options
    )


def check_clients(run, federation, outputs):
    """Every client's metrics are those of its rows, and all together those of all rows."""
    found, record, metrics = run.evaluate("test"), run.client_metrics(), run.metrics()
    labels, logits = federation.test.y, np.concatenate(outputs)
    for name in NAMES:
        tolerance = {"abs": 3e-3 if name == "auc" else 1e-4}
        np.testing.assert_allclose(record[f"test_{name}"], found[name], rtol=1e-6)
        assert metrics[f"test_{name}"][-1] == pytest.approx(oracle(name, logits, labels), **tolerance)
        own, truth = outputs[1], federation.test.client(1)[1]
        assert found[name][1] == pytest.approx(oracle(name, own, truth), **tolerance)
        assert np.isnan(found[name][-1])
    assert "test_confusion" not in metrics
    for client in range(len(federation) - 1):
        _, truth = federation.test.client(client)
        counts = confusion_matrix(truth, outputs[client].argmax(-1), labels=range(CLASSES))
        np.testing.assert_allclose(found["confusion"][client] * len(truth), counts, atol=1e-4)


def test_a_shared_model_is_measured_on_every_clients_rows(federation, task):
    run = trained(federation, task)
    outputs = [np.asarray(task.apply(run.message, federation.test.client(c)[0])) for c in range(4)]
    check_clients(run, federation, outputs)


def test_engines_agree_on_statistics_that_are_arrays(federation):
    model, asked = linear(input_shape=(3,), outputs=CLASSES), ("auc", "confusion")
    task = Task.classification(model, CLASSES, metrics=asked)
    here, there = (trained(federation, task, engine, "fedavg+").evaluate() for engine in ("local", "debug"))
    assert set(here) == set(there) == {"samples", "loss", *asked, "auc_statistic"}
    for key in here:
        assert here[key].shape == there[key].shape
        np.testing.assert_allclose(here[key], there[key], atol=2e-3)
    assert here["confusion"].shape == (5, CLASSES, CLASSES)
    assert np.isnan(here["confusion"][-1]).all()


@pytest.mark.parametrize("devices", [1, 2])
def test_sums_on_devices_are_those_of_the_clients(federation, task, devices, monkeypatch):
    """Few rows at a time, so that clients' rows lie on several devices and in several pieces."""
    from unalike.engine.local import evaluation

    whole = trained(federation, task, devices=1).evaluate()
    monkeypatch.setattr(evaluation, "BLOCK", 16)
    evaluation.shared_program.cache_clear()
    cut = trained(federation, task, devices=devices).evaluate()
    evaluation.shared_program.cache_clear()
    for key in whole:
        np.testing.assert_allclose(cut[key], whole[key], atol=1e-6)


def test_some_clients_alone_and_none_with_rows(federation, task):
    run = trained(federation, task)
    for chosen in (np.array([4]), np.array([3, 1])):
        found = run.engine.evaluate(run.messages, run.memories, "test", 1, chosen)
        assert found["confusion"].shape == (len(chosen), CLASSES, CLASSES)
        everyone = run.evaluate()
        np.testing.assert_allclose(found["confusion"], everyone["confusion"][chosen], atol=1e-6)


def test_newcomers_are_measured_by_what_is_asked_for(federation, task):
    run = trained(federation, task)
    found = unalike.newcomers.newcomer_summary(run, federation)
    for name in NAMES:
        assert found[f"unseen_{name}"] == pytest.approx(run.final()[f"test_{name}"], rel=1e-5)
    assert found["unseen_bottom_decile"] == pytest.approx(np.nanmin(run.evaluate()["accuracy"]))
    assert "unseen_confusion" not in found


def test_memories_of_clients_are_measured_too(federation):
    from unalike.memorization import memorize

    model = unalike.models.mlp(8, input_shape=(3,), outputs=CLASSES)
    task = Task.classification(model, CLASSES, metrics=("f1", "confusion"))
    run = trained(federation, task)
    memory = memorize(run, k=3, choose=0.5)
    found = memory.evaluate()
    said = [memory.predict(c, federation.test.client(c)[0]) for c in range(4)]
    for client, chances in enumerate(said):
        truth = federation.test.client(client)[1]
        assert found["f1"][client] == pytest.approx(f1_score(truth, chances.argmax(-1), average="macro"))


def test_a_metric_of_ones_own_may_be_no_mean(federation):
    """The geometric mean of the label's probability."""
    metric = Metric(
        "likelihood",
        lambda logits, y: jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0],
        np.exp,
    )
    model = linear(input_shape=(3,), outputs=CLASSES)
    run = unalike.train(federation, Task.classification(model, CLASSES, metrics=[metric]), FedAvg(), rounds=1)
    x, y = federation.test.client(0)
    logits = np.asarray(run.setting.task.apply(run.message, x))
    chance = np.exp(log_softmax(logits, -1)[np.arange(len(y)), y].mean())
    assert run.client_metrics()["test_likelihood"][0] == pytest.approx(chance, rel=1e-5)
