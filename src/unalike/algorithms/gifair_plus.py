"""GIFAIR+: every client fine-tunes GIFAIR's common model on its rows before it predicts.

    train:    w    by GIFAIR (Yue, Nouiehed, Al Kontar, GIFAIR-FL: A Framework for Group and Individual
              Fairness in Federated Learning, 2022)
    predict:  w_k  <- some passes of descent from w over data_k, as in FedAvg+ (Jiang et al., 2019)

Unlike GIFAIR-Per, nothing is kept between rounds, and clients that were never drawn are tuned as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..models import Task
from ..typing import Memory, Message, Predictor
from .base import algorithm_registry
from .fedavg_plus import FedAvgPlus
from .gifair import Gifair
from .needs import Needs
from .shared.client_data import ClientData


@algorithm_registry.add("gifair+")
@dataclass(frozen=True, kw_only=True)
class GifairPlus(Gifair, FedAvgPlus):
    """GIFAIR whose clients fine-tune the common model before predicting."""

    name: ClassVar[str] = "gifair+"
    needs: ClassVar[Needs] = Needs(rows_to_predict=True)

    def __post_init__(self) -> None:
        Gifair.__post_init__(self)
        FedAvgPlus.__post_init__(self)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return FedAvgPlus.predictor(self, task, message["params"], memory, data, key)
