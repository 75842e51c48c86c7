"""Long studies: figures of unlearning at the published effort, on MNIST and Fashion-MNIST.

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024): a hundred clients of a hundred images, ten of them a round, three requests for ten clients each, ten
seeds. The results were published in words and figures only, so that limits on numbers are ours: half of the
rounds is 0.4 to 0.75 of them, similar is nearer to scratch than to fine-tuning, and much higher is 20 points.
On Fashion-MNIST the network is that of the authors' program, without dropout; steps have no momentum, which
the text does not mention, while that program has 0.9. With the noise of every round, training with privacy
may then stay below the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unalike.experiments.unlearning_schemes import Forgetting
from unalike.trust.unlearning.sensitivity import Mode
from unalike.typing import Float64s

from ..study import Claim, Effort, at_least, at_most, at_published_effort
from .data import CLASSES, CLIENTS, FASHION, MNIST, REQUESTS, Benchmark
from .races import HONEST, REFERENCE, UNDERCOUNTS, Races, Results

CLASS_REQUESTS = [[list(range(digit, CLIENTS, CLASSES))] for digit in range(CLASSES)]
"""One request for each class."""
CHEAP = ("fine-tuning", "fedaccum", "dp")
LAST: dict[Mode, str] = {"reference": "last", "realized": "last, realized ledger"}
"""Noise on the last model, by ledger; it is not in the figure, and only its first request is repeated."""
SINGLE = ("scratch", "fine-tuning", REFERENCE)


@at_published_effort("unlearning", "F5.2-MNIST")
def mnist_claims(effort: Effort) -> Iterator[Claim]:
    """The column of MNIST, and noise on the last model, whose rounds were not plotted."""
    yield from sequence_figure("F5.2-MNIST", MNIST, effort)


@at_published_effort("unlearning", "F5.2-Fashion")
def fashion_claims(effort: Effort) -> Iterator[Claim]:
    """The column of Fashion-MNIST."""
    yield from sequence_figure("F5.2-Fashion", FASHION, effort)


@at_published_effort("unlearning", "FD.1")
def watermark_claims(effort: Effort) -> Iterator[Claim]:
    """The columns of MNIST and Fashion-MNIST where clients differ by their watermarks."""
    for benchmark in (MNIST, FASHION):
        races = Races(benchmark, [REQUESTS], effort, watermarked=True)
        races.expect()
        title, place = f"{benchmark.name} with watermarks", "Figure D.1"
        results = races.results()
        yield from report_claims("FD.1", title, results, races.note, place)
        yield from compared_claims("FD.1", title, results, races.note, place, hard=False)


@at_published_effort("unlearning", "FD.3")
def class_claims(effort: Effort) -> Iterator[Claim]:
    """One request, for each class of MNIST and Fashion-MNIST in turn."""
    for benchmark in (MNIST, FASHION):
        races = Races(benchmark, CLASS_REQUESTS, effort)
        races.expect(SINGLE, CLASSES)
        results = [races.results(number, SINGLE) for number in range(CLASSES)]
        yield from single_claims("FD.3", benchmark.name, results, races.note)


def sequence_figure(id: str, benchmark: Benchmark, effort: Effort) -> Iterator[Claim]:
    """Three requests one after the other.

    Args:
        id: the claims' id.
        benchmark: clients, model and settings.
        effort: how much of it is repeated.
    """
    races = Races(benchmark, [REQUESTS, REQUESTS[:1]], effort)
    races.expect()
    effort.trainings.expect(len(LAST))
    results, place = races.results(), "Figure 5.2"
    yield from report_claims(id, benchmark.name, results, races.note, place)
    hard = benchmark is MNIST and effort.share == 1
    yield from compared_claims(id, benchmark.name, results, races.note, place, hard)
    for mode, scheme in LAST.items():
        (last,) = races.race(scheme, 0, 1)
        yield last_claim(id, benchmark.name, last, mode, races.most)


def report_claims(id: str, title: str, results: Results, note: str, place: str) -> Iterator[Claim]:
    """Every scheme's rounds and residual accuracies, request by request.

    Args:
        id: the claims' id.
        title: what lines begin with.
        results: what every scheme came to.
        note: what is less than was published.
        place: the figure.
    """
    for scheme, seeds in results.items():
        rounds, left = rounds_of(seeds), residual_of(seeds)
        measured = f"{_means(rounds, 0)} rounds; {_means(left, 1)} %"
        words = f"{title}: {scheme}, rounds and residual accuracy by request"
        claim = Claim(id, words, "plotted", "reported", measured, True, hard=False, note=note, place=place)
        yield claim


def compared_claims(
    id: str, title: str, results: Results, note: str, place: str, hard: bool
) -> Iterator[Claim]:
    """SIFU between scratch and fine-tuning; what is cheap against scratch.

    Args:
        id: the claims' id.
        title: what lines begin with.
        results: what every scheme came to.
        note: what is less than was published.
        place: the figure.
        hard: whether the claims on SIFU and fine-tuning are.
    """
    yield ratio_claim(id, title, results, REFERENCE, f"{UNDERCOUNTS}; {note}", place, hard)
    if HONEST in results:
        words = f"the bound for the models that were averaged, expected not to hold; {note}"
        yield ratio_claim(id, title, results, HONEST, words, place, False)
    means = {scheme: float(residual_of(seeds).mean()) for scheme, seeds in results.items()}
    yield Claim(
        id,
        f"{title}: residual accuracy of SIFU, %",
        "similar to scratch, slightly higher",
        f"nearer to scratch ({means['scratch']:.1f}) than to fine-tuning ({means['fine-tuning']:.1f})",
        round(means[REFERENCE], 2),
        means[REFERENCE] - means["scratch"] < means["fine-tuning"] - means[REFERENCE],
        hard=hard,
        note=note,
        place=place,
    )
    for scheme in (name for name in CHEAP if name in results):
        firm = hard and scheme == "fine-tuning"
        yield at_least(
            id,
            f"{title}: residual accuracy of {scheme} above scratch, points",
            [means[scheme] - means["scratch"]],
            20.0,
            hard=firm,
            published="significantly higher",
            place=place,
            note=note,
        )
        yield at_most(
            id,
            f"{title}: rounds of {scheme} over scratch's",
            [float(rounds_of(results[scheme]).sum() / rounds_of(results["scratch"]).sum())],
            0.75,
            hard=False,
            published="significantly less",
            place=place,
            note=note,
        )


def ratio_claim(
    id: str, title: str, results: Results, scheme: str, note: str, place: str, hard: bool
) -> Claim:
    """Whether a scheme takes about half of the rounds of scratch.

    Args:
        id: the claim's id.
        title: what its line begins with.
        results: what every scheme came to.
        scheme: whose rounds are compared.
        note: what must be known.
        place: the figure.
        hard: whether the claim is.
    """
    each = rounds_of(results[scheme]).sum(axis=1) / rounds_of(results["scratch"]).sum(axis=1)
    ratio = float(each.mean())
    return Claim(
        id,
        f"{title}: rounds of {scheme} over scratch's",
        "roughly half",
        "0.4 to 0.75",
        round(ratio, 3),
        0.4 <= ratio <= 0.75,
        hard=hard,
        spread=float(np.ptp(each)) / 2,
        note=note,
        place=place,
    )


def single_claims(id: str, title: str, results: Sequence[Results], note: str) -> Iterator[Claim]:
    """The same picture for every single request.

    Args:
        id: the claims' id.
        title: what lines begin with.
        results: what every scheme came to, for every request.
        note: what is less than was published.
    """
    left = {s: np.array([residual_of(one[s]).mean() for one in results]) for s in SINGLE}
    rounds = {s: np.array([rounds_of(one[s]).mean() for one in results]) for s in SINGLE}
    near = left[REFERENCE] - left["scratch"] < left["fine-tuning"] - left[REFERENCE]
    fewer = rounds[REFERENCE] < rounds["scratch"]
    for words, verdicts, values in (
        ("residual accuracy of SIFU is nearer to scratch than to fine-tuning", near, left),
        ("SIFU takes fewer rounds than scratch", fewer, rounds),
    ):
        shown = "; ".join(f"{scheme} {_row(values[scheme], 0)}" for scheme in SINGLE)
        yield at_least(
            id,
            f"{title}: requests of {len(results)} for which {words}",
            [float(verdicts.sum())],
            float(len(results)),
            hard=False,
            published="for each class",
            place="Figure D.3",
            note=f"{shown}; {UNDERCOUNTS}; {note}",
        )


def last_claim(id: str, title: str, last: Forgetting, mode: Mode, most: int) -> Claim:
    """Whether noise on the last model can be trained away; how much it is follows from the ledger.

    Args:
        id: the claim's id.
        title: what its line begins with.
        last: what the first request of the first seed came to.
        mode: the ledger.
        most: rounds after which training was given up.
    """
    return Claim(
        id,
        f"{title}: rounds of last, first request of the first seed, {mode} ledger",
        "not reached in 10,000",
        f">= {most}",
        float(last.rounds),
        last.rounds >= most,
        hard=False,
        note=f"noise of {last.noise:.3g}; utility {100 * last.utility:.1f} %, "
        f"residual accuracy {100 * last.residual:.1f} %",
        place="section 5.5.2",
    )


def rounds_of(seeds: Sequence[Sequence[Forgetting]]) -> Float64s:
    """Rounds by seed and request."""
    return np.array([[float(one.rounds) for one in seed] for seed in seeds])


def residual_of(seeds: Sequence[Sequence[Forgetting]]) -> Float64s:
    """Residual accuracy by seed and request, in percent."""
    return 100 * np.array([[one.residual for one in seed] for seed in seeds])


def _means(table: Float64s, digits: int) -> str:
    """The means over seeds of every request."""
    return _row(table.mean(axis=0), digits)


def _row(values: Float64s, digits: int) -> str:
    return "/".join(f"{value:.{digits}f}" for value in values)
