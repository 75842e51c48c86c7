"""Federated learning for clients that are not alike.

Public names are listed in `__init__.pyi` and imported when they are first used: asking for help or a version
does not wait for JAX.
"""

import lazy_loader as _lazy

from .core.start import set_up_jax as _set_up_jax

_set_up_jax()

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
