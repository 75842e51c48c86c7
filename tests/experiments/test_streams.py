"""Do the words of a stream make the stream they name?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.core.catalog import explain
from unalike.data.streams import (
    arrival_registry,
    change_registry,
    drift_registry,
    memory_registry,
    stream_weight_registry,
)
from unalike.deploy.server import check_servable
from unalike.experiments.build import check, make_stream
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment

TINY = {"data": "digits", "clients": 4, "samples": 200, "model": "linear", "rounds": 3, "evaluate_every": 0}


@pytest.mark.parametrize("memory", [100, "100", "fifo:100"])
def test_a_number_is_a_memory_of_the_newest_rows(memory):
    stream = make_stream(make_experiment({"stream": "constant:20", "memory": memory}))
    assert (type(stream.memory).__name__, stream.memory.capacity) == ("Fifo", 100)


def test_a_run_follows_the_words():
    words = {"stream": "constant:5", "memory": 8, "stream_weights": "uniform"}
    run = run_experiment(make_experiment({**TINY, **words}))
    assert run.metrics()["arrived"][1:].tolist() == [20, 20, 20]
    assert run.metrics()["held"][1:].tolist() == [20, 32, 32]


def test_without_words_importances_are_those_of_the_experiment():
    run = run_experiment(make_experiment({**TINY, "stream": "constant:5", "importance": "equal"}))
    np.testing.assert_allclose(run.setting.importance(0), np.full(4, 0.25))


def test_a_drift_after_the_last_round_is_refused():
    words = {**TINY, "stream": "constant:5", "drift": "abrupt:3,label-swap"}
    with pytest.raises(ConfigError, match="would begin in round 3, but there are 3"):
        run_experiment(make_experiment(words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"memory": 100}, "say how they arrive"),
        ({"stream_weights": "uniform"}, "say how they arrive"),
        ({"drift": "abrupt:2,label-swap"}, "say how they arrive"),
        ({"stream": "constant:20", "drift": "abrupt:2,label-swop"}, "label-swap"),
        ({"stream": "constant:20", "drift": "abrupt:label-swap"}, "abrupt:round,change"),
        ({"stream": "constant:20", "drift": "abrupt:0,label-swap"}, "at least 1"),
        ({"stream": "constant:20", "memory": 0}, "room for at least 1 row"),
        ({"stream": "constant:20", "memory": 10**30}, "at most"),
        ({"stream": "constant:-1"}, "above 0"),
        ({"stream": "constnt:1"}, "constant"),
        ({"stream": "constant:1", "stream_weights": "fixed:2"}, "from 0 to 1"),
    ],
)
def test_words_that_cannot_be_meant_are_refused_before_data_are_read(words, said):
    with pytest.raises(ConfigError, match=said):
        check(make_experiment(words))


def test_real_clients_have_rows_of_their_own():
    with pytest.raises(ConfigError, match="stream = 'constant:5' is not possible with real clients"):
        check_servable(make_experiment({"stream": "constant:5"}))


@pytest.mark.parametrize(
    ("kind", "registry"),
    [
        ("arrivals", arrival_registry),
        ("memories", memory_registry),
        ("stream-weights", stream_weight_registry),
        ("drifts", drift_registry),
        ("changes", change_registry),
    ],
)
def test_lists_name_all_of_them(kind, registry):
    assert explain(kind) == registry.explain()
