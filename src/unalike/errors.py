"""Errors and warnings that users read.

Every mistake a user can make is an :class:`UnalikeError`: one sentence that says what is wrong, then what is
allowed and the nearest spelling. The command line prints it without a traceback and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnalikeError(Exception):
    """Something a user can correct; the message is one sentence meant for them."""


class DivergenceWarning(UserWarning):
    """A training that diverged; the command line says it in its own words."""


class DataError(UnalikeError):
    """Clients' data that cannot be trained on; the message names the client."""


class ConfigError(UnalikeError):
    """An option, a name or a configuration file that makes no sense."""


class RunError(UnalikeError):
    """A run folder that is missing, in use, or damaged beyond its older checkpoints."""


def unknown(kind: str, given: str, allowed: Iterable[str]) -> ConfigError:
    """The error for a name that does not exist, with the nearest one that does.

    >>> print(unknown("algorithm", "fedavgg", ["fedavg", "fedprox"]))
    unknown algorithm 'fedavgg'; did you mean 'fedavg'? Allowed: fedavg, fedprox.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return ConfigError(f"unknown {kind} {given!r}{hint} Allowed: {', '.join(names) or 'none'}.")
