"""Timing: hardware, policies, and steps with model versions and a clock.

Public names are listed in `__init__.pyi` and imported when they are first used.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
