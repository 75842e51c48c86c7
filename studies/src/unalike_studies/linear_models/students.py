"""Grades of students: two schools that do not share rows.

P. Cortez, A. Silva, "Using data mining to predict secondary school student performance" (2008): final grades
by 38 predictors, without the grades of earlier terms. Which of the two published files was used is not said;
either is taken, the Portuguese one first.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unalike.analytics.design import Design
from unalike.analytics.hierarchical import PenalizedRegression
from unalike.analytics.hierarchical.prediction import device_rmse, predict_each
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.sources.files import local
from unalike.typing import Array, Float64s

from ..study import Claim, at_most, average, matches
from .data import STUDENTS

NOMINAL = ("Mjob", "Fjob", "reason", "guardian")
LEFT_OUT = ("school", "G1", "G2", "G3")


def student_claims(quick: bool) -> Iterator[Claim]:
    """LM14: two schools against one table of both; where a file is and there is time."""
    path = local("student-por.csv") or local("student-mat.csv")
    if quick or path is None:
        return
    x, y, schools = read_students(path)
    for prior, (federated, central) in STUDENTS.items():
        found = np.array([_compare(x, y, schools, prior, seed) for seed in range(3)])
        ratios = (found[:, 0] / found[:, 1]).tolist()
        note = f"{path.name}: A-RMSE {found[:, 0].mean():.3f} and {found[:, 1].mean():.3f}; "
        note += f"kept {found[:, 2].mean():.1f} and {found[:, 3].mean():.1f} of 38"
        yield average(
            "LM14", f"students, {prior}: A-RMSE of two schools over that of one table", ratios, 1.03,
            most=True, published=f"{federated} against {central}", place="Table 3.3", note=note,
        )  # fmt: skip
        kept = [float(found[:, place].mean()) for place in (2, 3)]
        yield at_most(
            "LM14", f"students, {prior}: how many more predictors one school keeps",
            [abs(kept[0] - kept[1])], 3.0, hard=False,
        )  # fmt: skip
        yield matches(
            "LM14", f"students, {prior}: predictors kept by the first school", kept[0], 21.0, 3.0, hard=False,
            place="Table 3.3",
            note="which file was used is not published; 28 rows train the second school here",
        )  # fmt: skip


def read_students(path: Path) -> tuple[Float64s, Float64s, Array]:
    """Predictors (0/1 for words, standardized numbers), standardized grades, and the school of each row."""
    text = path.read_text()
    rows = list(csv.DictReader(text.splitlines(), delimiter=";" if ";" in text[:200] else ","))
    columns: list[Float64s] = []
    for name in rows[0]:
        if name not in LEFT_OUT:
            columns += _columns([row[name] for row in rows], name in NOMINAL)
    grades = np.array([float(row["G3"]) for row in rows])
    schools = np.unique([row["school"] for row in rows], return_inverse=True)[1]
    return np.column_stack(columns), (grades - grades.mean()) / grades.std(), schools


def _columns(words: list[str], nominal: bool) -> list[Float64s]:
    """One column of a number or of a yes and no; of a nominal predictor one for each level but the first."""
    try:
        numbers = np.array([float(word) for word in words])
        return [(numbers - numbers.mean()) / numbers.std()]
    except ValueError:
        levels = sorted(set(words))
        chosen = levels[1:] if nominal else levels[1:2]
        return [np.array([float(word == level) for word in words]) for level in chosen]


def _compare(x: Float64s, y: Float64s, schools: Array, prior: str, seed: int) -> tuple[float, ...]:
    """A-RMSE over both schools of two schools and of one table, and what each school keeps."""
    apart, together = _designs(x, y, schools, seed)
    model = PenalizedRegression(prior=prior).fit(apart, seed=seed)
    whole = PenalizedRegression(prior=prior).fit(together, seed=seed)
    kept = model.select().sum(axis=1)
    errors = [
        device_rmse(apart, predict_each(apart, params)).mean()
        for params in (model.params, np.tile(whole.params, (2, 1)))
    ]
    return float(errors[0]), float(errors[1]), float(kept[0]), float(kept[1])


def _designs(x: Float64s, y: Float64s, schools: Array, seed: int) -> tuple[Design, Design]:
    """Both schools as clients, and one client with the same training rows; 60 % of each school train."""
    rng = generator(seed, "students")
    train = np.zeros(len(y), bool)
    for school in (0, 1):
        mine = rng.permutation(np.flatnonzero(schools == school))
        train[mine[: round(0.6 * len(mine))]] = True

    def design(owners: Array) -> Design:
        clients = {
            str(owner): {
                part: (x[rows & (owners == owner)], y[rows & (owners == owner)])
                for part, rows in (("train", train), ("test", ~train))
            }
            for owner in np.unique(owners)
        }
        return Design.of(Federation.from_clients(clients), intercept=False)

    return design(schools), design(np.zeros_like(schools))
