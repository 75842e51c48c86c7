"""Is a described run trained as it is described, and nothing before that is known?"""

import numpy as np
import pytest

import unalike.experiments.build
import unalike.training.fit_plan
import unalike.training.train
from unalike.core.pytrees import largest_difference
from unalike.errors import ConfigError
from unalike.experiments.build import check, make_algorithm, make_federation, make_task, make_timing
from unalike.experiments.build_participation import make_participation
from unalike.experiments.config import make_experiment
from unalike.experiments.run import check_run, run_experiment
from unalike.training.local_minima import local_minima
from unalike.training.restarts import starts
from unalike.training.train import train

EXPERIMENT = make_experiment(
    {
        **{"data": "digits", "clients": 6, "samples": 180, "partition": "dirichlet:0.5", "model": "linear"},
        **{"availability": "markov:0.5,0.6", "participation": "ca-fed:0.1", "rounds": 4, "seed": 3},
        "evaluate_every": 0,
    }
)
FEDERATION = make_federation(EXPERIMENT)
TASK = make_task(EXPERIMENT, FEDERATION)


@pytest.fixture
def fits(monkeypatch):
    """The seeds with which clients were fitted."""
    seeds = []

    def watched(federation, task, seed):
        seeds.append(seed)
        return local_minima(federation, task, seed)

    monkeypatch.setattr(unalike.training.fit_plan, "local_minima", watched)
    return seeds


def with_words(**words):
    return make_experiment({**EXPERIMENT.model_dump(), **words})


def run(experiment):
    return run_experiment(experiment, federation=FEDERATION, task=TASK)


def test_a_run_fits_what_its_participation_needs_once(fits):
    fitted = run(EXPERIMENT)
    assert fits == [3]
    who = make_participation(EXPERIMENT, FEDERATION)
    by_hand = train(
        FEDERATION,
        TASK,
        make_algorithm(EXPERIMENT),
        rounds=4,
        seed=3,
        participation=who.fit(lambda: local_minima(FEDERATION, TASK, 3)),
        timing=make_timing(EXPERIMENT),
        evaluate_every=0,
    )
    assert largest_difference(fitted.state, by_hand.state) == 0.0


def test_starts_that_are_tried_share_one_fit_and_leave_no_trace(fits):
    """The first of equal starts is the usual one, so trials may not change what follows them."""
    usual = run(EXPERIMENT)
    tried = run(with_words(restarts=2))
    assert fits == [3, 3]
    candidates = starts(make_algorithm(EXPERIMENT), TASK, 3, 2)
    alone = [
        train(
            FEDERATION,
            TASK,
            make_algorithm(EXPERIMENT),
            rounds=4,
            seed=3,
            participation=make_participation(EXPERIMENT, FEDERATION).fit(
                lambda: local_minima(FEDERATION, TASK, 3)
            ),
            initial=start,
            evaluate_every=0,
        )
        for start in candidates
    ]
    assert largest_difference(alone[0].state, usual.state) == 0.0
    assert min(largest_difference(one.state, tried.state) for one in alone) == 0.0


@pytest.mark.parametrize("words", [{"participation": "ca-fed:0.1,zero"}, {"participation": "unbiased"}])
def test_nothing_is_fitted_where_nothing_is_needed(fits, words):
    run(with_words(**words))
    assert fits == []


def test_a_dry_run_prepares_everything_and_trains_nothing(fits, monkeypatch):
    ready = []
    monkeypatch.setattr(unalike.training.train, "execute", lambda *_: pytest.fail("something was trained"))
    prepare = unalike.training.train.prepare_plan
    monkeypatch.setattr(
        unalike.training.train, "prepare_plan", lambda plan: ready.append(plan) or prepare(plan)
    )
    check_run(EXPERIMENT, FEDERATION, TASK)
    assert len(ready) == 1
    assert fits == []


def test_too_many_clients_are_refused_before_any_is_fitted(fits, monkeypatch):
    monkeypatch.setattr(unalike.experiments.build_participation, "MOST_FITTED", len(FEDERATION) - 1)
    for refused in (run, lambda experiment: check_run(experiment, FEDERATION, TASK)):
        with pytest.raises(ConfigError, match="would first fit the model to each of 6 clients"):
            refused(EXPERIMENT)
    assert fits == []


def test_algorithm_and_timing_are_made_once(monkeypatch):
    made = []
    for name in ("make_algorithm", "make_timing"):
        maker = getattr(unalike.experiments.build, name)

        def watched(experiment, name=name, maker=maker):
            made.append(name)
            return maker(experiment)

        monkeypatch.setattr(unalike.experiments.build, name, watched)
    run(with_words(restarts=2, participation=None, timing="fedbuff:2", availability=None, per_round=3))
    assert made == ["make_algorithm", "make_timing"]


def test_a_check_answers_with_what_it_made():
    algorithm, timing = check(with_words(algorithm="fedprox", timing="fedfix:0.5", availability=None))
    assert algorithm.name == "fedprox"
    assert np.isclose(timing.grid()[0], 0.5)
