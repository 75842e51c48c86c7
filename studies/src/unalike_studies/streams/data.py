"""Published numbers on data streams: constants, importances and accuracies of five data sets.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Five data sets at three
historical shares of rows, f = N_hist / N; for FEMNIST and Shakespeare it is the share of clients. Every cell
of the tables has c2/c1, the importance p* of historical clients, and the test accuracy of

    Fresh (p = 0), Historical (p = 1), Uniform (p = f), Ours (p = p*), and the best of a grid of p.
"""

from __future__ import annotations

from typing import NamedTuple

from unalike.data.streams.bound_constants import Constants

FRACTIONS = (0.05, 0.20, 0.50)
TABLES = ("Table 4.4", "Table 4.3", "Table 4.5")
"""Where the cells of each historical share are printed."""


class Cell(NamedTuple):
    """One data set at one historical share."""

    ratio: float
    historical: float
    """p*, what historical clients count together."""
    fresh: float
    only_historical: float
    uniform: float
    ours: float
    best: float


class Setting(NamedTuple):
    """A data set as the tables describe it."""

    clients: int
    constants: Constants
    fresh: tuple[int, int, int]
    """Fresh clients at each historical share."""


SETTINGS = {
    "Synthetic": Setting(11, Constants(1.9, 0.4, 0.7, 21, 200), (1, 1, 1)),
    "CIFAR-10": Setting(50, Constants(1.0, 5.5, 2.3, 3_353_034, 50_000), (25, 25, 25)),
    "CIFAR-100": Setting(50, Constants(1.0, 4.7, 4.6, 3_537_444, 50_000), (25, 25, 25)),
    "FEMNIST": Setting(3597, Constants(5.9, 12.9, 3.5, 867_390, 817_851), (3417, 2877, 1798)),
    "Shakespeare": Setting(916, Constants(2.6, 1.4, 6.1, 226_180, 3_436_096), (870, 732, 458)),
}
CELLS = {
    "Synthetic": (
        Cell(0.094, 0.06, 82.4, 68.1, 82.7, 82.7, 82.9),
        Cell(0.092, 0.20, 84.7, 77.3, 85.5, 85.5, 85.5),
        Cell(0.085, 0.50, 84.2, 84.8, 86.5, 86.5, 86.5),
    ),
    "CIFAR-10": (
        Cell(0.150, 0.12, 59.5, 48.2, 60.7, 61.0, 63.7),
        Cell(0.150, 0.45, 59.6, 59.8, 61.5, 66.9, 67.7),
        Cell(0.150, 0.95, 52.1, 64.1, 65.1, 68.7, 69.4),
    ),
    "CIFAR-100": (
        Cell(0.284, 0.08, 23.5, 13.5, 24.4, 25.2, 27.8),
        Cell(0.284, 0.32, 22.4, 22.6, 25.3, 28.5, 31.5),
        Cell(0.284, 0.69, 17.5, 29.4, 29.7, 34.4, 34.4),
    ),
    "FEMNIST": (
        Cell(0.001, 1.00, 55.2, 65.7, 58.4, 65.7, 65.7),
        Cell(0.001, 1.00, 53.3, 66.1, 55.4, 66.1, 66.1),
        Cell(0.001, 1.00, 48.3, 66.2, 57.8, 66.2, 66.2),
    ),
    "Shakespeare": (
        Cell(0.064, 1.00, 40.2, 49.0, 41.0, 49.0, 49.0),
        Cell(0.064, 1.00, 38.4, 49.0, 39.3, 49.0, 49.0),
        Cell(0.095, 1.00, 30.9, 44.1, 41.1, 44.1, 44.1),
    ),
}
CIFAR_GAPS = {"only_historical": (15.5, 7.9, 5.3), "uniform": (3.0, 6.2, 4.3)}
"""How many points below the best of the grid the text says CIFAR-10 is."""
EFFECTIVE = (0.916, 0.716, 0.556)
"""N_eff / N of the best importances for c2/c1 = 0.15 and 25 fresh clients of equal size (derived)."""
PARAMETERS = {
    "Synthetic": ("linear", (20,), 1),
    "CIFAR-10": ("cnn-wide", (32, 32, 3), 10),
    "CIFAR-100": ("cnn-wide", (32, 32, 3), 100),
    "FEMNIST": ("mlp:1024", (28, 28), 62),
    "Shakespeare": ("rnn:256,8,2", (80,), 100),
}
"""The model of each data set: its name here, the shape of its inputs, and the number of its outputs."""
