"""Newcomers: clients that were unseen in training.

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
from ..models.metrics import deciding_metric, finish_means
from ..runs import summarize_clients
from ..typing import Array, Upload
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
    return finish_means(LocalEngine(setting).evaluate(messages, memories, split, run.rounds), task.metrics)


def newcomer_summary(run: Run, newcomers: Federation) -> dict[str, float]:
    """The newcomers' test metrics: means over samples, and their bottom decile."""
    if not any(run.setting.algorithm.traffic(run.message, Upload(run.message))):
        return {}  # nothing is sent, so there is nothing to join
    columns, metrics = evaluate_newcomers(run, newcomers), run.setting.task.metrics
    samples = columns["samples"]
    answer = {"unseen_loss": summarize_clients(columns["loss"], samples, False)["weighted_mean"]}
    for name, metric in metrics.items():
        if not metric.table:
            means = columns[metric.statistic]
            known = np.where(np.isnan(means).any(axis=tuple(range(1, means.ndim))), 0.0, samples)
            answer[f"unseen_{name}"] = metric.of_all(means, known)
    judged = metrics.get(deciding_metric(metrics))
    if judged is not None:
        spread = summarize_clients(columns[judged.name], samples, judged.higher_is_better)
        answer["unseen_bottom_decile"] = spread["bottom_decile"]
    return answer


def _introduction(run: Run, count: int) -> Messages:
    """What newcomers are sent: the server's message; where there is no server, the mean of all clients'
    models, once for each."""
    return mean_for_each(run.messages, count) if run.messages.per_client else run.messages
