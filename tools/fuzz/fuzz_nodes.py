"""Requests to a node: hostile questions about its table, and hostile jobs, answered by the node's own code.

A node answers, or refuses with a reason; it never raises, hangs, or writes outside its folder. What an answer
may tell is tested elsewhere (`tests/deploy/test_disclosure_attacks.py`).
"""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from harness import main
from values import TEXTS, any_number, any_value
from verdicts import Answer, CaseError

KINDS = ["question"] * 5 + ["rows"] * 2 + ["train"] * 4 + ["evaluate", "introduce", "nothing", ""]
ABOUT = ["columns", "cells", "bins", "products", "moments"] * 3 + ["nothing", ""]
COLUMNS: list[Any] = [
    ["age"],
    ["age", "income"],
    ["name", "hiv"],
    ["sex"],
    [],
    7,
    None,
    "age",
    ["nothing"],
    [["age"]],
]
COLUMNS += [["age"] * 20_000, ["age", "age"], [""], [3], {"age": 1}]
WORDS: list[Any] = [["f", "m"], [], None, 7, "f", ["x"] * 200_000, [["f"]], [1.5], {"f": 1}]
FORMULAS = [
    "income ~ age",
    "sick ~ age + C(sex)",
    "income ~ I(2*exp(-1000*(age-57)**2))",
    "income ~ nothing",
    "",
    "~",
]
FORMULAS += ["income ~ " + "*".join(f"I(age+{i})" for i in range(22)), "income ~ (age+sick)**100000000"]
FORMULAS += ["income ~ C(age, levels=[0]*400000000)", "income ~ `__import__('os')`", "income ~ bs(age, df=5)"]


class Fuzzer:
    """Draws and tries requests."""

    def draw(self, rng: random.Random) -> Any:
        """Whom to ask, and the message: a kind, numbers and arrays."""
        to = rng.choice(["table", "table", "rows"])
        more = ["train", "train", "train", "evaluate", "introduce", "nothing"]
        kind = rng.choice(KINDS if to == "table" else more)
        makers = {"question": _question, "rows": _plan}
        numbers, arrays = makers.get(kind, _table_job if to == "table" else _row_job)(rng)
        if rng.random() < 0.2:
            numbers[rng.choice([*numbers, "new"])] = any_value(rng)
        if rng.random() < 0.1:
            numbers.pop(rng.choice([*numbers, "new"]), None)
        return {"to": to, "kind": kind, "numbers": _plain(numbers), "arrays": arrays}

    def attempt(self, given: dict[str, Any]) -> Answer:
        """Ask a new node."""
        from unalike.deploy.transport.messages import WireMessage

        node = _table_node() if given["to"] == "table" else _row_node()
        arrays = {
            name: np.zeros(one["shape"], one["kind"]) + one["fill"] for name, one in given["arrays"].items()
        }
        answer = node.answer(WireMessage(given["kind"], given["numbers"], arrays))
        if not isinstance(answer, WireMessage):
            raise CaseError(f"the node answered {type(answer).__name__}")
        if answer.kind == "refusal" and not str(answer.numbers.get("reason", "")).strip():
            raise CaseError("the node refused without a reason")
        for name, array in answer.arrays.items():
            if np.asarray(array).dtype.kind == "O":
                raise CaseError(f"the node's answer has objects ({name})")
        is_refusal = answer.kind == "refusal"
        return Answer(int(is_refusal), "", str(answer.numbers["reason"]) if is_refusal else "")


def _question(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    words = {"columns": rng.choice(COLUMNS), "first": rng.choice(WORDS), "second": rng.choice(WORDS)}
    words |= {"levels": rng.choice([[0.5], [], [-1, 2], None, ["x"]]), "formula": rng.choice(FORMULAS)}
    for name in rng.sample(list(words), rng.choice([0, 0, 1, 3])):
        del words[name]
    text = (
        json.dumps(words) if rng.random() < 0.9 else rng.choice(["", "{", "[]", "null", "[" * 50_000, *TEXTS])
    )
    return {"about": rng.choice(ABOUT), "words": text}, _arrays(rng, ["edges", "points", "low", "high"])


def _plan(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    plan: dict[str, Any] = {
        **{
            "formula": rng.choice(FORMULAS),
            "words": rng.choice([{}, {"sex": ["f", "m"]}, {"age": ["x"] * 200_000}]),
            "moments": rng.choice([{}, {"age": [50, 10]}, {"age": "x"}]),
            "terms": rng.choice([[], ["age"], "age", 7]),
        },
        **{"varying": [], "gaps": rng.choice(["drop", "fill", "refuse", 3])},
    }
    for name in rng.sample(list(plan), rng.choice([0, 0, 1])):
        del plan[name]
    return {"plan": rng.choice([json.dumps(plan), json.dumps(plan), "", "[]", "7"])}, {}


def _table_job(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A Newton step that a server may ask for, perhaps with another value somewhere."""
    from unalike.deploy.analysis_config import AnalysisConfig

    formula, terms = rng.choice(
        [("income ~ age", ("Intercept", "age")), ("sick ~ age + income", ("Intercept", "age", "income"))]
    )
    objective = {"class": rng.choice(["SquaredLoss", "LogLoss"]), "width": len(terms)}
    plan = {
        "formula": formula,
        "words": {},
        "moments": {},
        "terms": list(terms),
        "varying": [],
        "gaps": "drop",
    }
    told = AnalysisConfig("abc", {"class": "Newton", "objective": objective}, plan, 0, 1, 60).write()
    point = {"kind": "float64", "shape": [len(terms)], "fill": rng.choice([0, 0, 0.1, -57e6, 1e308])}
    return _numbers(rng, told), {"message/": point, **_arrays(rng, ["edges", "memory"])}


def _row_job(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A training or an evaluation that a server may ask for, perhaps with another value somewhere."""
    from unalike.deploy.client_config import ClientConfig, client_settings
    from unalike.experiments.config import make_experiment

    names = {"algorithm": rng.choice(["fedavg", "fedprox", "scaffold", "ditto", "local"])}
    asked = make_experiment({"model": "linear", "steps": 1, "batch_size": 8, "seed": 5, **names})
    told = ClientConfig("abc", client_settings(asked), 0, 1, 1.0, 24, 10).write()
    fill = rng.choice([0, 0, 0.1, 1e30])
    sent = {name: {"kind": "float32", "shape": shape, "fill": fill} for name, shape in _shapes().items()}
    if rng.random() < 0.1:
        sent.pop(rng.choice(list(sent)))
    return {**_numbers(rng, told), "split": rng.choice(["test", "train", "x"])}, {**sent, **_extra(rng)}


def _extra(rng: random.Random) -> dict[str, Any]:
    return _arrays(rng, ["memory", "message/weight", "x"]) if rng.random() < 0.2 else {}


@functools.cache
def _shapes() -> dict[str, list[int]]:
    """The arrays of the model that nodes are sent."""
    import jax

    from unalike.deploy.client.app import add_prefix
    from unalike.experiments.build import make_federation, make_task
    from unalike.experiments.config import make_experiment

    asked = make_experiment({"data": "digits", "samples": 30, "clients": 1, "model": "linear"})
    task = make_task(asked, make_federation(asked))
    return {
        name: list(array.shape) for name, array in add_prefix("message", task.init(jax.random.key(0))).items()
    }


def _numbers(rng: random.Random, contract: str) -> dict[str, Any]:
    document = json.loads(contract)
    for _ in range(rng.choice([0, 1, 1, 2])):
        _damage(rng, document)
    numbers = {
        "contract": json.dumps(document),
        "protocol": _protocol(),
        "job": rng.choice([0, 0, -1, 2**62]),
    }
    return {**numbers, "last": -1, "round": rng.choice([0, 0, 0, 2**62, -5]), "keep": rng.choice([0, 1, -1])}


def _damage(rng: random.Random, document: dict[str, Any]) -> None:
    """Another value somewhere in a document, or a key more or less."""
    place = document
    while rng.random() < 0.7 and any(isinstance(one, dict) for one in place.values()):
        place = rng.choice([one for one in place.values() if isinstance(one, dict)])
    key = rng.choice([*place, "new"])
    if rng.random() < 0.15:
        place.pop(key, None)
    else:
        place[key] = rng.choice(
            [any_value(rng), any_number(rng), rng.choice([-1, 0, 2, 10**6, 10**12, "x", None])]
        )


def _arrays(rng: random.Random, names: list[str]) -> dict[str, Any]:
    kinds, shapes = (
        ["float64", "float32", "int32", "bool", "uint8"],
        [[], [0], [1], [2], [1, 9], [3, 3], [100_000]],
    )
    return {
        name: {"kind": rng.choice(kinds), "shape": rng.choice(shapes), "fill": rng.choice([0, 1, 57])}
        for name in rng.sample(names, rng.randint(0, min(3, len(names))))
    }


def _plain(numbers: dict[str, Any]) -> dict[str, Any]:
    """What a message can carry: numbers, texts and truths."""
    kept = {k: v if isinstance(v, int | float | str | bool) else str(v) for k, v in numbers.items()}
    return {
        k: v if not isinstance(v, float) or v == v else str(any_number(random.Random(0)))
        for k, v in kept.items()
    }


def _protocol() -> Any:
    from unalike.deploy.client_config import PROTOCOL

    return PROTOCOL


def _table_node() -> Any:
    from unalike.data.tables import Table
    from unalike.deploy.client.table_node import TableWorker

    draw, count = np.random.default_rng(4), 60
    columns = {
        "name": [f"patient {i}" for i in range(count)],
        "hiv": np.where(np.arange(count) % 3 == 0, "positive", "negative"),
        "sex": draw.choice(["f", "m"], count),
        "age": draw.integers(20, 80, count).astype(float),
        "income": draw.normal(50_000, 8_000, count).round(2),
        "sick": (draw.random(count) < 0.5).astype(float),
    }
    return TableWorker(Table.of(columns), Path("node"))


def _row_node() -> Any:
    import unalike
    from unalike.deploy.client.app import ClientWorker

    return ClientWorker(unalike.load("digits", clients=1, samples=30, partition="iid"), Path("node"))


if __name__ == "__main__":
    main("fuzz_nodes")
