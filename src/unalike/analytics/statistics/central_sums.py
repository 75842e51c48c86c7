"""Central moments of several nodes as one vector that can be added: sums about agreed centers.

Counts, means and sums about the means do not add; sums about a common center c do:

    n,      sum (x - c) = n (m - c),      sum (x - c)(x - c)' = S + n (m - c)(m - c)'

and the total gives back the mean and the products about it. Centers near the means keep all digits.
"""

from __future__ import annotations

import numpy as np

from ...errors import DataError
from ...typing import Float64s
from .questions import Answer, Question

SUMMABLE = ("moments", "products")
"""Questions whose answers can be added."""


def centers_of(question: Question, width: int) -> Float64s:
    """The centers that a question names, one for each column; zeros where it names none."""
    centers = question.arrays.get("centers", np.zeros(width))
    if centers.shape != (width,) or centers.dtype != np.float64 or not np.isfinite(centers).all():
        raise DataError("a question for sums needs one finite center for each column.")
    return centers


def to_sums(question: Question, answer: Answer) -> Float64s:
    """One node's answer about moments or products as a vector of sums about the centers."""
    if question.kind == "moments":
        count, mean, squares = answer.arrays["moments"].T
        apart = mean - centers_of(question, len(count))
        return np.concatenate([count, count * apart, squares + count * apart**2])
    if question.kind == "products":
        n, means = float(answer.words["count"]), answer.arrays["means"]
        apart = means - centers_of(question, len(means))
        between = answer.arrays["products"] + n * np.multiply.outer(apart, apart)
        return np.concatenate([[n], n * apart, between.ravel()])
    raise DataError(
        f"answers about {question.kind!r} cannot be added; secure sums are of {' and '.join(SUMMABLE)}."
    )


def from_sums(question: Question, total: Float64s, width: int) -> Answer:
    """The answer about all nodes' rows, from the total of their vectors.

    >>> question = Question("moments", {"columns": ["age"]})
    >>> answer = Answer({}, {"moments": np.array([[3.0, 2.0, 2.0]])})
    >>> from_sums(question, to_sums(question, answer), 1).arrays["moments"].tolist()
    [[3.0, 2.0, 2.0]]
    """
    centers = centers_of(question, width)
    if question.kind == "moments":
        count, first, second = total.reshape(3, width)
        safe = np.where(count > 0, count, 1.0)
        moments = np.column_stack([count, centers + first / safe, np.maximum(second - first**2 / safe, 0.0)])
        return Answer({}, {"moments": np.where(count[:, None] > 0, moments, 0.0)})
    n, first, second = total[0], total[1 : 1 + width], total[1 + width :].reshape(width, width)
    if not n > 0:
        return Answer({"count": 0}, {"means": np.zeros(width), "products": np.zeros((width, width))})
    products = second - np.multiply.outer(first, first) / n
    return Answer({"count": n}, {"means": centers + first / n, "products": products})
