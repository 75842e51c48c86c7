"""Does homogeneity fall over the knobs, and is it that of the clients which a partition makes?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike import Federation, load
from unalike.data.similarity.sweep import sweep_homogeneity
from unalike.errors import ConfigError, DataError
from unalike.report.homogeneity_sweep import sweep_figure


@pytest.fixture(scope="module")
def sweep():
    digits = load("digits", clients=20, partition="iid", test_fraction=0.0)
    return sweep_homogeneity(digits, (0.0, 1.0, 10.0, 100.0), (0.0, 1.0), (0, 1))


def test_more_class_imbalance_is_less_homogeneous_for_every_seed(sweep):
    assert sweep.values.shape == (2, 4, 2)
    assert (np.diff(sweep.values, axis=1) < 0).all()


def test_data_imbalance_matters_where_labels_are_alike(sweep):
    assert sweep.means[0, 0] > sweep.means[1, 0] + 0.1


def test_values_are_those_of_an_independent_implementation(sweep):
    np.testing.assert_allclose(sweep.means[0], (3.263, 2.405, 1.739, 1.558), rtol=0.06)


def test_rows_and_the_picture_say_the_same(sweep):
    rows = sweep.rows()
    assert len(rows) == 8
    assert all(row["least"] <= row["homogeneity"] <= row["most"] for row in rows)
    lines = sweep_figure(sweep).axes[0].get_lines()
    np.testing.assert_allclose([line.get_ydata() for line in lines], sweep.means)


def test_rows_without_classes_and_single_clients_are_refused():
    x, y = np.ones((6, 2), np.float32), np.arange(6) % 2
    two = Federation.from_owners(x, y, np.arange(6) % 2)
    with pytest.raises(DataError, match="one class each"):
        sweep_homogeneity(replace(two, classes=None))
    with pytest.raises(ConfigError, match="at least two"):
        sweep_homogeneity(two.subset([0]))
