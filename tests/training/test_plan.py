"""Is whatever a training needs asked of its parts, whoever starts it?  (Plans, from Python.)"""

import dataclasses

import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg
from unalike.algorithms import DPSGD
from unalike.core.pytrees import largest_difference
from unalike.engine import LocalEngine, Setting
from unalike.participation import Intermittent, Multinomial, Remaining, availability_registry
from unalike.privacy.central import central_dp
from unalike.privacy.local import LocalPrivacy
from unalike.privacy.local_simulation import LocallyPrivate
from unalike.training.make_plan import plan_training
from unalike.training.plan import TrainingPlan
from unalike.training.train import dry_run, run_plan

FEDERATION = unalike.load("digits", clients=4, samples=80, seed=1)
TASK = unalike.Task.of(FEDERATION, "linear")
SHORT = {"rounds": 2, "seed": 3, "evaluate_every": 0}


def plan(algorithm="fedavg", **changes):
    return plan_training(FEDERATION, TASK, algorithm, **{**SHORT, **changes})


def test_a_plan_is_frozen_and_trains_what_train_trains():
    made = plan()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.rounds = 3
    trained = unalike.train(FEDERATION, TASK, "fedavg", **SHORT)
    assert largest_difference(run_plan(made).state, trained.state) == 0


def test_a_dry_run_refuses_what_a_run_refuses_and_leaves_no_folder(tmp_path):
    wrong = plan("fem-omd", timing="async")
    for refuse in (dry_run, lambda made: run_plan(made, tmp_path / "run")):
        with pytest.raises(ConfigError, match="phases"):
            refuse(wrong)
    assert not (tmp_path / "run").exists()
    dry_run(plan())


def test_noise_on_rows_is_counted_and_chosen_by_a_budget():
    counted = unalike.train(FEDERATION, TASK, DPSGD(noise=1.0), **SHORT).metrics()["row_epsilon"]
    assert np.isfinite(counted[-1])
    chosen = plan(DPSGD(), epsilon=3.0)
    assert chosen.algorithm.noise > 0
    spent = run_plan(chosen).metrics()["row_epsilon"][-1]
    assert 2.9 < spent <= 3.0
    assert plan(DPSGD(noise=7.0), epsilon=3.0).algorithm.noise == 7.0


def test_noise_that_clients_add_to_uploads_is_counted():
    method = LocallyPrivate(inner=FedAvg(), privacy=LocalPrivacy(1.0, 0.5, 1e-5))
    spent = unalike.train(FEDERATION, TASK, method, **SHORT).metrics()["local_epsilon"]
    assert spent[-1] > spent[1] > 0


def test_a_budget_ends_training_with_central_noise_before_it_is_exceeded():
    free = unalike.train(FEDERATION, TASK, "fedavg", aggregator="central-dp:1,1", **{**SHORT, "rounds": 6})
    budget = float(free.metrics()["epsilon"][3])
    rule = central_dp(1.0, 1.0, clients=len(FEDERATION))
    run = unalike.train(FEDERATION, TASK, "fedavg", aggregator=rule, epsilon=budget, **{**SHORT, "rounds": 6})
    assert run.rounds == 3
    assert rule.ledger.budget is None  # what the caller made stays as it was


def test_a_budget_without_noise_is_refused():
    with pytest.raises(ConfigError, match="say who adds it"):
        plan(epsilon=1.0)


def test_strategies_are_fitted_to_the_clients_whoever_makes_them():
    from unalike.participation.strategies.base import strategy_registry

    chain = availability_registry.make("markov:0.5,0.5", clients=len(FEDERATION), seed=0)
    strategy = strategy_registry.make("ca-fed", fit_minima=True, groups=None, per_round=None, rounds=2)
    made = plan(participation=Intermittent(chain, strategy))
    assert made.participation.strategy.minima is None
    fitted = run_plan(made).engine  # would fail without the clients' least losses
    assert fitted is not None


def test_without_clients_leaves_their_numbers_to_the_others():
    one_less = plan().without([2])
    assert isinstance(one_less.participation, Remaining)
    assert run_plan(one_less).metrics()["participants"][-1] == len(FEDERATION) - 1
    with pytest.raises(ConfigError, match="left out"):
        plan(participation=Multinomial(per_round=2)).without([2])


def test_on_another_engine_a_plan_takes_the_rule_of_that_engine():
    made = plan()
    setting = Setting(FEDERATION, TASK, made.algorithm.prepare(TASK, FEDERATION), made.seed)
    there = made.on(LocalEngine(setting))
    assert there.aggregator is None
    assert largest_difference(run_plan(there).state, run_plan(made).state) == 0
    assert made.on("debug").engine == "debug"


@pytest.mark.parametrize("restarts", [0, -1, 1.5, True])
def test_restarts_are_a_whole_number_of_at_least_one(restarts):
    with pytest.raises(ConfigError, match="restarts must be"):
        plan(restarts=restarts)


def test_a_plan_without_an_end_is_refused():
    with pytest.raises(ConfigError, match="how many rounds"):
        plan(rounds=None)
    assert isinstance(plan(rounds=None, until=2.0, timing="async"), TrainingPlan)


def test_newcomers_are_set_apart_and_evaluated_in_python_too():
    run = unalike.train(FEDERATION, TASK, "fedavg", unseen=0.25, **SHORT)
    assert len(run.setting.federation) == 3
    assert np.isfinite(run.metrics()["unseen_accuracy"][-1])
