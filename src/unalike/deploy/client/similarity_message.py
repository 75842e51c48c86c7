"""A node's similarity message: its principal direction, sent only if the owner agrees.

Asked for its `direction`, a node whose owner has agreed answers with the first principal direction of its
training rows (E. Buttaci, "Does Perturbation Aid Convergence?", MSc thesis, Politecnico di Torino), as it is
or blurred:

    direction (contract, seed)  ->  a unit vector

`plain` tells it as it is, `projection:16` in a random frame that all nodes draw from the request's seed,
`rotation:FILE` turned by a matrix that nodes draw from a file which they share and the server does not have,
`gaussian:1,1e-5` with noise of the node's own, drawn once, so that asking again does not average it away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.random import generator
from ...core.spec import Spec
from ...data import Federation
from ...data.similarity.principal_direction import principal_direction
from ...data.similarity.private_messages import Protect, message_privacy_registry
from ...errors import ConfigError, UnalikeError
from ...typing import Float64s
from ..client_config import PROTOCOL, ClientConfig
from ..transport.messages import MessageError, WireMessage
from .app import whole
from .rows import as_agreed

Answers = Callable[[WireMessage], WireMessage]
PLAIN = "plain"


class SimilarityWorker:
    """Answers requests for a direction; `telling` is None where the node's owner has not agreed."""

    def __init__(
        self,
        rows: Callable[[], Federation],
        telling: str | None,
        uncut: bool = False,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.rows, self.telling, self.uncut, self.log = rows, telling, uncut, log
        blurred = telling is not None and telling != PLAIN
        self._protect: Protect | None = message_privacy_registry.make(str(telling)) if blurred else None
        if blurred and Spec.parse(str(telling)) == Spec.parse("rotation"):
            raise ConfigError(
                "a rotation needs a file that nodes share with each other and not with the server, such as "
                "rotation:secret.txt."
            )
        self._told: Float64s | None = None

    def in_front_of(self, answer: Answers) -> Answers:
        """Answers to this request, and those of a node to all others."""

        def answers(request: WireMessage) -> WireMessage:
            if request.kind != "direction":
                return answer(request)
            try:
                return WireMessage("direction", {"protocol": PROTOCOL}, {"direction": self._tell(request)})
            except UnalikeError as error:
                self.log(f"refused a request: {error}")
                return WireMessage("refusal", {"reason": str(error), "protocol": PROTOCOL})

        return answers

    def _tell(self, request: WireMessage) -> Float64s:
        if self.telling is None:
            raise MessageError("this node does not tell its direction (`unalike join --tell-direction`).")
        if self._told is None or Spec.parse(self.telling).name != "gaussian":
            contract = ClientConfig.read(str(request.numbers.get("contract")))
            train = as_agreed(self.rows(), contract, self.uncut).train
            self._told = self._blurred(principal_direction(train.x), whole(request, "seed"))
        self.log(f"told the server the direction of its rows ({self.telling})")
        return self._told

    def _blurred(self, message: Float64s, seed: int) -> Float64s:
        if self._protect is None:
            return message
        shared = Spec.parse(str(self.telling)).name == "projection"
        # A frame must be everyone's; noise that somebody else could draw again would hide nothing.
        rng = generator(seed, "message privacy") if shared else np.random.default_rng()
        return self._protect(message[None], rng)[0]
