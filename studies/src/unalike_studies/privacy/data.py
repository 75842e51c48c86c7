"""Rows of the study of privacy audits: generated baskets by the recipe of Purchase100 (`purchase_like`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.federation import assemble
from unalike.data.sources.files import local
from unalike.data.sources.purchase_like import PRODUCTS, draw_baskets
from unalike.data.sources.purchase_texas import purchase100
from unalike.models import Task, mlp
from unalike.typing import Array

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
    return _one_client(sizes, *draw_baskets(_total(sizes), sizes.classes, seed))


def has_purchases() -> bool:
    """Whether the file of Purchase100 is there."""
    return any(local(f"purchase100.{kind}") is not None for kind in ("npz", "csv"))


def purchase_rows(sizes: Sizes, seed: int) -> Federation:
    """The same with rows of Purchase100."""
    source = purchase100(samples=_total(sizes), seed=seed)
    order = generator(seed, "purchases").permutation(len(source.y))
    return _one_client(sizes, source.x[order], source.y[order])


def _total(sizes: Sizes) -> int:
    return 2 * sizes.rows + sizes.others


def _one_client(sizes: Sizes, x: Array, y: Array) -> Federation:
    total = len(y)
    tested = np.arange(total) >= 2 * sizes.rows
    parts = np.where(tested, _TEST_PART, 0).astype(np.int8)
    return Federation(*assemble(x, y, np.zeros(total, np.int64), parts, 1), classes=sizes.classes)


def study_task(sizes: Sizes) -> Task:
    """One hidden layer, large enough to fit its rows by heart."""
    return Task.classification(
        mlp(sizes.hidden, input_shape=(PRODUCTS,), outputs=sizes.classes), classes=sizes.classes
    )
