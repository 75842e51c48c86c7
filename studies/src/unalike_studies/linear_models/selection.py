"""Variable selection: lasso per device with a common penalty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.analytics.hierarchical import PenalizedRegression
from unalike.analytics.hierarchical.baselines import ols_each
from unalike.analytics.hierarchical.prediction import mean_rmse, predict_each
from unalike.typing import Float64s, Int64s

from ..study import Claim, at_most, average, matches
from .data import TABLE_3_2, selection_case, with_noise

TABLE = "Table 3.2"


def selection_claims(quick: bool) -> Iterator[Claim]:
    """LM8, and LM12: table 3.2."""
    for case in ("I",) if quick else ("I", "II", "III"):
        found = np.array([_measure(case, seed) for seed in range(1 if quick else 4)])
        error, refit, alone, formula, correct, false = found.T
        published = TABLE_3_2[case]
        words = f"selection, case {case}"
        yield average(
            "LM8", f"{words}: correct inclusion", correct.tolist(), 0.85, published=published[1], place=TABLE
        )
        yield average(
            "LM8", f"{words}: false inclusion", false.tolist(), 0.15, most=True,
            published=published[2], place=TABLE,
        )  # fmt: skip
        ratio = (error / formula).tolist()
        yield average("LM8", f"{words}: A-RMSE over the formula of least squares", ratio, 1.1, most=True)
        if case == "III":
            gain = (refit / alone).tolist()
            yield average(
                "LM8", f"{words}: A-RMSE after re-fitting over least squares", gain, 0.85, most=True
            )
        mean = float(error.mean())
        words, tolerance = f"table 3.2, case {case}: A-RMSE", 0.1 * published[0]
        yield matches("LM12", words, mean, published[0], tolerance, hard=False, place=TABLE)
        yield matches(
            "LM12", f"table 3.2, case {case}: correct inclusion", float(correct.mean()), published[1], 0.02,
            hard=False, place=TABLE, note="signals are 30 to 60 times the noise: every one of them is found",
        )  # fmt: skip


def fused_claims() -> Iterator[Claim]:
    """LM17: coefficients in blocks, as in case III of table 3.2, with noise of standard deviation 2."""
    truth, sizes = np.repeat([3.0, 0.0, 3.0], 10), np.full(20, 40)
    ratios = []
    for seed in range(3):
        design = with_noise(np.tile(truth, (len(sizes), 1)), sizes, 2.0, 100, 0.0, seed)
        fused, plain = (
            PenalizedRegression(prior=prior, draws=600, burn_in=200).fit(design, seed=seed).rmse()
            for prior in ("fused-lasso:0.2", "lasso")
        )
        ratios.append(fused / plain)
    words = f"{len(truth)} coefficients in three blocks: A-RMSE of the fused lasso over the lasso"
    note = "the text names the fused lasso and prints no number for it"
    yield at_most("LM17", words, ratios, 0.9, note=note)


def _measure(case: str, seed: int) -> tuple[float, ...]:
    """A-RMSE of posterior means, of re-fits, of least squares and by its formula; correct and false
    inclusion."""
    design, truth = selection_case(case, seed)
    model = PenalizedRegression().fit(design, seed=seed)
    kept = model.select()
    return (
        model.rmse(),
        model.rmse(refit=True),
        mean_rmse(design, predict_each(design, ols_each(design))),
        float(_formula(design.federation.train.sizes, len(truth)).mean()),
        float(kept[:, truth != 0].mean()),
        float(kept[:, truth == 0].mean()),
    )


def _formula(rows: Int64s, width: int) -> Float64s:
    """The expected root mean squared error of least squares on new rows with noise 0.05."""
    return 0.05 * np.sqrt(1 + width / (rows - width - 1))
