"""A comparison is honest: pairs are of equal seeds, failures show, and JSON can hold it."""

import json

import numpy as np
import pytest

from unalike.errors import ConfigError, RunError
from unalike.runs import compare, mean_interval, paired_test


def results():
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 0.05, size=6)
    make = lambda gain: [{"seed": s, "accuracy": 0.7 + luck[s] + gain, "loss": 1.0 - gain} for s in range(6)]  # noqa: E731
    return {"fedavg": make(0.0), "ditto": make(0.02), "local": make(-0.1)}


def test_rows_hold_the_interval_and_the_paired_test():
    answer = compare(results(), "accuracy")
    values = {name: [seed["accuracy"] for seed in seeds] for name, seeds in results().items()}
    row = answer.rows[1]
    assert (row["accuracy"], row["accuracy_half_width"]) == mean_interval(values["ditto"])
    test = paired_test(values["ditto"], values["fedavg"])
    assert (row["difference"], row["p_t"], row["p_free"]) == (test["difference"], test["p_t"], test["p_free"])
    assert row["loss"] == pytest.approx(0.98)


def test_the_baseline_is_first_unless_named_and_has_no_test():
    assert compare(results(), "accuracy").rows[0]["p_t"] is None
    named = compare(results(), "accuracy", baseline="local")
    assert named.rows[0]["difference"] == pytest.approx(0.1)
    assert named.rows[2]["p_t"] is None


def test_a_method_that_is_the_baseline_by_another_name_does_not_differ():
    seeds = results()["fedavg"]
    row = compare({"fedavg": seeds, "twin": seeds}, "accuracy").rows[1]
    assert (row["difference"], row["p_t"], row["p_free"]) == (0.0, 1.0, 1.0)


def test_the_best_depends_on_the_metrics_direction():
    assert compare(results(), "accuracy").best == "ditto"
    worse = {"a": [{"loss": 1.0}], "b": [{"loss": 0.5}], "c": [{"loss": float("nan")}]}
    assert compare(worse, "loss").best == "b"


def test_seeds_are_paired_by_seed_not_by_position():
    shuffled = {
        name: list(reversed(seeds)) if name == "ditto" else seeds for name, seeds in results().items()
    }
    assert compare(shuffled, "accuracy").rows[1]["difference"] == pytest.approx(0.02)
    assert compare(shuffled, "accuracy").rows[1]["difference_half_width"] == pytest.approx(0, abs=1e-12)


def test_without_seeds_unequal_numbers_are_not_paired():
    answer = compare({"a": [{"x": 1.0}, {"x": 2.0}], "b": [{"x": 1.0}]}, "x")
    assert answer.rows[1]["p_t"] is None


def test_failures_show_and_json_holds_them():
    answer = compare({"a": [{"x": 1.0}, {"x": 2.0}], "b": [{"x": np.nan}, {"x": 1.0}]}, "x")
    row = json.loads(json.dumps(answer.table(), allow_nan=False))[1]
    assert (row["x"], row["failed"]) == (None, 1)
    assert answer.readable()[1]["x"] == "failed"
    assert answer.best == "a"


def test_readable_rows_are_short_texts():
    row = compare(results(), "accuracy").readable()[1]
    assert row["accuracy"].count("±") == 1
    assert row["against fedavg"].startswith("+0.02")


def test_clients_are_sorted_for_plotting():
    answer = compare(results(), "accuracy", clients={"fedavg": np.array([0.9, 0.1])})
    assert answer.clients["fedavg"].tolist() == [0.1, 0.9]


def test_wrong_questions_say_what_is_allowed():
    with pytest.raises(ConfigError, match="did you mean 'accuracy'"):
        compare(results(), "acuracy")
    with pytest.raises(ConfigError, match="baseline"):
        compare(results(), "accuracy", baseline="fedagv")
    with pytest.raises(RunError, match="nothing to compare"):
        compare({"a": []}, "accuracy")
