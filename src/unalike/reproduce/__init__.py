"""The published claims, as runnable studies."""

from . import asynchronous as _asynchronous  # noqa: F401
from . import availability as _availability  # noqa: F401 - studies register themselves
from . import engines as _engines  # noqa: F401
from . import fedem as _fedem  # noqa: F401
from . import foundation as _foundation  # noqa: F401
from . import knnper as _knnper  # noqa: F401
from . import sampling as _sampling  # noqa: F401
from . import topology as _topology  # noqa: F401
from .study import Claim, at_least, at_most, run_study, studies

__all__ = ["Claim", "at_least", "at_most", "run_study", "studies"]
