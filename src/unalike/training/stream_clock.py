"""The clock of a stream: arrivals by round, or by simulated time."""

from __future__ import annotations

from ..core.spec import Spec
from ..data.streams import ClockedStream, HeldSteps, Stream
from ..errors import ConfigError
from ..timing import Timing
from ..typing import Event


def follow_clock(stream: Stream, timing: Timing, until: float, engine: str) -> tuple[Stream, list[Event]]:
    """The stream, whose rows arrive by the clock where there is one, and the event that says so."""
    if isinstance(stream, HeldSteps):
        inner, said = follow_clock(stream.stream, timing, until, engine)
        return HeldSteps(inner, stream.rounds), said
    if not timing.traits.has_clock and stream.period is None:
        return stream, []
    if Spec.parse(engine).name == "ray":
        raise ConfigError(
            "rows of a stream arrive by the simulated clock, which Ray's workers do not see; use the engine "
            "local, or synchronous rounds without a stream period."
        )
    period = 1.0 if stream.period is None else stream.period
    return ClockedStream(stream, period, until), [{"kind": "stream follows clock", "period": period}]
