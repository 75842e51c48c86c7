"""Parameters without compiling an initializer: a model's shapes, filled by NumPy."""

import jax
import numpy as np


def filled(model, seed=0, scale=0.5):
    """Normal parameters of the model's shapes."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return jax.tree.map(lambda s: (scale * rng.normal(size=s.shape)).astype(s.dtype), shapes)
