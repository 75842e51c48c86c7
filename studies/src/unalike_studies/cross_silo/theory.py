"""Claims without training: published center sizes, and a federated Cox fit equal to the pooled one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.analytics import CoxModel
from unalike.data import load
from unalike.data.sources.cross_silo_like import TCGA_FEATURES
from unalike.experiments.benchmark import benchmark_registry
from unalike.experiments.benchmark.strategies import pool

from ..study import Claim, at_most, matches
from .data import SIZES, available, first_columns


def theory_claims(quick: bool) -> Iterator[Claim]:
    """Sizes, rounds, and the two fits."""
    yield from size_claims()
    yield from rounds_claims()
    yield from cox_claims(quick)


def size_claims() -> Iterator[Claim]:
    """F1, on what is there."""
    for name in available({name: known.file for name, known in SIZES.items()}):
        file, sizes, inputs, printed = SIZES[name]
        rows = load(name, test_fraction=0.0)
        found = (tuple(rows.train.sizes.tolist()), rows.input_shape)
        said, measured = (", ".join(map(str, counts)) for counts in (sizes, found[0]))
        holds = found == (sizes, (inputs,))
        note = "generated with the published sizes" if file is None else "columns with gaps dropped first"
        claim, how = f"{name}: patients of every center", "162, 162 for 16 gives the 1,088 of Table 1.2"
        yield Claim(
            "F1", claim, printed or said, said, measured, holds,
            note=note, place="Table 1.2", derivation=how if printed else "",
        )  # fmt: skip


def rounds_claims() -> Iterator[Claim]:
    """The budget of rounds on 486 training patients of heart disease."""
    rounds = benchmark_registry.make("heart-disease").rounds(486, 4)
    claim = "heart-disease: rounds of 100 steps for 50 pooled epochs"
    how = "486 / 4 patients / batches of 4 * 50 epochs / 100 steps, rounded down"
    yield matches("F2", claim, rounds, 15.0, 0.0, derivation=how)


def cox_claims(quick: bool) -> Iterator[Claim]:
    """Federated and pooled coefficients, with either treatment of ties."""
    centers = first_columns(load("tcga_like", test_fraction=0.0), 6 if quick else TCGA_FEATURES)
    for ties in ("breslow", "efron"):
        apart, together = (CoxModel(ties=ties).fit(rows) for rows in (centers, pool(centers)))
        gap = float(np.max(np.abs(apart.params - together.params) / together.bse))
        yield at_most("F3", f"Cox with {ties} ties: federated less pooled, in standard errors", [gap], 1e-6)
