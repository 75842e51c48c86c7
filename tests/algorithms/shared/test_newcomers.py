"""Do personalized methods keep the contract, survive a crash, and count the bytes that they send?

Methods that the catalog's own contract test can make from their name are checked there.
"""

from dataclasses import replace

import pytest

from unalike.algorithms import LocalWork
from unalike.algorithms.apfl import APFL
from unalike.algorithms.ditto import Ditto
from unalike.algorithms.fedbn import FedBN
from unalike.algorithms.fedper import FedPer
from unalike.algorithms.fedrep import FedRep
from unalike.algorithms.l2sgd import L2SGD
from unalike.algorithms.per_fedavg import PerFedAvg
from unalike.algorithms.pfedme import PFedMe, PFedMeSimple
from unalike.core import pytrees
from unalike.testing import everything

from .. import naive
from ..personalized import COHORTS, WORK, federation, trained

WHOLE, BODY, NUMBER = 4 * 15, 4 * 12, 4
METHODS = [
    (Ditto(work=WORK, lam=0.7, personal_learning_rate=0.05), WHOLE, WHOLE),
    (APFL(work=WORK, alpha=0.6, adaptive=True), WHOLE, WHOLE),
    (PFedMe(work=WORK, lam=1.5, eta=0.4, steps=3, beta=0.6), WHOLE, WHOLE),
    (PFedMeSimple(work=WORK, lam=0.7), WHOLE, WHOLE + NUMBER),
    (L2SGD(work=WORK, lam=3.0, p=0.5), WHOLE + 2 * NUMBER, WHOLE + NUMBER),
    (PerFedAvg(work=WORK, alpha=0.4, delta=0.05), WHOLE, WHOLE),
    (FedPer(work=WORK, private="b"), BODY, BODY),
    (FedBN(work=WORK, private="b"), BODY, BODY),
    (
        FedRep(work=WORK, private="b", head_epochs=4, head_learning_rate=0.2, newcomer_epochs=3),
        BODY,
        BODY,
    ),
]
NAMES = [method.name for method, _, _ in METHODS]


@pytest.mark.parametrize(("method", "down", "up"), METHODS, ids=NAMES)
def test_a_client_is_sent_and_sends_what_the_method_says(method, down, up):
    metrics = trained(method).metrics()
    assert metrics["bytes_down"][1:].tolist() == [2 * down] * 2
    assert metrics["bytes_up"][1:].tolist() == [2 * up] * 2


@pytest.mark.exact
@pytest.mark.parametrize("method", [method for method, _, _ in METHODS], ids=NAMES)
def test_a_run_that_crashed_goes_on_as_if_it_had_not(method, tmp_path):
    def crash(report, _):
        if report.round == 3:
            raise ZeroDivisionError

    def train(out, **options):
        return naive.train(
            federation(),
            naive.task(),
            method,
            4,
            participation=naive.Fixed(*COHORTS, *COHORTS),
            checkpoint_every=2,
            out=tmp_path / out,
            **options,
        )

    with pytest.raises(ZeroDivisionError):
        train("crashed", observer=crash)
    resumed, whole = train("crashed", resume=True), train("whole")
    assert pytrees.largest_difference(everything(resumed), everything(whole)) == 0
    assert (tmp_path / "crashed/model.safetensors").read_bytes() == (
        tmp_path / "whole/model.safetensors"
    ).read_bytes()


def test_every_personal_method_names_values_that_are_worth_trying_and_allowed():
    for method, _, _ in METHODS:
        for name, values in method.grid.items():
            for value in values:
                assert getattr(replace(method, **{name: value}), name) == value


@pytest.mark.parametrize("batch_size", [0, 3])
def test_newcomers_passes_are_planned_like_a_rounds(batch_size):
    work = LocalWork(steps=7, batch_size=batch_size, shuffle=False)
    planned = Ditto(work=work, newcomer_epochs=2).evaluation_work
    assert planned == LocalWork(epochs=2, batch_size=batch_size, shuffle=False)
