"""Secure aggregation at a node: masks its uploads.

In front of the node's own work stands Flower's SecAgg+ mod: it answers the stages of the protocol, and when
the masked vector is asked for, it has the request done here and masks the upload before it leaves. The node
checks what the mod does not: that enough others take part, that a secret needs a majority, that nobody is
called both present and gone, and that its values are finite and fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters
from flwr.common.secure_aggregation.secaggplus_constants import (
    RECORD_KEY_CONFIGS,
    RECORD_KEY_STATE,
    Key,
    Stage,
)
from flwr.compat.common.recorddict_compat import fitres_to_recorddict

from ...privacy.clipping import clip_arrays
from ...privacy.secure_aggregation import FEWEST, HEAVIEST, MODULUS
from ...typing import Array, Float64s
from ..client.app import below, whole
from ..client_config import PROTOCOL
from ..transport.messages import DEFAULT_LIMIT, MessageError, WireMessage, arrays_to_vector, pack, unpack

if TYPE_CHECKING:
    from ..client.executor import App

Answers = Callable[[WireMessage], WireMessage]


def secure_app(answer: Answers, only: bool = False, limit: int = DEFAULT_LIMIT) -> App:
    """An app that answers messages, and trains by secure aggregation when asked that way; with `only`,
    in no other way."""

    def work(message: Message, context: Context) -> Message:
        request = unpack(_without_protocol(message.content), limit)
        return Message(_fit_result(request, answer(request), _clipping(context)), reply_to=message)

    def app(message: Message, context: Context) -> Message:
        said = message.content.config_records.get(RECORD_KEY_CONFIGS)
        if said is not None:
            check_stage(said, context)
            return secaggplus_mod(message, context, work)
        request = unpack(message.content, limit)
        if only and request.kind == "train":
            reason = "this node trains by secure aggregation only; serve with --secure-aggregation."
            refusal = WireMessage("refusal", {"reason": reason, "protocol": PROTOCOL})
            return Message(pack(refusal), reply_to=message)
        return Message(pack(answer(request)), reply_to=message)

    return app


def check_stage(said: ConfigRecord, context: Context) -> None:
    """Raise where following the server would weaken the protection."""
    if said.get(Key.STAGE) == Stage.SETUP:
        others, shares, threshold = (
            said.get(name) for name in (Key.SAMPLE_NUMBER, Key.SHARE_NUMBER, Key.THRESHOLD)
        )
        if not all(type(number) is int for number in (others, shares, threshold)):
            raise MessageError("the set-up of secure aggregation is malformed.")
        if cast(int, others) < FEWEST or 2 * cast(int, threshold) <= cast(int, shares):
            raise MessageError(
                f"secure aggregation needs {FEWEST} clients and a majority to reveal a secret, "
                f"but the server asks {others!r} clients and any {threshold!r} of {shares!r}."
            )
        if said.get(Key.MOD_RANGE) != MODULUS:
            raise MessageError(f"masks must be numbers below {MODULUS}.")
    if said.get(Key.STAGE) == Stage.UNMASK:
        present, gone = (
            set(cast(list[int], said.get(name) or []))
            for name in (Key.ACTIVE_NODE_ID_LIST, Key.DEAD_NODE_ID_LIST)
        )
        if present & gone or context.node_id in gone:
            raise MessageError("the server calls a node present and gone; that would reveal its upload.")


def upload_vector(arrays: dict[str, Array], clipping: float) -> Float64s:
    """A 1 (by which the server knows a whole sum) and all values of an upload, in the order of names."""
    vector = np.concatenate([[1.0], arrays_to_vector(arrays)])
    if not np.isfinite(vector).all():
        raise MessageError("this client's upload holds NaN or infinite entries; it drops out of the round.")
    if (largest := np.abs(vector).max()) > clipping:
        raise MessageError(
            f"this client's upload holds {largest:.3g}, but secure sums go up to {clipping:g}; "
            "it drops out of the round."
        )
    return cast(Float64s, vector)


def _fit_result(request: WireMessage, given: WireMessage, clipping: float) -> RecordDict:
    """The upload as Flower's mod takes it, with the client's weight and nothing else."""
    if given.kind != "upload":
        raise MessageError(str(given.numbers.get("reason", "the request could not be done.")))
    weight, arrays = whole(request, "weight"), below(given.arrays, "upload")
    if not 0 < weight <= HEAVIEST:
        raise MessageError(f"a weight must be a whole number from 1 to {HEAVIEST}, but is {weight}.")
    clip = request.numbers.get("clip")
    if isinstance(clip, float):
        arrays = clip_arrays(arrays, below(request.arrays, "message"), clip)
    parameters = ndarrays_to_parameters([upload_vector(arrays, clipping)])
    return fitres_to_recorddict(FitRes(Status(Code.OK, ""), parameters, weight, {}), keep_input=False)


def _without_protocol(content: RecordDict) -> RecordDict:
    return RecordDict({name: record for name, record in content.items() if name != RECORD_KEY_CONFIGS})


def _clipping(context: Context) -> float:
    return float(cast(float, context.state.config_records[RECORD_KEY_STATE][Key.CLIPPING_RANGE]))
