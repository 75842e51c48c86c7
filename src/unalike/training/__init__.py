"""The training loop, and what surrounds it: history, checkpoints, round reports and runs."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["newcomers"])
