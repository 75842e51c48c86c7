"""Do the claims on late results hold, and would a policy that weighs or waits wrongly be caught?"""

import numpy as np
import pytest

from unalike.theory.asynchrony import quadratic as laboratory_module
from unalike.timing import FedFix
from unalike.timing.clock.jobs import Jobs
from unalike.timing.staleness import ResultWeights
from unalike_studies.asynchrony import theory


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


# Problems: what is read off the runs.
