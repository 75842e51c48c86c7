"""Local differential privacy on every upload of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import ConfigError
from ...privacy.local import LocalPrivacy
from ..transport.messages import WireMessage
from .app import add_prefix, below

Answers = Callable[[WireMessage], WireMessage]


def private_answers(answer: Answers, privacy: LocalPrivacy) -> Answers:
    """Answers of which every upload is protected; one that cannot be is refused with the reason."""

    def protected(request: WireMessage) -> WireMessage:
        given = answer(request)
        if given.kind != "upload":
            return given
        try:
            upload = privacy.protected(below(given.arrays, "upload"), below(request.arrays, "message"))
        except ConfigError as error:
            return WireMessage("refusal", {"reason": f"this node keeps local privacy: {error}"})
        return replace(given, arrays=add_prefix("upload", upload))

    return protected
