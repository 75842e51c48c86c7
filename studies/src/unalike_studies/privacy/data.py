"""Rows of the study of privacy audits: generated baskets by the recipe of Purchase100 (`purchase_like`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unalike.data import Federation
from unalike.data.federation import assemble
from unalike.data.sources.purchase_like import PRODUCTS, draw_baskets
from unalike.models import Task, mlp

_TEST_PART = 2


@dataclass(frozen=True)
class Sizes:
    """How large the study is."""

    rows: int
    """Of the training set, and of the reference set."""
    others: int
    classes: int
    hidden: int


FULL, QUICK = Sizes(2000, 4000, 100, 128), Sizes(400, 800, 20, 64)


def study_rows(sizes: Sizes, seed: int) -> Federation:
    """One client, whose training rows, reference rows (the last half of what it trains on) and test rows are
    drawn alike."""
    total = 2 * sizes.rows + sizes.others
    x, y = draw_baskets(total, sizes.classes, seed)
    tested = np.arange(total) >= 2 * sizes.rows
    parts = np.where(tested, _TEST_PART, 0).astype(np.int8)
    return Federation(*assemble(x, y, np.zeros(total, np.int64), parts, 1), classes=sizes.classes)


def study_task(sizes: Sizes) -> Task:
    """One hidden layer, large enough to fit its rows by heart."""
    return Task.classification(
        mlp(sizes.hidden, input_shape=(PRODUCTS,), outputs=sizes.classes), classes=sizes.classes
    )
