"""Are policies and pairs of runs what their names in tables say?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.theory.asynchrony.objective import Surrogate
from unalike.timing import Asynchronous, FedBuff, FedFix, WaitForAll
from unalike_studies.asynchrony import data
from unalike_studies.trainings import Trainings


def test_policies_are_made_by_their_names_in_tables():
    made = [data.policy(name) for name in ("wait-for-all", "async", "FedFix-0.2", "FedBuff-10")]
    assert [type(timing) for timing in made] == [WaitForAll, Asynchronous, FedFix, FedBuff]
    assert (made[2].window, made[3].buffer) == (0.2, 10)


def test_a_pair_is_compared_on_both_objectives():
    minimized = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    pair = data.Pair(np.array([0.1, 0.9]), np.array([0.3, 0.5]), minimized)
    assert pair.gap == pytest.approx(0.1)
    assert pair.orders == (True, True, True)
    assert data.Pair(pair.corrected, pair.identical, minimized).orders == (False, False, False)


def test_losses_that_are_kept_are_not_trained_again(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("trained again")

    def problem():
        tiny = data.clouds("iid", 2, 20, 0)
        return replace(tiny, trainings=Trainings(tmp_path / "async.jsonl"))

    found = data.losses_at(problem(), data.policy("async"), 0.1, 1, 0)
    monkeypatch.setattr(data, "train", refuse)
    np.testing.assert_array_equal(data.losses_at(problem(), data.policy("async"), 0.1, 1, 0), found)
    for other in (data.policy("async", weights="identical"), data.policy("FedFix-0.5")):
        with pytest.raises(RuntimeError, match="trained again"):
            data.losses_at(problem(), other, 0.1, 1, 0)


def test_momentum_that_begins_anew_is_none_in_a_job_of_one_step():
    one, several = (data.clouds("iid", 2, 20, 0, local_steps=steps) for steps in (1, 3))
    plain, pushed = (
        [
            data.losses_at(replace(problem, momentum=momentum), data.policy("async"), 0.1, 1, 0)
            for problem in (one, several)
        ]
        for momentum in (0.0, 0.9)
    )
    np.testing.assert_allclose(plain[0], pushed[0], rtol=1e-6)
    assert (plain[1] != pushed[1]).all()
