"""Are the groups of the study what they are said to be?"""

import numpy as np

from unalike_studies.fairness import data, real_data


def test_groups_have_their_numbers_of_clients_and_rows():
    unequal = data.three_unequal_groups(1)
    groups = np.array(unequal.groups)
    names, counts = np.unique(groups, return_counts=True)
    assert counts.tolist() == [12, 20, 8]
    means = [unequal.train.sizes[groups == name].mean() for name in names]
    assert np.allclose(means, [120, 240, 90], rtol=0.2)
    assert set(unequal.test.sizes.tolist()) == {data.TESTED}


def test_a_group_that_strays_has_another_rule():
    """The best linear rule of the straying group is bad for the others."""
    two = data.two_groups(0)
    strong, weak = (np.flatnonzero(np.array(two.groups) == name) for name in ("group 1", "group 2"))
    x, y = two.train.take(weak).x, two.train.take(weak).y
    rule = np.linalg.lstsq(x, np.eye(data.CLASSES)[y], rcond=None)[0]

    def accuracy(clients):
        test = two.test.take(clients)
        return (np.argmax(test.x @ rule, axis=1) == test.y).mean()

    assert accuracy(weak) > accuracy(strong) + 0.1


def test_roles_are_all_different():
    assert len(set(real_data.WOMEN)) == 10
    assert len(set(real_data.MEN)) == 25
    assert not set(real_data.WOMEN) & set(real_data.MEN)
