"""Clipping and noise on the client's machine.

These are Flower's own functions, on arrays of the host; the server's clipping is in `aggregation/base.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from ..errors import ConfigError
from ..typing import Array


@contextmanager
def fresh_noise(entropy: int | None = None) -> Iterator[None]:
    """Inside, NumPy's global generator, which Flower draws from, starts from the system's entropy (or from a
    given number); afterwards it goes on as if nothing had happened."""
    before = np.random.get_state()
    np.random.seed(entropy)
    try:
        yield
    finally:
        np.random.set_state(before)


def clip_arrays(new: Mapping[str, Array], old: Mapping[str, Array], clip: float) -> dict[str, Array]:
    """`new` with its difference from `old`, over all arrays together, scaled down to at most `clip`; the
    names and shapes must be the same.

    >>> clip_arrays({"w": np.array([3.0, 4.0])}, {"w": np.zeros(2)}, 1.0)["w"].round(3).tolist()
    [0.6, 0.8]
    """
    if {k: v.shape for k, v in new.items()} != {k: v.shape for k, v in old.items()}:
        raise ConfigError("a change can be clipped only where uploads have the shapes of messages.")
    names = list(new)
    return dict(zip(names, _clip_list([new[n] for n in names], [old[n] for n in names], clip), strict=True))


def _clip_list(new: list[Array], old: list[Array], clip: float) -> list[Array]:
    from flwr.supercore.differential_privacy import compute_clip_model_update, get_norm

    ends, begins = ([np.asarray(leaf, np.float64) for leaf in leaves] for leaves in (new, old))
    if get_norm([end - begin for end, begin in zip(ends, begins, strict=True)]) > clip:
        compute_clip_model_update(ends, begins, clip)  # never with a norm of zero, which it would divide by
    return [end.astype(np.asarray(leaf).dtype) for end, leaf in zip(ends, new, strict=True)]
