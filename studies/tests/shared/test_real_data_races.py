"""Are the races on real data fair, and are they left out where there are no data?"""

import jax
import numpy as np
import pytest

from unalike.data import load
from unalike.models import Task, mlp
from unalike_studies.fedem import training as fedem
from unalike_studies.knnper import rivals as knnper
from unalike_studies.shared import real_data_races as races
from unalike_studies.shared.real_data_races import Comparison, Scores

METHODS = ("local", "fedavg", "fedavg+", "fedem", "ditto", "fedrep", "knnper")
TABLES = [*races.PICTURES.values(), races.ROLES_FEDEM, races.ROLES_KNNPER]


def test_without_data_there_are_no_claims(monkeypatch, tmp_path):
    monkeypatch.setenv("UNALIKE_DATA", str(tmp_path))
    assert list(fedem.real_claims()) == list(knnper.real_claims()) == []
    monkeypatch.delenv("UNALIKE_DATA")
    assert list(fedem.real_claims()) == list(knnper.real_claims()) == []


# Published numbers


def test_published_leads_are_those_that_the_papers_speak_of():
    def lead_over_best(table, ours, part):
        others = [getattr(marks, part) for name, marks in table.items() if name != ours]
        return round(getattr(table[ours], part) - np.nanmax(others), 4)

    groups, dirichlet, two = TABLES[:3]
    assert lead_over_best(groups, "fedem", "mean") == 2.0
    assert lead_over_best(groups, "fedem", "decile") == 5.7  # of these methods; 4.5 over pFedMe
    assert lead_over_best(dirichlet, "knnper", "mean") == 3.0
    assert lead_over_best(two, "knnper", "mean") == 4.7
    assert lead_over_best(two, "knnper", "decile") == 2.9
    assert lead_over_best(races.ROLES_KNNPER, "knnper", "mean") == 3.3


def test_nobody_alone_has_marks_for_newcomers_and_everybody_else_has():
    for table in TABLES:
        assert [name for name, marks in table.items() if np.isnan(marks.unseen)] == ["local"]


def test_a_worst_tenth_is_never_better_than_the_mean():
    assert all(marks.decile < marks.mean for table in TABLES for marks in table.values())


# Claims


def toy_race():
    marks = {
        "fedem": [Scores(70, 60, 71), Scores(72, 60, 69)],
        "fedavg": [Scores(66, 61, 64), Scores(64, 61, 64)],
    }
    return races.Race(marks, {"fedem": {"rate": 0.3}, "fedavg": {"rate": 0.1}}, "small")


def test_a_claim_is_the_mean_lead_over_seeds_beside_the_published_one():
    table = {"fedem": Scores(84.3, 78.1, 85.9), "fedavg": Scores(78.2, 72.4, 77.3)}
    parts = [Comparison("fedem", "fedavg", part) for part in ("mean", "decile", "unseen")]
    made = list(races.claims("R1", "toy", toy_race(), table, parts, ("Table 3.2", "Table 3.3")))
    assert [claim.measured for claim in made] == ["71.0 / 60.0 / 70.0", "65.0 / 61.0 / 64.0", 6.0, -1.0, 6.0]
    theirs = ["84.3 - 78.2 = 6.1", "78.1 - 72.4 = 5.7", "85.9 - 77.3 = 8.6"]
    assert [claim.published for claim in made[2:]] == theirs
    assert [claim.place for claim in made[1:]] == ["Table 3.2 and Table 3.3", *["Table 3.2"] * 2, "Table 3.3"]
    assert [claim.holds for claim in made[2:]] == [True, False, True]
    assert not any(claim.hard for claim in made)
    assert made[0].note == "rate 0.3; small"


@pytest.mark.parametrize(("ours", "other"), [("fedem", "fedavg"), ("fedavg", "fedem")])
def test_about_equal_means_either_way(ours, other):
    table = {"fedem": Scores(46.7, 43.0), "fedavg": Scores(46.7, 42.8)}
    near, far = (Comparison(ours, other, "mean", most, most=True) for most in (6.5, 5.5))
    found = [
        races.compare_claim("R1", "toy", toy_race().marks, table, one, "Table 3.2") for one in (near, far)
    ]
    assert [claim.measured for claim in found] == [6.0, 6.0]
    assert [claim.holds for claim in found] == [True, False]


# Trials


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_four_different_trials(name):
    made = races.trials(name, 0.1)
    assert len({tuple(one.items()) for one in made}) == 4


def test_settings_are_those_with_the_best_validation_accuracy(monkeypatch):
    tried = []

    class Fake:
        def learn(self, name, start=None, **setting):
            tried.append((name, start))
            self.state, self.setting = f"{name} {setting['rate']}", (name, setting)
            return self

    def found(run, split):
        assert split == "validation"
        name, setting = run.setting
        return Scores(
            {"fedavg": -abs(setting["rate"] - 0.3), "fedavg+": -setting.get("tune_learning_rate", 0)}[name], 0
        )

    monkeypatch.setattr(races, "score", found)
    settings = races.choose_settings(Fake(), ("fedavg+", "fedavg"))
    assert list(settings) == ["fedavg", "fedavg+"]
    assert settings["fedavg"] == {"rate": 0.3}
    assert settings["fedavg+"] == {"rate": 0.3, "tune_learning_rate": pytest.approx(0.03)}
    # What is added to FedAvg is tried on FedAvg's best model, not trained again.
    assert {start for name, start in tried if name == "fedavg+"} == {"fedavg 0.3"}


@pytest.fixture(scope="module")
def problem():
    federation = load("digits", partition="classes:2", clients=10, samples=600, seed=1)
    task = Task.classification(mlp(16, input_shape=federation.input_shape, outputs=10), 10)
    return races.apart(federation, task, 4, seed=1)


def test_a_fifth_of_the_clients_joins_later(problem):
    assert (len(problem.seen), len(problem.unseen)) == (8, 2)
    assert not set(problem.seen.names) & set(problem.unseen.names)


def test_a_trained_start_is_taken_as_it_is(problem):
    trained = problem.learn("fedavg", rate=0.1)
    again = problem.learn("knnper", trained.state, rate=0.1)
    assert jax.tree.all(jax.tree.map(np.array_equal, trained.message, again.message))
    assert (trained.rounds, again.rounds) == (4, 0)


def test_marks_are_per_cent_and_who_is_alone_has_none_for_newcomers(problem):
    found = races.mark_methods(
        problem, {"fedavg": {"rate": 0.1}, "local": {"rate": 0.1}, "knnper": {"rate": 0.1}}
    )
    assert np.isnan(found["local"].unseen)
    assert all(0 <= value <= 100 for name in ("fedavg", "knnper") for value in found[name])
    assert found["knnper"].mean > found["fedavg"].mean  # two classes each: own rows tell most


# Models


def test_a_reader_uses_the_order_of_characters_and_names_its_head():
    model = races.reader(symbols=7, length=3, embedding=2, hidden=4)
    params = model.init(jax.random.key(0))
    said = model.apply(params, np.array([[0, 1, 2], [2, 1, 0]]))
    assert said.shape == (2, 7)
    assert not np.allclose(said[0], said[1])
    assert model.head in params
    by_hand = params["embedding"][np.array([0, 1, 2])].reshape(-1) @ params["hidden"]["w"].T
    hidden = np.maximum(by_hand + params["hidden"]["b"], 0)
    assert np.allclose(said[0], params["head"]["w"] @ hidden + params["head"]["b"], atol=1e-5)
