"""Do an experiment's words make the participation they speak of, and is every wrong word one sentence?"""

import numpy as np
import pytest

import unalike.experiments.build_participation
from unalike import ConfigError, Federation, UnalikeError, load
from unalike.experiments.build_participation import make_participation
from unalike.experiments.config import make_experiment
from unalike.participation import (
    AdaFed,
    Always,
    AvailableOnly,
    Binomial,
    CAFed,
    CAFedOnBatches,
    ClusteredByData,
    ClusteredBySimilarity,
    ClusteredBySize,
    Diurnal,
    Estimated,
    F3ast,
    Full,
    Intermittent,
    Known,
    Markov,
    MoreAvailable,
    Multinomial,
    Optimal,
    OriginalFedAvg,
    Poisson,
    PowerOfChoice,
    Renormalized,
    RoundContext,
    Target,
    Trace,
    Unbiased,
    Uniform,
    UniformWithReplacement,
    sampler_registry,
    strategy_registry,
)

CLIENTS = 6
MINIMA = np.arange(CLIENTS, dtype=float)


@pytest.fixture(scope="module")
def federation():
    return load("digits", clients=CLIENTS, partition="dirichlet:0.5", samples=120, seed=0)


@pytest.fixture(autouse=True)
def untrained(monkeypatch):
    """Whatever the words are, nothing is trained for them."""
    for where in ("train", "fit_plan", "local_minima"):
        monkeypatch.setattr(
            f"unalike.training.{where}.execute", lambda *_, **__: pytest.fail("something was trained")
        )


@pytest.fixture
def make(federation):
    def made(**words):
        return make_participation(make_experiment(words), federation)

    return made


# Samplers.


def test_without_a_word_everyone_takes_part(make):
    assert type(make()) is Full


def test_a_number_alone_is_the_usual_practice(make):
    assert make(per_round=3) == Renormalized(per_round=3)


SAMPLERS = {
    "full": Full,
    "md": Multinomial,
    "uniform": Uniform,
    "uniform-with-replacement": UniformWithReplacement,
    "fedavg-original": OriginalFedAvg,
    "fedavg-renormalized": Renormalized,
    "binomial": Binomial,
    "poisson": Poisson,
    "optimal": Optimal,
    "clustered-size": ClusteredBySize,
    "clustered-similarity": ClusteredBySimilarity,
    "clustered-data": ClusteredByData,
    "target": Target,
    "power-of-choice": PowerOfChoice,
}


def test_every_sampler_of_the_list_is_tried_here():
    assert set(SAMPLERS) == set(sampler_registry)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_samplers_name_makes_it(make, name):
    sampler = make(sampling=name, per_round=3)
    assert type(sampler) is SAMPLERS[name]
    if name != "full":
        assert sampler.per_round == 3


def test_full_needs_no_number(make):
    assert type(make(sampling="full")) is Full


def test_clustered_samplers_know_sizes_seed_and_classes(make, federation):
    for name in ("clustered-size", "clustered-similarity", "clustered-data", "target"):
        sampler = make(sampling=name, per_round=3, seed=5)
        assert np.array_equal(sampler.sizes, federation.train.sizes)
        assert sampler.seed == 5
    majority = [np.bincount(federation.train.client(k)[1]).argmax() for k in range(CLIENTS)]
    assert make(sampling="target", per_round=3).labels.tolist() == majority


def test_arguments_follow_a_colon(make):
    sampler = make(sampling="power-of-choice:5,4", per_round=2)
    assert (sampler.candidates, sampler.window) == (5, 4)
    assert make(sampling="clustered-similarity:L1", per_round=2).measure == "L1"


# Clients that come and go.


def test_availability_alone_is_followed_by_the_usual_practice(make):
    made = make(availability="markov:0.3,0.5")
    assert type(made) is Intermittent
    assert type(made.availability) is Markov
    assert np.allclose(made.availability.active, 0.3)
    assert np.allclose(made.availability.correlation, 0.5)
    assert len(made.availability.active) == CLIENTS
    assert type(made.strategy) is AvailableOnly
    assert made.sampler is None
    assert type(made.beliefs) is Estimated


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("always", Always),
        ("markov", Markov),
        ("groups:0.3", Markov),
        ("four-groups", Markov),
        ("clusters:3", Markov),
        ("diurnal:12", Diurnal),
    ],
)
def test_an_availabilitys_name_makes_it_for_these_clients(make, spec, kind):
    made = make(availability=spec)
    assert type(made.availability) is kind
    made.check(CLIENTS, 10)


def test_a_trace_is_read_from_its_file(make, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("round,client\n0,1\n0,3\n1,5\n")
    made = make(availability=f"trace:{path},repeat")
    assert type(made.availability) is Trace
    assert [made.cohort(RoundContext(k, np.full(6, 1 / 6))).clients.tolist() for k in range(3)] == [
        [1, 3],
        [5],
        [1, 3],
    ]


STRATEGIES = {
    "fedavg": AvailableOnly,
    "unbiased": Unbiased,
    "more-available": MoreAvailable,
    "adafed": AdaFed,
    "f3ast": F3ast,
    "ca-fed": CAFed,
    "ca-fed-batch": CAFedOnBatches,
}


def test_every_strategy_of_the_list_is_tried_here():
    assert set(STRATEGIES) == set(strategy_registry)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("sampling", [None, "md", "clustered-size"])
def test_a_strategys_name_makes_it_before_any_sampler(make, name, sampling):
    words = {} if sampling is None else {"sampling": sampling, "per_round": 3}
    made = make(availability="markov", participation=name, **words)
    assert type(made.strategy) is STRATEGIES[name]
    assert made.sampler is None if sampling is None else type(made.sampler) is SAMPLERS[sampling]
    made.check(CLIENTS, 10)


def test_beliefs_are_estimated_or_those_of_the_availability(make):
    assert type(make(availability="groups", beliefs="estimated").beliefs) is Estimated
    made = make(availability="groups", beliefs="known")
    assert type(made.beliefs) is Known
    assert np.array_equal(made.beliefs.active, made.availability.active)
    assert np.array_equal(made.beliefs.correlation, made.availability.correlation)


def test_f3ast_knows_how_many_clients_and_rounds(make):
    strategy = make(availability="markov", participation="f3ast", per_round=2, rounds=77).strategy
    assert (strategy.per_round, strategy.rounds) == (2, 77)
    usual = make(availability="markov", participation="f3ast").strategy
    assert (usual.per_round, usual.rates) == (None, "availability")
    assert make(availability="markov", participation="f3ast:selection").strategy.rates == "selection"


def test_ca_feds_numbers_follow_a_colon(make):
    strategy = make(availability="markov", participation="ca-fed:0.1,running,0.5,0.01,3").strategy
    assert (strategy.bias_weight, strategy.minimum, strategy.new_loss) == (0.1, "running", 0.5)
    assert (strategy.threshold, strategy.largest_weight) == (0.01, 3)


def test_ca_fed_leaves_out_whole_clusters_where_clients_come_and_go_in_clusters(make):
    clusters = make(availability="clusters:3", participation="ca-fed").strategy.groups
    assert clusters.tolist() == [0, 0, 1, 1, 2, 2]
    assert make(availability="groups", participation="ca-fed").strategy.groups is None


@pytest.mark.parametrize("participation", ["ca-fed", "ca-fed:10", "ca-fed-batch:10"])
@pytest.mark.parametrize("model", ["linear", "linear:0"])
def test_ca_fed_needs_the_clients_own_minima_for_a_linear_model(make, participation, model):
    made = make(availability="markov", participation=participation, model=model)
    assert made.strategy.needs_local_minima
    assert made.strategy.minima is None
    made.check(CLIENTS, 10)


@pytest.mark.parametrize(
    ("participation", "model"),
    [
        ("ca-fed", "mlp"),
        ("unbiased", "linear"),
        ("ca-fed:1,running", "linear"),
        ("ca-fed:1,zero", "linear"),
        (None, "linear"),
    ],
)
def test_nobody_else_needs_them(make, participation, model):
    assert not make(
        availability="markov", participation=participation, model=model
    ).strategy.needs_local_minima


def test_minima_that_were_found_are_needed_no_more_and_change_nothing_else(make):
    words = {"availability": "clusters:3", "participation": "ca-fed:10", "per_round": 2, "sampling": "md"}
    made = make(**words, model="linear", beliefs="known")
    told = made.fit(lambda: MINIMA)
    assert np.array_equal(told.strategy.minima, MINIMA)
    assert not told.strategy.needs_local_minima
    assert (told.availability, told.sampler) == (made.availability, made.sampler)
    assert type(told.beliefs) is Known
    assert (told.strategy.bias_weight, told.asks, told.watches) == (10, made.asks, made.watches)
    assert told.strategy.groups is made.strategy.groups


def test_the_same_words_make_the_same_clients_come_and_go(make):
    words = {"availability": "groups", "per_round": 2, "sampling": "md", "seed": 3}
    one, other = make(**words), make(**words, participation="unbiased")
    assert np.array_equal(one.availability.correlation, other.availability.correlation)
    another = make(**{**words, "seed": 4})
    assert not np.array_equal(one.availability.correlation, another.availability.correlation)


def test_an_unbiased_strategy_stays_unbiased_when_a_number_of_clients_is_drawn(make):
    sampler = make(availability="markov", participation="unbiased", per_round=3).sampler
    assert sampler.statistics(np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])).unbiased


# Wrong words.


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"sampling": "md"}, "sampling 'md' needs to know how many clients to draw; give per_round"),
        ({"sampling": "mdd", "per_round": 2}, "unknown sampling 'mdd'; did you mean 'md'"),
        ({"sampling": "md:4", "per_round": 2}, "sampling 'md:4' has wrong arguments"),
        ({"sampling": "power-of-choice:1", "per_round": 2}, "1 candidates are too few to choose 2"),
        ({"sampling": "power-of-choice:4,0", "per_round": 2}, "window must be at least 1 round, but is 0"),
        ({"sampling": "power-of-choice:4,x", "per_round": 2}, "'x' where a number belongs"),
        ({"sampling": "clustered-similarity:cosine", "per_round": 2}, "'cosine'"),
        ({"participation": "ca-fed"}, "participation = 'ca-fed' is about clients that come and go"),
        ({"beliefs": "known"}, "beliefs = 'known' is about clients that come and go"),
        ({"availability": "markof"}, "unknown availability 'markof'; did you mean 'markov'"),
        ({"availability": "markov:2"}, "active must be between 0 and 1, but is 2"),
        ({"availability": "markov:0.5,1"}, "correlation must be at least -1 and below 1, but is 1"),
        ({"availability": "clusters:7"}, r"number of clients \(6\), but is 7"),
        ({"availability": "trace:nothing.csv"}, "nothing.csv"),
        ({"availability": "trace"}, "availability 'trace' has wrong arguments"),
        ({"availability": "always", "participation": "unbiassed"}, "did you mean 'unbiased'"),
        ({"availability": "always", "participation": "unbiased:x"}, "'x' where a number belongs"),
        ({"availability": "always", "participation": "ca-fed:-1"}, "bias_weight must not be negative"),
        ({"availability": "always", "participation": "ca-fed:1,runing"}, "did you mean 'running'"),
        ({"availability": "always", "participation": "f3ast:3"}, "unknown rule for rates '3'"),
        ({"availability": "always", "sampling": "md"}, "give per_round"),
        ({"per_round": 0}, "per_round = 0 is not possible"),
        ({"beliefs": "guessed"}, "beliefs = 'guessed' is not possible"),
        ({"avalability": "always"}, "unknown setting 'avalability'; did you mean 'availability'"),
    ],
)
def test_wrong_words_are_refused_in_one_sentence(make, words, sentence):
    with pytest.raises(ConfigError, match=sentence) as refusal:
        make(**words)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_words_of_a_saved_configuration_that_say_nothing_are_no_mistake(make):
    """A run folder's configuration names every setting, also those that were not given."""
    assert type(make(**make_experiment({"rounds": 3}).model_dump())) is Full


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"sampling": "md", "per_round": 7}, r"number of clients \(6\), but is 7"),
        ({"availability": "markov", "participation": "f3ast", "per_round": 7}, "but is 7"),
    ],
)
def test_too_many_clients_are_refused_before_training(make, words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make(**words).check(CLIENTS, 10)


def test_classes_cannot_be_balanced_where_there_are_none():
    regression = Federation.from_clients(
        {"a": (np.ones((5, 2)), np.ones(5)), "b": (np.ones((5, 2)), np.ones(5))}
    )
    with pytest.raises(UnalikeError, match="no classes"):
        make_participation(make_experiment({"sampling": "target", "per_round": 2}), regression)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"sampling": "power-of-choice:many", "per_round": 2}, "candidates must be a whole number"),
        ({"sampling": "clustered-similarity:L2,3", "per_round": 2}, "unknown linkage 3"),
        ({"availability": "always", "participation": "ca-fed:1,3"}, "unknown minimum 3"),
    ],
)
def test_words_and_numbers_that_are_mixed_up_are_refused_in_one_sentence(make, words, sentence):
    with pytest.raises(ConfigError, match=sentence) as refusal:
        make(**words)
    assert "\n" not in str(refusal.value)


def test_more_clients_than_can_be_fitted_are_refused_with_what_to_say(make, monkeypatch):
    monkeypatch.setattr(unalike.experiments.build_participation, "MOST_FITTED", CLIENTS - 1)
    with pytest.raises(ConfigError, match="such as ca-fed:1,running"):
        make(availability="markov:0.5,0.9", participation="ca-fed", model="linear")
    assert make(availability="markov:0.5,0.9", participation="ca-fed:1,running", model="linear")
