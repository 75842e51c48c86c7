"""Does a node forget what it answered when a request is given up?  (Attacks by requests that take too long.)

The process that answers is forked anew after a request that took too much. It must know the budget, the
rounds and the noise of the one before, or a server could ask for ever.
"""

import json
import threading

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.disclosure import DisclosurePolicy
from unalike.analytics.disclosure.noisy_answers import NoisePolicy
from unalike.deploy.client.bounded_process import BoundedProcess, RequestLimits, can_fork
from unalike.deploy.client.noisy_table_node import NoisyTableWorker
from unalike.deploy.client.table_node import TableWorker
from unalike.deploy.transport.messages import WireMessage

from .attacked_node import patients

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")


def question(kind, *columns):
    return WireMessage("question", {"about": kind, "words": json.dumps({"columns": list(columns)})})


def given_up(worker):
    """A process that answers, which is ended after every answer as after one that took too long."""
    process = BoundedProcess(worker.answer, RequestLimits(), threading.Event(), lambda line: None)

    def ask(request):
        answer = process(request)
        process.close()
        return answer

    return ask


def test_the_budget_of_questions_is_not_new(tmp_path):
    ask = given_up(TableWorker(patients(), tmp_path, DisclosurePolicy(maximum_questions=2)))
    kinds = [ask(question("moments", "age")).kind, ask(question("bins", "age")).kind]
    assert kinds == ["answer", "answer"]
    last = ask(question("products", "age", "income"))
    assert "budget of 2 questions" in last.numbers["reason"]


def test_leverage_counts_all_answers(tmp_path):
    node = TableWorker(patients(), tmp_path)
    ask = given_up(node)
    for other in ("income", "sick"):
        assert ask(question("products", "age", other)).kind == "answer"
    node.guard.ledger.reload()
    assert len(node.guard.ledger.designs()) == 2


def test_noise_is_not_drawn_anew(tmp_path):
    policy = NoisePolicy(epsilon=1.0, delta=1e-6, releases=5, bounds={"age": (0.0, 100.0)})
    ask = given_up(NoisyTableWorker(patients(), tmp_path, policy))
    answers = [ask(question("moments", "age")).arrays["moments"] for _ in range(3)]
    np.testing.assert_array_equal(answers, [answers[0]] * 3)
