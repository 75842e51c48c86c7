"""Is every strategy given the same pairs of rates, and is the lead that of paired runs?"""

import numpy as np
import pytest

from unalike.data import load
from unalike.reproduce.availability.data import Rates, lesson_of
from unalike.reproduce.availability.published import MNIST, OURS, RIVALS, SYNTHETIC, Contest, contest_claims

TINY = Contest(
    "tiny",
    lambda seed: lesson_of(load("gaussians:2,3,3", clients=4, samples=40, seed=seed)),
    (1.0,),
    1.0,
    dict.fromkeys((OURS, *RIVALS), "1/1"),
)


def test_grids_are_the_published_ones():
    assert (len(SYNTHETIC.grid), len(MNIST.grid)) == (48, 42)


@pytest.fixture(scope="module")
def claims():
    return list(contest_claims(TINY, 1, "1 run where 10 were published", rounds=2, grid=[Rates(0.1, 1.0)]))


def test_every_strategy_has_a_line_and_what_was_scaled_down_is_said(claims):
    assert len(claims) == 1 + len(RIVALS) + 2
    assert all("where 10 were published" in claim.note for claim in claims)
    assert not any(claim.hard for claim in claims)


def test_the_lead_is_the_difference_of_the_lines(claims):
    ends = {
        claim.claim.split(": ")[1].split(",")[0]: float(claim.measured.split()[0]) for claim in claims[:5]
    }
    assert claims[-2].measured == pytest.approx(ends[OURS] - ends["adafed"], abs=0.02)
    assert np.isfinite(claims[-1].measured)
