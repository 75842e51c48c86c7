"""Are tables tuned by the published rule, and do long claims resume and say what is less?"""

import numpy as np
import pytest

from unalike.algorithms import LocalWork
from unalike.data import Federation
from unalike.models import linear
from unalike_studies.fairness import published
from unalike_studies.fairness.published import GRIDS, RUNS, TABLES, Outcome, Table, choose_values, summarize
from unalike_studies.study import Effort, parts_of
from unalike_studies.trainings import Trainings


def tiny(seed):
    rng = np.random.default_rng(seed)
    made = {}
    for k in range(4):
        x = rng.normal(size=(40, 3)).astype(np.float32)
        y = (x[:, 0] > (0.5 if k else -1.0)).astype(np.int64)
        cuts = {"train": slice(20), "validation": slice(20, 30), "test": slice(30, 40)}
        made[str(k)] = {part: (x[rows], y[rows]) for part, rows in cuts.items()}
    return Federation.from_clients(made, classes=2).with_groups({str(k): "ab"[k % 2] for k in range(4)})


def small(in_groups, methods):
    return Table(
        *("Table 2.2", "tiny", tiny, lambda f: linear(input_shape=(3,), outputs=2)),
        dict.fromkeys(methods, (50.0, 10.0)),
        *(4, LocalWork(epochs=1, batch_size=10), 0.1),
        in_groups=in_groups,
        grids={"gifair": ("rho", (0.3, 0.9)), "ditto": ("lam", (0.1,)), "gifair-per": ("rho", (0.5,))},
    )


def test_grids_and_tables_are_the_published_ones():
    assert set(parts_of("fairness")) == set(TABLES)
    assert RUNS == 5
    assert GRIDS["gifair"][1] == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert TABLES["T2.3"].published["afl"] == (82.4, 9.85)
    assert TABLES["T2.5"].published["gifair"] == (57.04, 3.14)
    women, men = (TABLES["T2.6"].published["gifair"][place] for place in (1, 0))
    assert men - women == pytest.approx(15.38)
    for table in TABLES.values():
        assert set(table.published) - {"fedavg"} <= set(table.grids)


def test_values_are_chosen_for_little_spread_where_the_mean_is_that_of_fedavg(monkeypatch):
    means = {("fedavg", None): (80, 9), ("gifair", 0.3): (79.5, 7), ("gifair", 0.9): (70, 1)}
    means[("ditto", 0.1)] = (60, 5)
    monkeypatch.setattr(
        published, "outcome", lambda t, name, value, *rest: Outcome(*means[name, value], 0.0, 0.0, ())
    )
    chosen = choose_values(small(False, ("fedavg",)), ["gifair", "ditto"], 3, Trainings())
    assert chosen == {"gifair": 0.3, "ditto": 0.1}


def test_a_summary_leaves_out_clients_without_rows():
    accuracies = np.array([50.0, 70.0, np.nan, 90.0])
    assert summarize(tiny(0), accuracies, True).tolist() == [70.0, 30.0, 50.0, 80.0]
    assert summarize(tiny(0), accuracies, False)[1] == pytest.approx(np.std([50, 70, 90]))


def test_claims_resume_and_say_what_is_less(tmp_path, monkeypatch):
    table, file = small(True, ("fedavg", "gifair", "gifair-per")), tmp_path / "fairness.jsonl"
    effort = Effort(Trainings(file), runs=1, share=0.5)
    first = list(published.table_claims("T2.2", table, effort))
    assert effort.trainings.finished == effort.trainings.expected == 1 + 3 + 3
    assert len(first) == 3 + 2
    assert all("1 run where 5 were published; 2 rounds where 4 were meant" in claim.note for claim in first)
    monkeypatch.setattr(published, "train", pytest.fail)
    again = Effort(Trainings(file), runs=1, share=0.5)
    assert list(published.table_claims("T2.2", table, again)) == first
