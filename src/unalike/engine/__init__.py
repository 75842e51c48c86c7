"""Engines: where clients compute. The host plans, XLA computes, or one client at a time for debugging.

Public names are listed in `__init__.pyi` and imported when they are first used.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
