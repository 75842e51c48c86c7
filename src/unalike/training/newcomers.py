"""How well do clients do that join after training?

Some clients are set apart before training. Afterwards each is sent what the server would send, makes itself a
memory from its own training rows (:meth:`Algorithm.newcomer`), and predicts its test rows.
"""

from __future__ import annotations

import numpy as np

from ..algorithms import Messages
from ..core.random import generator
from ..data import Federation
from ..engine import LocalEngine, Memories, Setting, reply_template
from ..errors import ConfigError
from ..runs import higher_is_better, summarize_clients
from ..typing import Array
from .consensus import mean_for_each
from .run import Run


def set_apart(federation: Federation, share: float, seed: int = 0) -> tuple[Federation, Federation]:
    """The clients that train, and a random share of clients that join only afterwards.

    >>> import unalike
    >>> seen, unseen = set_apart(unalike.load("digits", clients=10), 0.2)
    >>> len(seen), len(unseen)
    (8, 2)
    """
    everyone = len(federation)
    count = round(share * everyone)
    if not 0 < count < everyone:
        raise ConfigError(
            f"unseen = {share:g} sets {count} of {everyone} clients apart; some must train, some must join."
        )
    order = generator(seed, "unseen").permutation(everyone)
    return federation.subset(np.sort(order[count:])), federation.subset(np.sort(order[:count]))


def evaluate_newcomers(run: Run, newcomers: Federation, split: str = "test") -> dict[str, Array]:
    """Loss and metrics of every newcomer with what a run has learned, and its number of `samples`."""
    task = run.setting.task
    algorithm = run.setting.algorithm
    messages = _introduction(run, len(newcomers))
    setting = Setting(newcomers, task, algorithm, run.setting.seed, devices=run.setting.devices)
    memories = Memories(reply_template(setting, messages.of(0)).memory, len(newcomers))
    return LocalEngine(setting).evaluate(messages, memories, split, run.rounds)


def newcomer_summary(run: Run, newcomers: Federation) -> dict[str, float]:
    """The newcomers' test metrics: means over samples, and their bottom decile."""
    if not any(run.setting.algorithm.traffic(run.message, run.message)):
        return {}  # nothing is sent, so there is nothing to join
    columns = evaluate_newcomers(run, newcomers)
    samples = columns.pop("samples")
    answer: dict[str, float] = {}
    for name, values in columns.items():
        shown, values = ("rmse", np.sqrt(values)) if name == "mse" else (name, values)
        spread = summarize_clients(values, samples, higher_is_better(shown))
        answer[f"unseen_{shown}"] = spread["weighted_mean"]
        if name == "mse":  # as everywhere: the root of the mean square, not the mean of clients' roots
            answer["unseen_rmse"] = float(np.sqrt(summarize_clients(values**2, samples)["weighted_mean"]))
        if name != "loss":
            answer["unseen_bottom_decile"] = spread["bottom_decile"]
    return answer


def _introduction(run: Run, count: int) -> Messages:
    """What newcomers are sent: the server's message; where there is no server, the mean of all clients'
    models, once for each."""
    return mean_for_each(run.messages, count) if run.messages.per_client else run.messages
