"""Clients and published numbers of the study of client similarity.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3. Clients are
dealt by the two knobs of `data/imbalance.py`. Published curves are means over seeds and both data imbalances.
The thesis has neither digits nor MNIST: their numbers are those of an independent program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from unalike.core.random import generator
from unalike.data.imbalance import deal_by_imbalance
from unalike.data.similarity import Similarity, similarity_of
from unalike.data.similarity.principal_direction import directions_of
from unalike.data.sources.files import local
from unalike.typing import Array, Int64s

from ..fixtures import load_rows

DIGITS_CLIENTS, PICTURE_CLIENTS = 20, 100
KNOBS = (0.0, 1.0, 10.0, 100.0)
"""Class imbalances of the digits."""
INDEPENDENT = "independent NumPy program"
"""Where expectations come from that no document prints."""
DIGITS = {
    0.0: (3.263, 2.405, 1.739, 1.558),
    1.0: (2.900, 2.303, 1.821, 1.631),
}
"""By data imbalance: homogeneity of digits at the class imbalances, mean of ten seeds, independently made."""
ALL_ROWS = {5: 3.97, 10: 3.62, 20: 3.26, 30: 3.03}
"""By number of clients: homogeneity of digits that are all dealt to them, labels balanced."""
CIFAR = {0.0: 4.164, 0.5: 3.814, 1.0: 3.660, 5.0: 3.260, 10.0: 3.091, 50.0: 2.935, 250.0: 2.886}
"""Published homogeneity by class imbalance, on 500 rows per client, read from figure 3.5."""
CIFAR_ROWS = 50_000
MNIST = {0.0: (3.396, 3.060), 1.0: (2.137, 2.097), 10.0: (1.502, 1.496), 100.0: (1.322, 1.336)}
"""By class imbalance, at data imbalance 0 and 1; independently made, for the thesis has no MNIST."""


@cache
def digits() -> tuple[Array, Array]:
    """scikit-learn's pictures of 8 x 8 pixels in 0..1, and their labels."""
    source = load_rows("digits")
    pictures = np.asarray(source.x, np.float64)
    return pictures / pictures.max(), np.asarray(source.y)


def pictures(file: str) -> tuple[Array, Array] | None:
    """The training pictures of a file, as bytes, and their labels; None where the file is not."""
    path = local(file)
    if path is None:
        return None
    with np.load(path) as stored:
        return stored["x_train"], stored["y_train"].ravel()


def measure(
    data: tuple[Array, Array], clients: int, class_imbalance: float, data_imbalance: float, seed: int
) -> Similarity:
    """The similarity of clients that the two knobs have made."""
    rng = generator(seed, "likeness")
    return compare(data[0], deal_by_imbalance(data[1], clients, class_imbalance, data_imbalance, rng))


def compare(x: Array, pieces: Sequence[Int64s]) -> Similarity:
    """The similarity of clients with these rows."""
    return similarity_of(directions_of(x, pieces)[1], sign_alarm=True)


def equal_pieces(rows: int, clients: int, each: int, seed: int) -> list[Int64s]:
    """So many random rows for everyone."""
    order = generator(seed, "equal pieces").permutation(rows)
    return [order[k * each : (k + 1) * each] for k in range(clients)]


def with_fewer_rows(published: float, alike: float, kept: float) -> float:
    """What homogeneity becomes when clients have only a part of their rows.

    Misalignment e^(-2 hom) is that of clients who draw from the same rows, e^(-2 alike), which grows like one
    over the rows, and what truly differs, which stays.

    >>> round(with_fewer_rows(4.164, 4.164, 0.6) - 4.164, 3), round(float(np.log(0.6)) / 2, 3)
    (-0.255, -0.255)
    """
    more_noise = np.exp(-2 * alike) * (1 / kept - 1)
    return float(-np.log(np.exp(-2 * published) + more_noise) / 2)
