"""Are methods compared on the same clients, and do the numbers say what they seem to say?"""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

import unalike.experiments.compare
from unalike import ConfigError, load
from unalike.data.digests import data_digests
from unalike.experiments.build import make_federation
from unalike.experiments.compare import (
    DATA,
    Materials,
    Trials,
    check_metric,
    compare_experiments,
    finals,
    judge,
    worse_off,
)
from unalike.experiments.config import Experiment, make_experiment
from unalike.experiments.run import run_experiment
from unalike.experiments.variations import check_options, variant
from unalike.models.metrics import metrics_for
from unalike.runs import Record, compare

SMALL = {
    **{"data": "digits", "samples": 200, "clients": 5, "partition": "dirichlet:0.3", "model": "linear"},
    **{"rounds": 2, "steps": 2, "devices": 1, "evaluate_every": 0},
}
CLASSES, NUMBERS = (
    SimpleNamespace(classes=classes, name=lambda i: f"clinic {i}", metrics=metrics_for(classes), groups=None)
    for classes in (10, None)
)
"""Federations that are tasks as well: all that is asked of both is what classes and metrics there are."""


def described(**values):
    return make_experiment({**SMALL, **values})


def ended(federation, rounds, clients):
    """A run that is nothing but its record: one dict of metrics per round, and the clients' last column."""
    record, name = Record(":memory:"), judge(federation)
    for number, metrics in enumerate(rounds):
        columns = None
        if number == len(rounds) - 1:
            columns = {
                "client": np.arange(len(clients)),
                "test_samples": np.ones(len(clients)),
                name: clients,
            }
        record.write_round(number, metrics, columns)
    setting = SimpleNamespace(federation=federation, task=federation)
    return SimpleNamespace(
        setting=setting,
        metrics=record.metrics,
        client_metrics=lambda: record.client_metrics(None),
        folder=None,
    )


def test_options_go_to_the_method_they_name():
    experiment = described(
        algorithm="fedprox", options={"mu": 0.3, "ditto.lam": 2.0, "fedavg+.tune_epochs": 3}
    )
    assert variant(experiment, "fedprox").options == {"mu": 0.3}
    assert variant(experiment, "ditto").options == {"lam": 2.0}
    assert variant(experiment, "fedavg+").options == {"tune_epochs": 3}
    assert variant(experiment, "local").options == {}


def test_settings_of_one_method_are_not_those_of_the_others():
    experiment = described(learning_rate=0.1, options={"fedem.learning_rate": 0.3, "fedem.steps": 5})
    assert (variant(experiment, "fedem").learning_rate, variant(experiment, "fedem").steps) == (0.3, 5)
    assert (variant(experiment, "ditto").learning_rate, variant(experiment, "ditto").steps) == (0.1, 2)
    assert variant(experiment, "fedem").algorithm == "fedem"


@pytest.mark.parametrize("value", ["x", -1.0])
def test_impossible_settings_of_one_method_are_refused_in_a_sentence(value):
    with pytest.raises(ConfigError, match="learning_rate"):
        variant(described(options={"fedem.learning_rate": value}), "fedem")


@pytest.mark.parametrize("setting", [("model", "mlp"), ("clients", 3), ("test_fraction", 0.5), ("seed", 8)])
def test_what_all_methods_share_cannot_be_set_for_one(setting):
    with pytest.raises(ConfigError, match=setting[0]):
        variant(described(options={f"fedem.{setting[0]}": setting[1]}), "fedem")


@pytest.mark.parametrize(
    ("own", "alone", "higher", "share"),
    [
        ([0.5, 0.7, 0.9], [0.6, 0.7, 0.8], True, 1 / 3),
        ([0.5, 0.7, 0.9], [0.6, 0.7, 0.8], False, 1 / 3),
        ([2.0, 1.0], [1.0, 3.0], False, 0.5),
        ([1.0, 1.0], [1.0, 1.0], True, 0.0),
        ([0.1, np.nan], [0.2, np.nan], True, 1.0),
    ],
)
def test_who_would_do_better_alone(own, alone, higher, share):
    assert worse_off(np.array(own), np.array(alone), higher) == pytest.approx(share)


def test_without_a_client_that_was_measured_nobody_can_say():
    assert np.isnan(worse_off(np.array([np.nan]), np.array([np.nan]), True))


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_client_whose_model_diverged_is_worse_off(lost):
    assert worse_off(np.array([1.0, lost]), np.array([1.0, 1.0]), False) == 0.5


def both(federation, own, alone, metric):
    """The comparison of one seed of `fedavg` and `local` with these clients' values."""
    trials, name = Trials(), judge(federation)
    for method, values in {"local": alone, "fedavg": own}.items():
        numbers = {name: float(np.mean(values)), "test_loss": 1.0}
        trials.add(method, 0, ended(federation, [numbers], np.array(values)))
    return trials.answer(metric)


def test_who_does_worse_than_alone_is_named_the_greatest_loss_first():
    trials = Trials()
    for method, values in {"local": [0.5, 0.5, 0.5, 0.5], "fedavg": [0.4, 0.9, np.nan, 0.1]}.items():
        trials.add(method, 0, ended(CLASSES, [{"test_accuracy": 0.5}], np.array(values)))
    (row,) = trials.worse_than_alone(most=2)
    assert row["method"] == "fedavg"
    assert row["clients"].split() == ["3", "of", "4"]
    assert row["who"] == "clinic 2 (nan, alone 0.5), clinic 3 (0.1, alone 0.5), and 1 more"
    (row,) = trials.worse_than_alone()
    assert row["who"].endswith("clinic 0 (0.4, alone 0.5)")


def test_without_local_nobody_is_compared_with_being_alone():
    trials = Trials()
    trials.add("fedavg", 0, ended(CLASSES, [{"test_accuracy": 0.5}], np.ones(2)))
    assert trials.worse_than_alone() == []


def worse(answer):
    return {row["method"]: row["worse_than_alone"] for row in answer.rows}


def test_worse_than_alone_counts_clients():
    assert worse(both(CLASSES, [0.2, 0.9, 0.9], [0.5, 0.5, 0.5], "test_accuracy")) == {
        "local": 0.0,
        "fedavg": pytest.approx(1 / 3),
    }
    assert worse(both(NUMBERS, [0.2, 0.9, 0.9], [0.5, 0.5, 0.5], "test_rmse"))["fedavg"] == pytest.approx(
        2 / 3
    )


@pytest.mark.parametrize(
    ("federation", "metric", "share"), [(CLASSES, "test_loss", 1 / 3), (NUMBERS, "clients_mean", 2 / 3)]
)
def test_worse_than_alone_does_not_depend_on_the_metric_that_decides(federation, metric, share):
    answer = both(federation, [0.2, 0.9, 0.9], [0.5, 0.5, 0.5], metric)
    assert worse(answer)["fedavg"] == pytest.approx(share)


@pytest.mark.parametrize("metric", ["clients_mean", "bottom_decile", "worst"])
def test_the_best_by_clients_errors_is_the_one_with_small_errors(metric):
    assert both(NUMBERS, [9.0, 9.0], [1.0, 1.0], metric).best == "local"


def test_finals_are_the_last_numbers_over_samples_and_over_clients():
    rounds = [{"test_accuracy": 0.1}, {"train_loss": 2.0}, {"test_accuracy": 0.5, "unseen_accuracy": 0.4}]
    found = finals(ended(CLASSES, rounds, np.linspace(0.1, 1.0, 10)))
    assert (found["test_accuracy"], found["unseen_accuracy"]) == (0.5, 0.4)
    assert found["clients_mean"] == pytest.approx(0.55)
    assert found["bottom_decile"] == found["worst"] == pytest.approx(0.1)


def test_a_run_that_diverged_has_failed():
    rounds = [{"test_rmse": 1.0}, {"test_rmse": np.nan}]
    assert not np.isfinite(finals(ended(NUMBERS, rounds, np.full(3, np.nan)))["test_rmse"])


def test_a_metric_is_checked_before_anything_is_trained():
    federation = load("digits", clients=5)
    assert check_metric(None, described(), federation) == "test_accuracy"
    assert check_metric("bottom_decile", described(), federation) == "bottom_decile"
    with pytest.raises(ConfigError, match="unknown metric 'unseen_accuracy'"):
        check_metric("unseen_accuracy", described(), federation)
    assert check_metric("unseen_accuracy", described(unseen=0.5), federation) == "unseen_accuracy"


def test_the_first_metric_that_is_asked_for_judges_unless_another_is_named():
    federation = load("digits", clients=5)
    asked = described(metrics="confusion,f1,auc", unseen=0.5)
    assert check_metric(None, asked, federation) == "test_f1"
    assert check_metric("test_auc", asked, federation) == "test_auc"
    assert check_metric("unseen_f1", asked, federation) == "unseen_f1"
    for name in ("test_accuracy", "test_confusion"):
        with pytest.raises(ConfigError, match=f"unknown metric '{name}'"):
            check_metric(name, asked, federation)


def test_methods_are_compared_by_a_metric_that_is_no_mean_over_rows():
    variants = {name: variant(described(metrics="accuracy,f1"), name) for name in ("fedavg", "local")}
    found = compare_experiments(variants, range(1))
    answer = found.answer("test_f1")
    np.testing.assert_array_equal(answer.clients["local"], np.sort(found.measured["local"]["test_f1"]))
    assert answer.rows[1]["test_f1"] == pytest.approx(found.curves["local"][0]["test_f1"][-1])
    assert "worse_than_alone" in answer.rows[0]


@pytest.mark.exact
def test_every_method_starts_from_the_same_and_is_what_it_would_be_alone():
    variants = {name: variant(described(), name) for name in ("fedavg", "local")}
    found = compare_experiments(variants, range(4, 5))
    first = {name: curves[0]["test_loss"][0] for name, curves in found.curves.items()}
    assert first["fedavg"] == pytest.approx(first["local"], rel=1e-6)
    alone = run_experiment(variants["fedavg"].model_copy(update={"seed": 4}))
    assert found.results["fedavg"][0]["test_loss"] == alone.final()["test_loss"]
    assert found.results["fedavg"][0]["seed"] == 4.0


def test_methods_share_clients_and_seeds_do_not(monkeypatch):
    used = {}

    def run(planned, material, *_):
        used[planned.name, planned.experiment.seed] = material.federation
        return ended(CLASSES, [{"test_accuracy": 0.5}], np.ones(5))

    monkeypatch.setattr(unalike.experiments.compare, "train_planned", run)
    compare_experiments({name: variant(described(), name) for name in ("fedavg", "local")}, range(2))
    assert used["fedavg", 0] is used["local", 0]
    assert used["fedavg", 1] is used["local", 1]
    same = [
        np.array_equal(*pair) for pair in zip(*(used["fedavg", s].train.sizes for s in (0, 1)), strict=True)
    ]
    differ = not all(same) or not np.array_equal(used["fedavg", 0].train.y, used["fedavg", 1].train.y)
    assert differ


def test_without_test_rows_there_is_nothing_to_compare(tmp_path):
    with pytest.raises(ConfigError, match="needs test rows"):
        compare_experiments({"fedavg": described(test_fraction=0.0)}, range(1), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_seed_has_no_p_value_and_has_not_failed():
    results = {"fedavg": [{"accuracy": 0.5}], "local": [{"accuracy": 0.6}]}
    row = compare(results, "accuracy").readable()[1]
    assert row["against fedavg"] == "+0.1000"
    assert "failed" not in row.values()


@pytest.mark.exact
def test_a_comparison_is_the_same_twice():
    variants = {"fedavg": described()}
    first, second = (
        compare_experiments(variants, range(2)).answer("test_accuracy").table() for _ in range(2)
    )
    assert jax.tree.leaves(first) == jax.tree.leaves(second)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("lam", "lam needs a method's name in front, such as ditto.lam; without one it is for fedavg"),
        ("fedem.components", "fedem.components is for fedem, which is not compared; choose from ditto."),
    ],
)
def test_an_option_that_nobody_would_get_is_refused_by_what_to_write(option, words):
    with pytest.raises(ConfigError, match=words):
        check_options(described(options={option: 1}), ["ditto"])


class Watched:
    """An experiment that remembers which of its settings were looked at."""

    def __init__(self, experiment):
        self._experiment, self.looked_at = experiment, set()

    def __getattr__(self, name):
        self.looked_at.add(name)
        return getattr(self._experiment, name)


@pytest.mark.parametrize("words", [{}, {"network": "ring", "clients": None}, {"algorithm": "werm"}])
def test_everything_that_decides_about_rows_tells_federations_apart(words):
    """Otherwise a comparison trains two settings on the rows of the first."""
    watched = Watched(described(**words))
    make_federation(watched)
    delays = {"access", "core", "workload", "steps"}  # of a map, of which only the silos are counted
    allowed = {*DATA, *delays, "seed", "algorithm", "options"}
    assert watched.looked_at & set(Experiment.model_fields) <= allowed


@pytest.mark.parametrize("words", [{"sizes": "lognormal:2"}, {"skew": "noise:1"}, {"test_fraction": 0.4}])
def test_settings_of_rows_are_those_of_the_variant(words):
    materials = Materials()
    plain, other = described(partition="iid"), described(partition="iid", **words)
    digests = [data_digests(materials.of(one).federation) for one in (plain, other)]
    assert digests[0] != digests[1]
    assert digests[1] == data_digests(make_federation(other))
