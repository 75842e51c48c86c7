"""Does a comparison say who pays and who gains, for clients and for groups?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.experiments.build import make_federation
from unalike.experiments.compare import check_metric, compare_experiments
from unalike.experiments.config import make_experiment
from unalike.experiments.fairness import who_pays
from unalike.experiments.variations import variant
from unalike.report import report_comparison
from unalike.runs.fairness import group_means, loss_spread

SMALL = {
    **{"data": "digits", "samples": 300, "clients": 6, "partition": "dirichlet:0.3", "model": "linear"},
    **{"rounds": 2, "steps": 2, "devices": 1, "evaluate_every": 0},
}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "groups.csv"
    path.write_text("client,group\n" + "\n".join(f"{i},{'ab'[i % 2]}" for i in range(6)))
    return make_experiment({**SMALL, "groups": str(path)})


@pytest.fixture(scope="module")
def trials(experiment):
    return compare_experiments({n: variant(experiment, n) for n in ("fedavg", "gifair")}, range(1))


def test_columns_of_groups_are_those_of_clients(trials):
    row, values = trials.results["gifair"][0], trials.clients["gifair"][0]
    means = group_means(values, trials.groups)
    assert row["worst_group"] == min(means.values())
    assert row["discrepancy"] == pytest.approx(abs(means["a"] - means["b"]))
    assert row["spread"] == pytest.approx(np.std(values))
    assert row["loss_spread"] >= 0
    assert {"spread", "worst group", "discrepancy", "loss spread"} <= set(
        trials.answer("test_accuracy").readable()[0]
    )


def test_less_spread_is_better(trials):
    rows = {name: seeds[0]["discrepancy"] for name, seeds in trials.results.items()}
    assert trials.answer("discrepancy").best == min(rows, key=lambda name: rows[name])


def test_the_report_has_the_frontier_and_who_pays(trials, tmp_path):
    answer = trials.answer("test_accuracy")
    page = report_comparison(tmp_path / "report.html", answer, pays=trials.who_pays("fedavg"))
    assert "Who gains and who pays" in page.read_text()
    assert (tmp_path / "plots" / "frontier.png").exists()


def test_groups_can_decide_only_where_there_are_groups(experiment):
    federation = make_federation(experiment)
    assert check_metric("discrepancy", experiment, federation) == "discrepancy"
    ungrouped = experiment.model_copy(update={"groups": None})
    with pytest.raises(ConfigError, match="discrepancy"):
        check_metric("discrepancy", ungrouped, make_federation(ungrouped))


def test_who_pays_and_who_gains_add_up():
    reference, own = np.array([0.2, 0.5, 0.9, np.nan]), np.array([0.4, 0.5, 0.8, 0.3])
    (row,) = who_pays({"fedavg": reference, "fair": own}, "fedavg", list("aabb"), True)
    assert row["clients that gain"] == "1"
    assert row["clients that pay"] == "1"
    assert row["gain of the worst tenth"] == "+0.2000"
    assert row["gain of a"] == "+0.1000"
    assert row["gain of b"] == "-0.1000"


def test_loss_spread_of_two_groups_is_their_difference():
    assert loss_spread([1.0, 3.0, 5.0], ["a", "a", "b"]) == 3.0
