"""Is an experiment checked before it starts, and does every way to write it down say the same?"""

import tomllib
from inspect import Parameter, signature

import pytest
import tomli_w

import unalike
from unalike import ConfigError
from unalike.algorithms import algorithm_registry
from unalike.experiments.build import check, make_algorithm, make_federation, make_task
from unalike.experiments.config import ABOUT, Experiment, make_experiment, read_experiment


def test_every_setting_has_a_default_and_an_explanation():
    for name, field in Experiment.model_fields.items():
        assert not field.is_required(), name
        assert field.description, name
        assert field.description.endswith("."), name


def test_the_defaults_make_sense():
    experiment = Experiment()
    check(experiment)
    federation = make_federation(experiment)
    assert make_task(experiment, federation).model is not None
    assert make_algorithm(experiment).name == "fedavg"


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "ditto", "fedem", "fedadam", "scaffold"])
def test_a_method_has_the_same_defaults_in_python_and_in_words(name):
    assert make_algorithm(Experiment(algorithm=name)) == algorithm_registry.make(name)


@pytest.mark.parametrize("function", [unalike.load, unalike.train])
def test_functions_have_the_defaults_of_experiments(function):
    fields = Experiment.model_fields
    given = {name: p.default for name, p in signature(function).parameters.items() if name in fields}
    differ = {name for name, value in given.items() if value not in (Parameter.empty, fields[name].default)}
    assert differ <= {"timing", "until"}  # in Python an object, and a number


def test_an_experiment_survives_a_file(tmp_path):
    experiment = make_experiment({"algorithm": "fedprox", "options": {"mu": 0.5}, "per_round": 2, "seed": 9})
    path = tmp_path / "e.toml"
    path.write_text(tomli_w.dumps(experiment.model_dump(exclude_none=True)))
    assert read_experiment(path) == experiment


def test_options_replace_what_a_file_says(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text('rounds = 7\nseed = 1\nalgorithm = "scaffold"')
    experiment = read_experiment(path, {"rounds": 8})
    assert (experiment.rounds, experiment.seed, experiment.algorithm) == (8, 1, "scaffold")


def test_the_versions_in_a_run_folder_are_not_settings(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('rounds = 7\n[versions]\njax = "0.10"')
    assert read_experiment(path).rounds == 7


def test_whole_numbers_are_numbers():
    assert make_experiment({"learning_rate": 1, "options": {"mu": 1}}).learning_rate == 1.0


def test_an_option_keeps_its_kind():
    options = {"a": 1, "b": 0.5, "c": "word", "d": True}
    kept = make_experiment({"options": options}).options
    assert kept == options
    assert [type(value) for value in kept.values()] == [int, float, str, bool]


@pytest.mark.parametrize(
    "values",
    [
        {"rounds": -1},
        {"rounds": 1.5},
        {"rounds": "many"},
        {"rounds": True},
        {"seed": -1},
        {"clients": 0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"momentum": 1.0},
        {"test_fraction": 1.0},
        {"batch_size": -1},
        {"clip": 0},
        {"options": {"mu": float("nan")}},
        {"options": {"mu": [1, 2]}},
        {"data": 3},
    ],
    ids=str,
)
def test_what_is_not_possible_is_refused_with_the_name_of_the_setting(values):
    with pytest.raises(ConfigError, match=f"^{next(iter(values))}") as error:
        make_experiment(values)
    assert "\n" not in str(error.value)
    assert "pydantic" not in str(error.value)


def test_an_unknown_setting_gets_the_nearest_one():
    with pytest.raises(ConfigError, match="did you mean 'learning_rate'"):
        make_experiment({"learning_rat": 1})


def test_an_experiment_cannot_be_changed_by_accident():
    with pytest.raises(Exception, match="frozen"):
        Experiment().rounds = 3


@pytest.mark.parametrize(
    "name", ["fedavg", "fedprox", "scaffold", "local", "fedavg+", "fedadam", "fedyogi", "fedavgm"]
)
def test_every_listed_algorithm_can_be_described(name):
    algorithm = make_algorithm(Experiment(algorithm=name, steps=3))
    assert algorithm.work.steps == 3
    assert algorithm.work.epochs is None


def test_the_servers_rate_alone_keeps_the_rest_of_the_servers_optimizer():
    default = make_algorithm(Experiment(algorithm="fedadam")).server_optimizer
    changed = make_algorithm(Experiment(algorithm="fedadam", server_learning_rate=0.5)).server_optimizer
    assert changed.learning_rate == 0.5
    assert (changed.name, changed.options) == (default.name, default.options)


def test_a_written_configuration_is_toml_without_nothing():
    document = tomllib.loads(tomli_w.dumps(Experiment().model_dump(exclude_none=True)))
    assert make_experiment(document) == Experiment()


WHOLE = [name for name, field in Experiment.model_fields.items() if "int" in str(field.annotation)]


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "options"])
@pytest.mark.parametrize("number", [2**63, 2**64, 10**30, -(2**70)])
def test_whole_numbers_that_no_machine_counts_to_are_refused(name, number):
    with pytest.raises(ConfigError, match=f"{name} = "):
        make_experiment({name: number})


def test_every_setting_that_holds_a_name_offers_it_taken_apart():
    experiment = Experiment(model="mlp:200,100", sampling="md", timing="fedfix:0.5")
    assert (experiment.spec("model").name, experiment.spec("model").arguments) == ("mlp", (200, 100))
    for setting in (name for name, known in ABOUT.items() if known.kind):
        given = getattr(experiment, setting)
        assert str(experiment.spec(setting)) == str(given)
    changed = experiment.model_copy(update={"model": "linear"})
    assert changed.spec("model").name == "linear"


def test_keys_and_names_of_older_files_are_read_with_a_warning():
    with pytest.warns(DeprecationWarning, match="behaviour is deprecated since 0.2; use behavior"):
        assert make_experiment({"behaviour": "sign-flip"}).behavior == "sign-flip"
    with pytest.warns(DeprecationWarning, match="gaps is deprecated since 0.2; use missing"):
        assert make_experiment({"gaps": "drop"}).missing == "drop"
    with pytest.warns(DeprecationWarning, match="use centered-clipping"):
        assert make_experiment({"aggregator": "centred-clipping:1"}).aggregator == "centered-clipping:1"
