"""Is a run in a process of its own the run that this process would train?"""

import pytest

from unalike.experiments.compare import compare_experiments
from unalike.experiments.config import make_experiment
from unalike.experiments.parallel_runs import Rounds
from unalike.experiments.variations import variant

SMALL = {
    **{"data": "digits", "samples": 200, "clients": 4, "model": "linear", "rounds": 2, "steps": 1},
    **{"evaluate_every": 0},
}


def test_a_run_elsewhere_is_the_run_here_and_is_not_trained_twice(tmp_path):
    variants = {"fedavg": variant(make_experiment(SMALL), "fedavg")}
    begun, rounds = [], []
    found = compare_experiments(
        variants,
        [0],
        out=tmp_path,
        jobs=2,
        observer=lambda report, expected: rounds.append((report.round, expected)),
        announce=begun.append,
    )
    alone = compare_experiments(variants, [0])
    assert begun == ["fedavg, seed 0"]
    assert found.read == 0
    assert rounds[-1][0] <= rounds[-1][1] == 2
    assert found.results["fedavg"][0] == pytest.approx(alone.results["fedavg"][0], rel=1e-4)
    assert compare_experiments(variants, [0], out=tmp_path, jobs=2).read == 1  # nothing is left to begin


def test_several_runs_progress_as_one():
    heard = []
    rounds = Rounds(3)
    for told in ((0, 1, 10, {}), (1, 4, 10, {}), (0, 10, 10, {})):
        rounds.hear(told, lambda report, expected: heard.append((report.round, expected)))
    assert heard == [(1, 30), (5, 30), (14, 30)]
