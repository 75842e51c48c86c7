"""Prequential evaluation: predict each row, then learn from it.

After t rounds, the rows B_m(t) that client m receives in the next round, which no round has used, are
predicted with the model theta(t) of that moment (Dawid, "Present position and potential developments: the
prequential approach", 1984; Gama, Sebastiao and Rodrigues, "On evaluating stream learning algorithms", 2013):

    prequential_loss(t) = sum_m sum_{j in B_m(t)} loss(theta(t), z_j) / sum_m |B_m(t)|

So a row of the record holds what comes *after* its round. A client's own predictor is made from what it held
in the round before, never from the rows that it is to predict; in round 0 it held nothing, and nothing is
measured.
"""

from __future__ import annotations

from ..algorithms import Messages
from ..engine import Engine, Memories
from ..typing import Array, ClientIds
from .round_report import label_columns

PREFIX = "prequential"
NOT_PREDICTED = "no prequential evaluation on this engine"
Found = tuple[dict[str, float], dict[str, Array]]


def prequential_columns(
    engine: Engine, messages: Messages, memories: Memories, round: int, clients: ClientIds
) -> Found | None:
    """Loss and metrics on the rows that arrive next: of all together, and of each client; empty where none
    arrive, None where the engine cannot tell."""
    setting = engine.setting
    coming = None if setting.stream is None else setting.stream.arriving(round, clients)
    personal = setting.algorithm.personalized or messages.per_client
    if coming is None or not len(coming.rows) or (personal and round == 0):
        return {}, {}
    part = coming.only(setting.federation.train, clients)
    values = engine.evaluate_rows(messages, memories, part, max(round - 1, 0), clients)
    return None if values is None else label_columns(PREFIX, values, setting.task)
