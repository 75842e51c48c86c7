"""Words that nobody means are refused in one sentence, and what is merely large does not take forever."""

import json

import numpy as np
import pytest

import unalike
from unalike import ConfigError, DataError, Federation, load
from unalike.data.files.agreement import agree_labels, order_columns
from unalike.data.sources.files import data_folder
from unalike.data.streams.drift_detectors import detector_registry
from unalike.data.validation import MOST_LABELS
from unalike.experiments.build import make_algorithm
from unalike.experiments.check_names import check_settings
from unalike.experiments.config import Experiment
from unalike.models import model_registry
from unalike.topology.underlays.base import MOST_NODES, read_underlay


@pytest.mark.parametrize("model", ["rnn:1e308,3", "mlp:1e308", "mlp:inf", "mlp:64,2.5", "mlp-norm:nan"])
def test_sizes_are_whole_numbers(model):
    with pytest.raises(ConfigError, match=r"where a whole number belongs: "):
        model_registry.make(model, input_shape=(4,), outputs=2)


def test_the_window_of_a_detector_is_a_whole_number():
    with pytest.raises(ConfigError, match=r"'kswin:0.1,1e9' has 1e\+09 where a whole number belongs: kswin:"):
        detector_registry.make("kswin:0.1,1e9")


@pytest.mark.parametrize("setting", ["stream", "data"])
def test_a_name_that_no_file_system_has_is_merely_unknown(setting):
    with pytest.raises(ConfigError, match="unknown"):
        check_settings({setting: "a" * 3000})


@pytest.mark.parametrize("value", ["abc", True])
def test_an_option_that_is_no_number_is_named(value):
    experiment = Experiment(algorithm="fedprox", options={"mu": value})
    with pytest.raises(ConfigError, match=f"mu must be a number, but is {value!r}"):
        make_algorithm(experiment)


@pytest.mark.parametrize(
    ("x", "y", "what"),
    [
        ([[0.0] * 784, [0.0] * 3], [0, 1], "pixels must be numbers"),
        ([[float("nan")] * 784], [0], "pixels must be numbers"),
        ([[0.0] * 784], ["seven"], "labels must be numbers"),
        ([[0.0] * 784], [1e308], "labels must be numbers"),
        ([[0.0] * 784], [1.5], "labels must be whole numbers"),
        ([[0.0] * 784], [[1]], "labels must be whole numbers"),
    ],
)
def test_leaf_files_of_ragged_rows_or_words_are_refused(tmp_path, x, y, what):
    (tmp_path / "femnist").mkdir()
    text = json.dumps({"users": ["a"], "user_data": {"a": {"x": x, "y": y}}})
    (tmp_path / "femnist" / "all.json").write_text(text)
    with data_folder(tmp_path), pytest.raises(DataError, match=f"FEMNIST's {what}"):
        load("femnist")


@pytest.mark.parametrize(
    ("x", "y", "what"),
    [
        ([1], [1], "must be strings"),
        ([["a"]], [["c"]], "must be strings"),
        (["ab"], [1], "must be strings"),
        (["ab", "abc"], ["c", "d"], "must have one length"),
        ([""], ["c"], "must have one length"),
    ],
)
def test_leaf_texts_that_are_none_are_refused(tmp_path, x, y, what):
    (tmp_path / "leaf_shakespeare").mkdir()
    text = json.dumps({"users": ["a"], "user_data": {"a": {"x": x, "y": y}}})
    (tmp_path / "leaf_shakespeare" / "all.json").write_text(text)
    with data_folder(tmp_path), pytest.raises(DataError, match=what):
        load("leaf_shakespeare")


def test_a_map_of_more_nodes_than_pairs_can_be_computed_for_is_refused(tmp_path):
    nodes = "".join(f'node [ id {i} label "x" ]' for i in range(MOST_NODES + 1))
    (tmp_path / "large.gml").write_text(f"graph [ {nodes} ]")
    with pytest.raises(DataError, match=f"large.gml: the map has 5,001 nodes.*at most {MOST_NODES:,}"):
        read_underlay(tmp_path / "large.gml")


def test_labels_that_are_names_of_rows_are_refused():
    words = [f"w{i}" for i in range(MOST_LABELS + 1)]
    with pytest.raises(DataError, match=r"10,001 different words.*is this the column to predict"):
        agree_labels({"a": words[:9000], "b": words[9000:]})
    assert len(agree_labels({"a": words[1:]})) == MOST_LABELS


def test_whole_numbers_are_not_more_classes_than_words_unless_somebody_says_so():
    rows = {"a": (np.ones((2, 1)), [0, MOST_LABELS - 1]), "b": (np.ones((2, 1)), [0, MOST_LABELS])}
    with pytest.raises(DataError, match=r"'b' has the label 10000, .* at most 9,999; .* as floats"):
        Federation.from_clients(rows)
    assert Federation.from_clients({"a": rows["a"]}).classes == MOST_LABELS
    assert Federation.from_clients(rows, classes=MOST_LABELS + 1).classes == MOST_LABELS + 1


def test_many_columns_in_another_order_are_matched_by_name():
    """With steps that grow with their number, not with its square."""
    names = [f"c{i}" for i in range(30_000)]
    x = np.arange(len(names))[None]
    np.testing.assert_array_equal(order_columns(x, names, names[::-1]), x[:, ::-1])


def test_rows_of_a_table_keep_their_order_within_clients():
    rng = np.random.default_rng(0)
    owners, values = rng.choice(list("cab"), 60), np.arange(60.0)
    rows = {"who": owners, "x": values, "y": np.arange(60) % 2}
    made = Federation.from_tables(rows, label="y", client_column="who", test_fraction=0.0, prepare="never")
    assert made.names == ("a", "b", "c")
    for number, name in enumerate(made.names):
        mine = np.sort(made.train.client(number)[0][:, 0])
        np.testing.assert_array_equal(mine, values[owners == name])


@pytest.mark.parametrize("rule", ["median", "krum:1", "nnm:1,median"])
def test_robust_rules_let_methods_be_that_send_no_model(rule):
    """`compare --algorithms local,fedavg --vary aggregator=median` has local as a baseline."""
    federation = load("digits", clients=5, samples=100)
    task = unalike.Task.of(federation, "linear")
    how = {"rounds": 1, "seed": 0}
    robust = unalike.train(federation, task, "local", aggregator=rule, **how)
    plain = unalike.train(federation, task, "local", **how)
    assert robust.final()["test_loss"] == pytest.approx(plain.final()["test_loss"])
    assert not [event for event in robust.events() if event["kind"] == "too few uploads"]
