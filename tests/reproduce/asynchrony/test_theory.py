"""Do the claims on late results hold, and would a policy that weighs or waits wrongly be caught?"""

import math

import numpy as np
import pytest

from unalike.reproduce.asynchrony import theory
from unalike.reproduce.asynchrony import training as lessons
from unalike.reproduce.asynchrony.study import asynchronous
from unalike.theory.asynchrony import quadratic as laboratory_module
from unalike.theory.asynchrony.objective import Surrogate
from unalike.timing import Asynchronous, FedBuff, FedFix, WaitForAll
from unalike.timing.clock.jobs import Jobs
from unalike.timing.staleness import ResultWeights


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


# The claims hold.


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (theory.weight_claims, 10),
        (theory.example_claims, 5),
        (lambda: theory.constant_claims(quick=True), 10),
        (theory.count_claims, 12),
        (lambda: theory.traffic_claims(quick=True), 23),
        (theory.limit_claims, 3),
        (theory.stability_claims, 4),
        (theory.alternating_claims, 11),
        (theory.moment_claims, 10),
        (lambda: theory.memoryless_claims(quick=True), 6),
        (theory.planner_claims, 2),
    ],
    ids=[
        "weights",
        "examples",
        "constants",
        "counts",
        "traffic",
        "limits",
        "stability",
        "turns",
        "moments",
        "memoryless",
        "planner",
    ],
)
def test_the_claims_hold(claims, count):
    found = list(claims())
    assert broken(found) == []
    assert len(found) == count
    assert all(claim.hard for claim in found)


@pytest.mark.parametrize("claims", [theory.bias_claims, theory.wobble_claims], ids=["bias", "wobble"])
def test_the_claims_on_where_training_settles_hold(claims):
    assert broken(claims()) == []


def test_every_part_of_the_theory_is_in_the_study(monkeypatch):
    parts = [
        name
        for name in dir(theory)
        if name.endswith("_claims") and name[0] != "_" and name != "theory_claims"
    ]
    for name in parts:
        monkeypatch.setattr(theory, name, lambda *_, name=name: iter([name]))
    assert sorted(theory.theory_claims(quick=True)) == sorted(parts)


def test_the_study_is_theory_and_lessons(monkeypatch):
    for name in ("theory_claims", "lesson_claims"):
        monkeypatch.setattr(
            f"unalike.reproduce.asynchrony.study.{name}", lambda quick, name=name: [(name, quick)]
        )
    assert asynchronous(quick=True) == [("theory_claims", True), ("lesson_claims", True)]


def test_policies_are_made_by_their_names_in_tables():
    made = [theory.policy(name) for name in ("wait-for-all", "async", "FedFix-0.2", "FedBuff-10")]
    assert [type(timing) for timing in made] == [WaitForAll, Asynchronous, FedFix, FedBuff]
    assert (made[2].window, made[3].buffer) == (0.2, 10)


# Mistakes are caught.


def test_weights_that_forget_how_often_clients_report_are_caught(monkeypatch):
    honest = ResultWeights.__init__

    def forgetful(self, mode, importance, uncorrected, *rest):
        honest(self, "identical", importance, uncorrected, *rest)

    monkeypatch.setattr(ResultWeights, "__init__", forgetful)
    caught = " ".join(claim.claim for claim in broken(theory.weight_claims()))
    assert all(name in caught for name in ("async", "FedFix-0.5", "FedBuff-5"))
    assert "wait-for-all" not in caught
    assert any("weights 13/18" in claim.claim for claim in broken(theory.example_claims()))


def test_the_rule_for_fixed_times_is_wrong_for_memoryless_ones(monkeypatch):
    monkeypatch.setattr(FedFix, "frequency", lambda self: 1 / np.ceil(self.times.mean / float(self.window)))
    (caught,) = broken(theory.memoryless_claims(quick=True))
    assert "corrected weights" in caught.claim


def test_a_clock_that_misses_its_grid_points_is_caught(monkeypatch):
    """Results that are ready exactly when the server looks must be taken."""

    def early(self):
        tick = self.now + self.ticks(self.window)
        return tick, self.arrivals(until=tick - 1)

    monkeypatch.setattr(FedFix, "wait", early)
    assert any("FedFix-1" in claim.claim for claim in broken(theory.limit_claims()))
    assert any("FedFix-0.5" in claim.claim for claim in broken(theory.traffic_claims(quick=True)))


def test_results_that_start_from_the_newest_model_are_caught(monkeypatch):
    honest = Jobs.finish

    def fresh(self, clients):
        versions, unused = honest(self, clients)
        return np.full_like(versions, max(self.version.max(initial=0), versions.max(initial=0))), unused

    monkeypatch.setattr(Jobs, "finish", fresh)
    caught = broken(theory.example_claims())
    assert any("oldest" in claim.claim for claim in caught)


def test_a_laboratory_without_delay_is_caught(monkeypatch):
    honest = laboratory_module._play

    def instant(steps, *rest):
        return honest(
            [step._replace(versions=np.full_like(step.versions, step.number)) for step in steps], *rest
        )

    monkeypatch.setattr(laboratory_module, "_play", instant)
    assert len(broken(theory.alternating_claims())) >= 6
    assert any("async" in claim.claim for claim in broken(theory.stability_claims()))


@pytest.mark.parametrize("table", ["RATES", "OLDEST", "WINDOWS"])
def test_a_digit_that_differs_from_the_table_is_caught(monkeypatch, table):
    shifted = {count: value + 0.02 for count, value in getattr(theory, table).items()}
    monkeypatch.setattr(theory, table, shifted)
    assert broken(theory.constant_claims(quick=True))


def test_bounds_in_the_wrong_order_are_caught(monkeypatch):
    monkeypatch.setattr(theory, "asynchronous_bound", lambda *_, **__: 0.0)
    (caught,) = broken(theory.planner_claims())
    assert caught.measured == 16


# Lessons: what is read off the runs.


def test_a_pair_is_compared_on_both_objectives():
    minimized = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    pair = lessons.Pair(np.array([0.1, 0.9]), np.array([0.3, 0.5]), minimized)
    assert pair.gap == pytest.approx(0.1)
    assert pair.orders == (True, True, True)
    assert lessons.Pair(pair.corrected, pair.identical, minimized).orders == (False, False, False)


def test_all_but_one_draw_must_agree():
    minimized = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    good = lessons.Pair(np.array([0.1, 0.9]), np.array([0.3, 0.5]), minimized)
    bad = lessons.Pair(good.corrected, good.identical, minimized)
    assert broken(lessons._order_claims("here", [good] * 4 + [bad], hard=True)) == []
    assert len(broken(lessons._order_claims("here", [good] * 3 + [bad] * 2, hard=True))) == 3
    assert len(broken(lessons._order_claims("here", [good, bad], hard=True))) == 3
    assert broken(lessons._order_claims("here", [bad] * 5, hard=False)) == []


GOOD = {
    "wait-for-all": np.array([[1.4, 0.5, 0.3]]),
    "FedFix-0.5": np.array([[1.1, 0.4, 0.29]]),
    "FedBuff-10": np.array([[0.9, 0.3, 0.31]]),
    "async": np.array([[0.5, 0.35, 2.0]]),
}


def test_orders_of_policies_are_read_off_the_table():
    assert broken(lessons.small_step_claims(GOOD)) == []
    assert broken(lessons.best_step_claims(GOOD, "here")) == []
    assert broken(lessons.large_step_claims(GOOD, (0.01, 0.1, 1.0))) == []
    assert lessons.best(GOOD, "async") == 0.35


@pytest.mark.parametrize("name", ["FedFix-0.5", "FedBuff-10"])
def test_a_policy_out_of_order_is_caught(name):
    assert broken(lessons.small_step_claims({**GOOD, name: np.array([[1.5, 0.1, 0.1]])}))
    assert broken(lessons.small_step_claims({**GOOD, name: np.array([[0.4, 0.1, 0.1]])}))


def test_a_worse_best_loss_is_caught_for_fedfix_and_only_reported_for_async():
    assert broken(lessons.best_step_claims({**GOOD, "FedFix-0.5": np.array([[1.0, 0.4, 0.31]])}, "here"))
    ahead = list(lessons.best_step_claims({**GOOD, "async": np.array([[0.2, 0.3, 2.0]])}, "here"))
    assert broken(ahead) == []
    assert not ahead[1].holds


def test_large_steps_that_async_survives_are_caught_and_divergence_is_not():
    assert broken(lessons.large_step_claims({**GOOD, "async": np.array([[0.5, 0.3, 0.5]])}, (0.01, 0.1, 1.0)))
    wild = {**GOOD, "async": np.array([[0.5, 0.3, math.inf]])}
    assert broken(lessons.large_step_claims(wild, (0.01, 0.1, 1.0))) == []


def test_one_diverged_seed_makes_a_learning_rate_hopeless():
    losses = np.array([[0.5, 0.1], [0.5, math.inf]])
    assert lessons.best({"async": losses}, "async") == 0.5


@pytest.mark.slow
def test_lessons_at_the_limits_of_fedfix_hold():
    assert broken(lessons.limit_claims(quick=True)) == []
