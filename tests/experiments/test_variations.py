"""Is every combination of varied settings compared, under a name of its own?"""

import pytest

from unalike import ConfigError
from unalike.experiments.config import Experiment
from unalike.experiments.variations import SHARED, folder_name, vary


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
    made = vary(both, ["behaviour=scaled", "behaviour=none"])
    assert list(made) == [
        "fedavg, scaled",
        "fedavg, behaviour none",
        "scaffold, scaled",
        "scaffold, behaviour none",
    ]
    assert made["scaffold, behaviour none"].behaviour is None


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
