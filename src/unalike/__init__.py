"""Federated learning for heterogeneous clients.

Public names are listed in `__init__.pyi` and imported when they are first used: asking for help or a version
does not wait for JAX.
"""

import lazy_loader as _lazy

from .core.jax_startup import set_up_jax as _set_up_jax

_set_up_jax()

__version__ = "0.2.0"
_load, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Import a public name; of one that does not exist, say which was probably meant."""
    try:
        return _load(name)
    except AttributeError:
        if name in __all__:  # its own module failed
            raise
    from difflib import get_close_matches

    meant = get_close_matches(name, __all__, n=1)
    hint = f"; did you mean unalike.{meant[0]}?" if meant and not name.startswith("_") else ""
    raise AttributeError(f"unalike has no {name!r}{hint}", name=name)
