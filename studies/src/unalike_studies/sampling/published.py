"""Long studies: sampling schemes at full size.

Fraboni, Vidal, Kameni and Lorenzi: "Clustered Sampling" (2021) has a hundred clients with 500 images of one
digit each and 600 rounds; "A General Theory for Client Sampling in Federated Learning" (2022) ten roles of
Shakespeare, five a round, an LSTM, 50 steps of 1.5 on batches of 64, and thirty first models of the same
ten roles. Clients have 449 to 561 digits here, because all of a class are dealt. Which roles were trained was
not published, nor for how many rounds: these are drawn once, and have 600 as in the authors' programs; their
windows begin every five characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unalike.data.sources.files import local
from unalike.typing import Float64s

from ..study import Claim, Effort, at_most, at_published_effort
from ..trainings import Trainings
from .data import Curve, learn, one_class_each, roles
from .training import ONE_CLASS, one_class_claims

IMAGES, ROUNDS = 50_000, 600
DIGIT_RUNS, ROLE_RUNS, ROLES, CHARACTERS = 3, 30, 10, 80
SCHEMES = ("md", "uniform", "clustered-size")
ORDERS = {
    "equal": (("uniform", "md"), ("clustered-size", "md")),
    "data": (("md", "uniform"), ("clustered-size", "md")),
}
"""Which scheme ends lower than which, by how much clients count."""


@at_published_effort("sampling", "CS-12")
def digit_claims(effort: Effort) -> Iterator[Claim]:
    """One digit for each of a hundred clients, at full size; how many runs were published is not known."""
    count, rounds = effort.runs or DIGIT_RUNS, effort.length_of(ROUNDS, "rounds")[0]
    effort.trainings.expect(count * len(ONE_CLASS))
    problems = [one_class_each(seed, False, IMAGES, rounds) for seed in range(count)]
    yield from one_class_claims([replace(problem, trainings=effort.trainings) for problem in problems], False)


@at_published_effort("sampling", "CS-15")
def role_claims(effort: Effort) -> Iterator[Claim]:
    """Ten roles of Shakespeare that count the same, or by what they say; where the file is there."""
    if local("shakespeare_roles.json.gz") is None:
        return
    (runs, few), (rounds, short) = effort.runs_of(ROLE_RUNS), effort.length_of(ROUNDS, "rounds")
    effort.trainings.expect(len(ORDERS) * len(SCHEMES) * runs)
    for importance in ORDERS:
        yield from importance_claims(importance, runs, rounds, f"{few}, {short}", effort.trainings)


def importance_claims(
    importance: str, runs: int, rounds: int, note: str, trainings: Trainings, characters: int = CHARACTERS
) -> Iterator[Claim]:
    """The schemes' training losses in the end, run by run."""
    problem = replace(roles(ROLES, importance, 0, rounds, characters), trainings=trainings)
    cut = "" if characters == CHARACTERS else f", windows of {characters} characters, not {CHARACTERS}"
    ends = {name: [learn(problem, name, ROLES // 2, seed) for seed in range(runs)] for name in SCHEMES}
    id, words = ("CS-14", "equal roles") if importance == "equal" else ("CS-15", "roles by what they say")
    for ours, other in ORDERS[importance]:
        ratios = end_ratios(ends[ours], ends[other])
        yield at_most(
            id,
            f"Shakespeare, {words}: training loss of {ours} over {other}'s in the end, mean of runs",
            [float(ratios.mean())],
            1.0,
            hard=False,
            published="it outperforms",
            place="section 2.4",
            note=f"below 1 in {int((ratios < 1).sum())} runs; {note}{cut}",
        )


def end_ratios(ours: Sequence[Curve], other: Sequence[Curve]) -> Float64s:
    """Losses in the end of one scheme over another's, run by run."""
    return np.array([a.end / b.end for a, b in zip(ours, other, strict=True)])
