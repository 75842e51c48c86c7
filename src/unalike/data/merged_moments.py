"""Chan's merge of means and variances of two sets of rows.

    n = n_a + n_b,   d = mean_b - mean_a,   mean = mean_a + d n_b / n,   M = M_a + M_b + d d' n_a n_b / n

M are sums of squares (of one column) or of products (of several) about the means. T. Chan, G. Golub and R.
LeVeque, "Algorithms for Computing the Sample Variance", 1983.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..typing import Leaf


class RowMoments(NamedTuple):
    """Count, mean and sum of squares about the mean of a column, or of several with their products.

    >>> RowMoments(1, 1.0, 0.0).merge(RowMoments(2, 4.0, 2.0))
    RowMoments(count=3, mean=3.0, products=8.0)
    """

    count: Leaf
    mean: Leaf
    products: Leaf

    def merge(self, other: RowMoments) -> RowMoments:
        """The moments of these rows and of others together."""
        count = self.count + other.count
        apart = other.mean - self.mean
        share = other.count / count if count else 0.0
        between = _square(apart) * self.count * share
        return RowMoments(count, self.mean + apart * share, self.products + other.products + between)


def _square(apart: Leaf) -> Leaf:
    return np.multiply.outer(apart, apart) if np.ndim(apart) else apart**2
