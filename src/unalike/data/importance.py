"""Client weights in the objective.

sum_i p_i L_i(theta) with p_i the client's share of all rows, or equal for all, or given by the user in a file
with one number per client, or by how like the others its features are (`similarity`: see
`similarity/measure.py`; only a federation, which has the features, can tell).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core.plain_files import check_plain_file
from ..errors import ConfigError
from ..typing import Float64s, Int64s

SIMILARITY = "similarity"
POLICIES = ("data", "equal", SIMILARITY)


def importance_of(policy: str | ArrayLike, sizes: Int64s) -> Float64s:
    """Importances by a policy (`data`, `equal`, or the path of a file), or given ones, checked.

    >>> importance_of("data", np.array([1, 3])), importance_of("equal", np.array([1, 3]))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    if not isinstance(policy, (str, Path)):
        try:
            given = np.array(policy, np.float64)
        except (TypeError, ValueError):
            raise ConfigError("importance needs one number per client.") from None
        return check_importance(given, len(sizes))
    if policy == "data":
        return sizes / max(int(sizes.sum()), 1)
    if policy == "equal":
        return np.full(len(sizes), 1 / len(sizes))
    if policy == SIMILARITY:
        raise ConfigError("importance 'similarity' needs the clients' rows, which are not here; use another.")
    return check_importance(read_importance(policy), len(sizes))


def read_importance(path: str | Path) -> Float64s:
    """Numbers from a text file, one per client, separated by commas, spaces or line ends."""
    try:
        check_plain_file(Path(path))
        words = Path(path).read_text(encoding="utf-8").replace(",", " ").split()
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(POLICIES)
        raise ConfigError(f"importance must be {known}, or a file of numbers: {path} ({error}).") from None
    try:
        return np.array([float(word) for word in words])
    except ValueError as error:
        raise ConfigError(f"{path} must hold one number per client ({error}).") from None


def check_importance(importance: Float64s, clients: int | None = None) -> Float64s:
    """The same importances, if there is one for each client, none is negative, and they sum to one."""
    given = np.asarray(importance, np.float64)
    if given.ndim != 1 or not len(given) or (clients is not None and len(given) != clients):
        wanted = "" if clients is None else f" ({clients})"
        raise ConfigError(f"importance needs one number per client{wanted}, but has shape {given.shape}.")
    if not np.isfinite(given).all() or given.min() < 0:
        bad = int(np.argmin(np.where(np.isfinite(given), given, -np.inf)))
        raise ConfigError(
            f"importance must not be negative or missing, but is {given[bad]} for client {bad}."
        )
    if abs(given.sum() - 1) > 1e-6:
        raise ConfigError(f"importance must sum to one, but sums to {given.sum():.6g}.")
    return given if given.sum() == 1 else given / given.sum()
