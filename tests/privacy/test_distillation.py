"""Does a student follow its teacher on reference rows, and see nothing else?"""

import jax
import numpy as np
import pytest

import unalike
from unalike.data.reference_rows import split_reference
from unalike.privacy.distillation import distil
from unalike.testing import example_federation, example_task


@pytest.fixture(scope="module")
def taught():
    federation = example_federation(4)
    task = example_task(federation)
    training, reference = split_reference(federation, 0.5)
    teacher = unalike.train(training, task, unalike.FedAvg(), rounds=20, evaluate_every=0).message
    return reference, task, teacher


def test_reference_rows_are_labeled_by_the_teacher(taught):
    reference, task, teacher = taught
    found = distil(reference, task, teacher, 2.0)
    expected = jax.nn.softmax(task.apply(teacher, reference.train.x) / 2.0)
    np.testing.assert_allclose(found.federation.train.y, expected, atol=1e-6)
    assert np.array_equal(found.federation.train.x, reference.train.x)
    assert np.array_equal(found.federation.test.y.argmax(1), reference.test.y)


def test_the_teacher_itself_is_where_the_student_s_gradient_is_zero(taught):
    reference, task, teacher = taught
    federation, student = distil(reference, task, teacher)
    slope = jax.grad(lambda p: student.losses(p, federation.train.x, federation.train.y).sum())(teacher)
    assert max(float(abs(leaf).max()) for leaf in jax.tree.leaves(slope)) < 1e-4


def test_a_student_is_trained_by_any_method_and_comes_close_to_its_teacher(taught):
    reference, task, teacher = taught
    run = unalike.train(*distil(reference, task, teacher), unalike.FedAvg(), rounds=100)
    labels = [np.asarray(task.apply(p, reference.train.x)).argmax(1) for p in (teacher, run.message)]
    assert (labels[0] == labels[1]).mean() > 0.8
    assert 0 <= run.metrics()["test_accuracy"][-1] <= 1


def test_nonsense_is_refused(taught):
    with pytest.raises(unalike.ConfigError, match="temperature must be above 0"):
        distil(*taught, temperature=0.0)
