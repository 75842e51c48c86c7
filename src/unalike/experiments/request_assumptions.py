"""What the guarantee of an unlearning request rests on, for the run that it is about."""

from __future__ import annotations

from ..data import Federation
from ..trust.unlearning.certificate import Assumption
from ..trust.unlearning.requests import Request
from .assumptions import assumptions_on, coding_assumptions
from .forget_plan import ForgettingRun


def request_assumptions(
    run: ForgettingRun, request: Request, remaining: Federation, everyone: Federation | None = None
) -> list[Assumption]:
    """All assumptions, each with whether it holds.

    Args:
        run: the run that forgets.
        request: what is asked of it.
        remaining: the clients that remain, with their rows.
        everyone: the rows of all clients, where they are here.
    """
    coding = coding_assumptions(run.experiment, remaining)
    if request.fresh:  # a new model holds nothing of anybody, whatever its loss
        return coding
    before = remaining if everyone is None else everyone.without_rows(_excluded_clients(run, request))
    experiment = run.experiment.model_copy(update={"rounds": _most_rounds(run, request)})
    return [*assumptions_on(experiment, remaining, before, request.mode), *coding]


def _excluded_clients(run: ForgettingRun, request: Request) -> list[int]:
    """Whose local work no bound of a request compares: that of clients who were forgotten before the first
    training on the way, and of those whose absence is all that the two trainings differ in."""
    first = min((node.branch for node in request.nodes if node.round), default=request.number)
    before = [client for earlier in run.log.requests[:first] for client in earlier.clients]
    together = request.rule == "group" or len(request.clients) == 1
    return [*before, *(request.clients if together else ())]


def _most_rounds(run: ForgettingRun, request: Request) -> int:
    """The rounds of the longest training so far, up to which a schedule may lengthen steps."""
    every = (*run.log.requests, request)
    return max(run.experiment.rounds_to_train or 0, *(one.rounds for one in every))
