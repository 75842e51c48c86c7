"""Are merged moments those of all rows in one place, for one column and for several?"""

import numpy as np
import pytest

from unalike.data.merged_moments import RowMoments


def moments_of(rows):
    mean = rows.mean(axis=0)
    return RowMoments(len(rows), mean, (rows - mean).T @ (rows - mean))


@pytest.mark.parametrize("shape", [(90,), (90, 3)])
def test_parts_merge_to_the_moments_of_all_rows(shape):
    rows = np.random.default_rng(0).normal(1e6, 2.0, size=shape)
    merged = moments_of(rows[:10]).merge(moments_of(rows[10:30])).merge(moments_of(rows[30:]))
    whole = moments_of(rows)
    assert merged.count == 90
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(merged.products, whole.products, rtol=1e-9, atol=1e-7)


def test_parts_without_rows_change_nothing():
    some, none = RowMoments(3, 2.0, 1.5), RowMoments(0, 0.0, 0.0)
    assert some.merge(none) == none.merge(some) == some
    assert none.merge(none) == none
