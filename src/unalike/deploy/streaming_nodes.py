"""Streaming nodes: whose reported weights does the server accept?

The owner of the server allows it with `--streaming`; elsewhere a node cannot change what it counts for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..engine import Setting, message_template, reply_template
from ..errors import ConfigError
from ..experiments.config import Experiment
from .client_config import NodeRows
from .protection import Protection


def streaming_nodes(
    told: Mapping[str, NodeRows], streaming: bool, experiment: Experiment, protection: Protection
) -> tuple[int, ...]:
    """The nodes whose rows come and go, by number; raises where the server did not ask for any."""
    if streaming:
        check_streaming(experiment, protection)
    found = tuple(i for i, rows in enumerate(told.values()) if rows.streaming)
    if found and not streaming:
        name = list(told)[found[0]]
        raise ConfigError(
            f"node {name} has rows that come and go, and would say itself how much it counts; allow that "
            "with --streaming."
        )
    return found


def check_streaming(experiment: Experiment, protection: Protection) -> None:
    """Raise where weights must be known before clients answer, or are the server's to say."""
    if protection.secure or protection.central is not None:
        what = "--secure-aggregation" if protection.secure else "--central-dp"
        raise ConfigError(
            f"{what} fixes weights before clients answer, but with --streaming nodes say how many rows they "
            "hold; leave out one of the two."
        )
    if experiment.unlearning is not None:
        raise ConfigError("unlearning measures plain means; leave out --streaming.")
    if experiment.importance not in (None, "data"):
        raise ConfigError(
            f"--streaming weighs nodes by the rows that they hold; leave out importance = "
            f"{experiment.importance!r}."
        )


def check_own_weights(name: str, setting: Setting) -> None:
    """Raise where the algorithm lets clients say themselves what they weigh."""
    if reply_template(setting, message_template(setting)).weight is not None:
        raise ConfigError(
            f"with {name}, clients say themselves what they weigh; --streaming would say it twice."
        )
