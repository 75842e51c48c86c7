"""A node with a table of patients, and the messages of a server that chooses its questions."""

import json

import numpy as np

from unalike.analytics.model_matrix import Plan
from unalike.data.tables import Table
from unalike.deploy.analysis_config import AnalysisConfig
from unalike.deploy.client.app import add_prefix
from unalike.deploy.client_config import PROTOCOL
from unalike.deploy.transport.messages import WireMessage

ROWS, MINIMUM = 60, 5


def patients(missing=0):
    rng = np.random.default_rng(4)
    age = np.concatenate([[57.0], rng.choice(np.setdiff1d(np.arange(20.0, 80.0), [57.0]), ROWS - 1)])
    columns = {
        "name": [f"patient {i}" for i in range(ROWS)],
        "hiv": np.where(np.arange(ROWS) % 3 == 0, "positive", "negative"),
        "sex": rng.choice(["f", "m"], ROWS),
        "age": age,
        "income": rng.normal(50_000, 8_000, ROWS).round(2),
        "sick": (rng.random(ROWS) < 0.5).astype(float),
    }
    columns["age"][1 : 1 + missing] = np.nan
    return Table.of(columns)


def ask(node, kind, arrays=None, **words):
    request = WireMessage("question", {"about": kind, "words": json.dumps(words)}, arrays or {})
    answer = node.answer(request)
    if answer.kind == "refusal":
        return None, answer.numbers["reason"]
    return json.loads(answer.numbers["words"]), answer.arrays


def plan_of(formula, terms, **changes):
    given = {"words": {}, "moments": {}, "varying": (), "missing": "drop", **changes}
    return Plan(formula, given["words"], given["moments"], terms, given["varying"], given["missing"])


def agree(node, plan):
    return node.answer(WireMessage("rows", {"plan": json.dumps(plan.write())}))


def step(node, plan, objective, point, round=0, **method):
    newton = {"class": "Newton", "objective": {"class": objective, "width": len(point)}, **method}
    contract = AnalysisConfig("abc", newton, plan.write(), 0, 1, ROWS).write()
    return train(node, contract, np.asarray(point, np.float64), round)


def train(node, contract, message, round=0):
    place = {"job": round, "last": -1, "round": round, "keep": 0}
    numbers = {"contract": contract, "protocol": PROTOCOL, **place}
    return node.answer(WireMessage("train", numbers, add_prefix("message", message)))


def refused(answer, rule):
    assert answer.kind == "refusal", answer
    assert rule in answer.numbers["reason"]
    return True


PLAN = plan_of("sick ~ age + income", ("Intercept", "age", "income"))
