"""Does a node give up what takes too long or too much, and end when it is told to, whatever it computes?"""

import json
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip("flwr")

from unalike.deploy.client import bounded_process
from unalike.deploy.client.bounded_process import BoundedProcess, RequestLimits, can_fork
from unalike.deploy.transport.messages import WireMessage

HOSTILE = """
import json, os, signal, sys, threading
import numpy as np
from unalike.deploy.client.bounded_process import BoundedProcess, RequestLimits
from unalike.deploy.transport.messages import WireMessage
from unalike.errors import DataError, UnalikeError

def answer(request):
    if request.kind == "long":
        return WireMessage("answer", {"n": len(str(7 ** 10 ** 8))})  # minutes in which no signal is seen
    if request.kind == "large":
        kept = [np.ones(10**7) for _ in range(10_000)]
    if request.kind == "raise":
        raise ZeroDivisionError("patient 17")
    if request.kind == "refuse":
        raise DataError("no such column.")
    if request.kind == "end":
        os._exit(3)
    return WireMessage("answer", {"twice": 2 * request.numbers["n"]}, {"x": request.arrays["x"] + 1})

stop, log = threading.Event(), []
signal.signal(signal.SIGTERM, lambda *_: stop.set())
process = BoundedProcess(answer, RequestLimits(float(sys.argv[2]), 1_000), stop, log.append)
found = []
for kind in sys.argv[1].split(","):
    print("asking", kind, flush=True)
    try:
        given = process(WireMessage(kind, {"n": 21}, {"x": np.arange(3.0)}))
        found.append([kind, given.kind, {k: v for k, v in given.numbers.items() if k != "protocol"}])
    except UnalikeError as error:
        found.append([kind, "error", str(error)])
process.close()
print(json.dumps([found, log]))
"""


def asked(kinds, seconds):
    printed, _ = started(kinds, seconds).communicate(timeout=120)
    return json.loads(printed.splitlines()[-1])


def started(kinds, seconds):
    command = [sys.executable, "-c", HOSTILE, kinds, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")
def test_a_request_that_takes_too_much_is_refused_and_the_node_answers_the_next():
    slow, _ = asked("plain,long,plain", 1)
    rest, log = asked("large,plain,raise,refuse,end,plain", 1_000)
    found = [*slow, *rest]
    answers = {kind: (what, said) for kind, what, said in found}
    assert [one for one in found if one[0] == "plain"] == [["plain", "answer", {"twice": 42}]] * 4
    assert answers["long"][0] == answers["large"][0] == answers["end"][0] == "refusal"
    assert "--time-limit" in answers["long"][1]["reason"]
    assert "--memory-limit" in answers["large"][1]["reason"]
    assert answers["refuse"] == ("refusal", {"reason": "no such column."})
    assert answers["raise"] == (
        "error",
        "the node's app raised ZeroDivisionError; the node's log says more.",
    )
    assert any("patient 17" in line for line in log)  # the owner reads it; the server does not
    assert "patient 17" not in json.dumps(found)


@pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_busy_node_ends_when_it_is_told_to_and_leaves_no_process(how):
    process = started("long", 10_000)
    assert process.stdout.readline() == "asking long\n"
    process.send_signal(how)
    printed, _ = process.communicate(timeout=60)  # ends of all processes that hold the pipe
    if how == signal.SIGTERM:
        assert json.loads(printed)[0] == [["long", "error", "the node stops."]]


def test_without_fork_requests_are_answered_in_the_nodes_own_process(monkeypatch):
    monkeypatch.setattr(bounded_process, "can_fork", lambda: False)
    process = BoundedProcess(lambda request: request, RequestLimits(), threading.Event(), print)
    assert process(WireMessage("echo")) == WireMessage("echo")
    process.close()
