"""Are the study's shortcuts what they stand for, and are its files read as they should be?"""

import numpy as np

from unalike.analytics.design import Design
from unalike.analytics.hierarchical.baselines import ols_each
from unalike_studies.linear_models.data import correlated_devices, engine_like, polynomials, selection_case
from unalike_studies.linear_models.full_batch import (
    Spectra,
    ditto_models,
    fedavg_models,
    hm1_models,
    separate_models,
)
from unalike_studies.linear_models.races import race
from unalike_studies.linear_models.students import read_students


def small():
    return correlated_devices(4, 3, 0.8, 0.5, 6, 20, 0.5, 0)[0]


def naive_steps(design, models, rate, steps, anchor=0.0, lam=0.0):
    made = models.copy()
    for k in range(len(design)):
        x, y = design.client(k)
        for _ in range(steps):
            made[k] -= rate * (2 * x.T @ (x @ made[k] - y) / len(y) + lam * (made[k] - anchor))
    return made


def test_many_steps_in_closed_form_are_the_steps_one_by_one():
    design, start = small(), np.random.default_rng(0).normal(size=(4, 3))
    spectra = Spectra.of(design)
    np.testing.assert_allclose(
        separate_models(spectra, 3, 5, 0.05, start), naive_steps(design, start, 0.05, 15)
    )
    shared = np.tile(start[0], (4, 1))
    for _ in range(3):
        shared = np.tile(naive_steps(design, shared, 0.05, 5).mean(axis=0), (4, 1))
    np.testing.assert_allclose(fedavg_models(spectra, 3, 5, 0.05, start), shared)
    near = naive_steps(design, shared, 0.05, 15, shared[0], 0.4)
    np.testing.assert_allclose(ditto_models(spectra, 3, 5, 0.05, start, 0.4), near)


def test_without_a_prior_hm1_is_every_device_alone():
    design, start = small(), np.ones((4, 3))
    spectra = Spectra.of(design)
    alone = separate_models(spectra, 3, 5, 0.05, start)
    np.testing.assert_allclose(hm1_models(spectra, 3, 5, 0.05, 0.1, 0.0, start), alone)
    np.testing.assert_allclose(separate_models(spectra, 1, 5000, 0.05, start), ols_each(design), atol=1e-6)


def test_series_are_cut_by_time_and_scaled_by_what_trains():
    time = np.linspace(0, 1, 50)
    design = polynomials([(time, 5 + time), (time, 5 - time)], seed=0)
    assert isinstance(design, Design)
    assert [len(getattr(design.federation, part).y) for part in ("train", "validation", "test")] == [
        48,
        12,
        40,
    ]
    assert design.federation.test.x[:, 1].min() > design.federation.train.x[:, 1].max()
    np.testing.assert_array_equal(design.federation.train.x[:, 2], design.federation.train.x[:, 1] ** 2)


def test_a_race_names_everyone_and_one_model_for_all_loses_where_engines_differ():
    found = race(engine_like(0, engines=8), 5, np.zeros((8, 7)))
    assert set(found) == {"HM1", "Separate", "FedAvg", "Ditto", "Dis-Ridge"}
    assert found["FedAvg"] > found["Separate"]


def test_a_selection_case_has_the_published_sizes():
    design, truth = selection_case("II", 0)
    assert design.federation.train.sizes.tolist() == [20, 20] + [200] * 8
    assert np.count_nonzero(truth) == 3


def test_words_become_zeros_and_ones_and_earlier_grades_are_left_out(tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text(
        "school;sex;age;Mjob;G1;G2;G3\nGP;F;15;home;1;1;10\nMS;M;17;health;2;2;14\nGP;F;16;other;3;3;12\n"
    )
    x, y, schools = read_students(path)
    assert x.shape == (3, 4)  # sex, age, and two of three jobs
    np.testing.assert_array_equal(x[:, 0], [0, 1, 0])
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-12)
    assert schools.tolist() == [0, 1, 0]
