"""Is every combination of varied settings compared, under a name of its own?"""

import pytest

from unalike import ConfigError
from unalike.experiments.config import Experiment
from unalike.experiments.variations import SHARED, folder_name, parse_variations, vary


def test_every_combination_is_there_once_in_the_order_given():
    words = ["aggregator=median", "aggregator=krum:1", "per-round=5", "per_round=7", "aggregator=median"]
    made = vary({"fedavg": Experiment()}, words)
    assert [(e.aggregator, e.per_round) for e in made.values()] == [
        ("median", 5),
        ("median", 7),
        ("krum:1", 5),
        ("krum:1", 7),
    ]


def test_methods_are_named_where_there_are_several():
    both = {"fedavg": Experiment(), "scaffold": Experiment(algorithm="scaffold")}
    made = vary(both, ["behavior=scaled", "behavior=none"])
    assert list(made) == [
        "fedavg, scaled",
        "fedavg, behavior none",
        "scaffold, scaled",
        "scaffold, behavior none",
    ]
    assert made["scaffold, behavior none"].behavior is None


def test_nothing_varied_is_what_was_there():
    given = {"fedavg": Experiment()}
    assert vary(given, []) == given


@pytest.mark.parametrize(
    ("words", "says"),
    [("aggregator", "SETTING=VALUE"), ("agregator=median", "did you mean"), ("seed=1", "share seed")],
)
def test_what_cannot_be_varied_is_refused(words, says):
    with pytest.raises(ConfigError, match=says):
        vary({"fedavg": Experiment()}, [words], fixed=SHARED)


def test_names_of_folders_hold_no_separators():
    assert folder_name("a/b: ../c") == "a-b-..-c"
    assert folder_name("...") == "run"


def test_a_setting_of_one_method_is_varied_for_that_method_alone():
    both = {"fedavg": Experiment(), "fedprox": Experiment(algorithm="fedprox", options={"mu": 0.5})}
    made = vary(both, ["timing=sync,fedbuff:5", "fedprox.mu=0.1,1"])
    assert list(made) == [
        *("fedavg, sync", "fedavg, fedbuff:5", "fedprox, sync, mu 0.1", "fedprox, sync, mu 1"),
        *("fedprox, fedbuff:5, mu 0.1", "fedprox, fedbuff:5, mu 1"),
    ]
    assert [e.options for e in made.values()] == [{}, {}, {"mu": 0.1}, {"mu": 1}, {"mu": 0.1}, {"mu": 1}]


def test_numbers_after_a_comma_belong_to_the_name_before_and_words_stay_words():
    made = vary(
        {"fedavg": Experiment()}, ["model=mlp:200,200,linear", "bandwidth=100", "bandwidth=100,20,0.05"]
    )
    assert [(e.model, e.bandwidth) for e in made.values()] == [
        *(("mlp:200,200", "100"), ("mlp:200,200", "100,20,0.05")),
        *(("linear", "100"), ("linear", "100,20,0.05")),
    ]


def test_methods_and_seeds_are_not_settings_to_vary():
    for words, says in (("algorithm=local", "--algorithms"), ("seed=1,2", "share seed")):
        with pytest.raises(ConfigError, match=says):
            vary({"fedavg": Experiment()}, [words])


def test_words_that_are_no_names_are_arguments_of_the_name_before():
    words = [
        "timing=deadline:1.5,keep,async,fedfix-widening:0.2,2",
        "participation=ca-fed:1,running,f3ast:selection",
    ]
    assert parse_variations(words) == {
        "timing": ["deadline:1.5,keep", "async", "fedfix-widening:0.2,2"],
        "participation": ["ca-fed:1,running", "f3ast:selection"],
    }
