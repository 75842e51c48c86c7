"""What clients compute: one method per file, each reading like the method's own pseudo-code.

Public names are listed in `__init__.pyi` and imported when they are first used; `algorithm_registry` imports
a method when it is first asked for by name.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
