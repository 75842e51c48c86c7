"""Is a confusion table drawn as it was counted, and only where it was asked for?"""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import unalike
from unalike import FedAvg, Task
from unalike.models import linear
from unalike.report.metric_report import confusion_heatmap, metric_figures


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, samples=200, seed=0)


def trained(federation, metrics):
    task = Task.classification(linear(input_shape=(8, 8, 1), outputs=10), 10, metrics=metrics)
    return unalike.train(federation, task, FedAvg(), rounds=1, seed=0)


def cells(figure):
    return {
        tuple(map(round, text.get_position()))[::-1]: int(text.get_text().replace(",", ""))
        for text in figure.axes[0].texts
        if text.get_text()
    }


def test_the_table_counts_everyones_test_rows(federation):
    run = trained(federation, ("accuracy", "confusion"))
    (drawn,) = metric_figures(run).items()
    said = np.asarray(run.setting.task.apply(run.message, federation.test.x)).argmax(-1)
    counts = confusion_matrix(federation.test.y, said, labels=range(10))
    assert drawn[0] == "Confusion"
    assert cells(drawn[1]) == {place: count for place, count in np.ndenumerate(counts) if count}


def test_nothing_is_drawn_where_no_table_was_asked_for(federation):
    assert metric_figures(trained(federation, ("f1",))) == {}


def test_many_classes_have_shades_and_no_numbers():
    axes = confusion_heatmap(np.eye(50)).axes[0]
    assert len(axes.texts) == 0
    assert axes.images[0].get_array().shape == (50, 50)


def test_classes_go_by_their_names():
    axes = confusion_heatmap(np.array([[3, 1], [0, 0]]), ("benign", "malignant")).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["benign", "malignant"]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.75, 0.25], [0, 0]])
