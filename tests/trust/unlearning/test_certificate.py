"""Does a certificate say what is promised, and no more?"""

import json

import numpy as np
import pytest

from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.certificate import Assumption, certify, model_digest
from unalike.trust.unlearning.oracle import Node
from unalike.trust.unlearning.requests import Request, RequestLog


def request(**changes):
    given = {
        "number": 1,
        "names": ("ann", "bob"),
        "clients": (3, 4),
        "budget": Budget(0.5, 0.01, 0.2),
        "rule": "max",
        "mode": "full",
        "nodes": (Node(0, 7),),
        "sensitivities": (0.01, 0.02),
        "noises": 1,
        "rounds_before": 20,
        "rounds": 20,
        "stop_at": None,
        "digest_before": None,
        "asked_at": "2024-01-01T00:00:00+00:00",
    }
    return Request(**{**given, **changes})


def certificate(*assumptions, **changes):
    return certify(request(**changes), 2, assumptions, "abc", 9)


def test_one_broken_assumption_makes_it_a_heuristic():
    assert certificate(Assumption("convex", True)).label == "proven"
    assert certificate(Assumption("convex", False), Assumption("draws", None)).label == "heuristic"
    assert certificate(Assumption("draws", None)).label == "conditional"
    assert certificate(budget=Budget(1.0, 0.01, 0.2, "classic")).label == "heuristic"


def test_several_noises_add_up():
    assert certificate(noises=3).guarantee.startswith("(1.5, 0.03)-unlearning")
    assert "3 noises" in certificate(noises=3).composition


def test_groups_are_promised_together_and_others_alone():
    assert "together" in certificate(rule="group").guarantee
    assert "alone" in certificate().guarantee


def test_where_training_restarted_is_not_told(tmp_path):
    certificate().save(tmp_path / "certificate.json")
    words = json.loads((tmp_path / "certificate.json").read_text())
    assert not {"nodes", "restart", "rounds_kept", "rounds_before"} & set(words)
    assert words["sensitivities"] == {"ann": 0.01, "bob": 0.02}


def test_who_never_contributed_is_told_so():
    assert "never contributed" in certificate(sensitivities=(0.0, 0.0)).guarantee


def test_a_digest_sees_every_number_name_and_shape():
    trees = [
        {"w": np.zeros(4)},
        {"v": np.zeros(4)},
        {"w": np.zeros((2, 2))},
        {"w": np.array([0, 0, 0, 1e-9])},
    ]
    assert len({model_digest(tree) for tree in trees}) == 4


def test_the_journal_reads_what_it_wrote(tmp_path):
    log = RequestLog(tmp_path)
    log.write(request())
    log.advance(log.requests[0], "started")
    log.write(request(number=2, clients=(5,), names=("eve",), sensitivities=(0.0,)))
    again = RequestLog(tmp_path)
    assert again.requests == log.requests
    assert again.forgotten == (3, 4, 5)
    assert again.pending == again.requests[1]


@pytest.mark.parametrize("words", ["{}", "[", '{"requests": [{"number": 1}]}'])
def test_a_damaged_journal_is_said_to_be_one(tmp_path, words):
    (tmp_path / "requests.json").write_text(words)
    with pytest.raises(Exception, match="damaged"):
        RequestLog(tmp_path)
