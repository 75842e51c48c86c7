"""Formulas: sound ones put together at random, expressions that must not be evaluated, and damaged text."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from harness import main
from values import TEXTS, mutate
from verdicts import Answer, CaseError, type_in

COLUMNS = ["x", "z", "sex", "x", "z", "y", "site", "nothing", "`x`", "`import os`", "1", "0"]
CALLS = [
    "C({})",
    "log({})",
    "poly({}, degree=3)",
    "bs({}, df=4)",
    "I({}**2)",
    "scale({})",
    "center({})",
    "exp({})",
]
CALLS += [
    "C({}, contr.treatment('f'))",
    "sqrt({})",
    "abs({})",
    "log10({})",
    "cr({}, df=4)",
    "np.log({})",
    "I({}/0)",
    "hashed({}, levels=5)",
]
EVIL = [
    "__import__('os').system('touch owned')",
    "I(open('owned', 'w'))",
    "().__class__.__bases__[0]",
    "I(...)",
]
EVIL += ["I([0]*400000000)", "I('a'*3500000000)", "C(x, levels=[0]*400000000)", "(x+z)**100000000", "I(b'x')"]
EVIL += [
    "*".join(f"I(x+{i})" for i in range(22)),
    "I((lambda: 0)())",
    "I([i for i in x])",
    "I(x.__class__)",
    "I(9**9**9)",
]
EVIL += [
    "x | z",
    "(1 | site)",
    "{x}",
    "y ~ x ~ z",
    "`__import__('os')`",
    "I(x if x else z)",
    "I(f'{x}')",
    "x[0]",
    "I(x@z)",
]
OPERATORS = [" + "] * 6 + [" * ", ":", " - ", "/", " %in% ", "**2 + ", " ^ ", "~"]
ANALYSES = ["linear", "linear", "logistic", "mixed", "penalized", "hm1", "cox", "nothing"]


class Fuzzer:
    """Draws and tries formulas."""

    def draw(self, rng: random.Random) -> Any:
        """An analysis and a formula."""
        terms = [_term(rng) for _ in range(rng.randint(1, 4))]
        text = terms[0] + "".join(rng.choice(OPERATORS) + term for term in terms[1:])
        formula = f"{rng.choice(['y'] * 8 + ['x', 'sex', 'C(y)', ''])} ~ {text}"
        if rng.random() < 0.15:
            formula = mutate(rng, formula.encode()).decode("utf-8", "replace")
        return {"analysis": rng.choice(ANALYSES), "formula": formula.replace("\0", "")}

    def attempt(self, given: dict[str, str]) -> Answer | None:
        """Fit it on two small tables."""
        Path("tables").mkdir()
        for site in "ab":
            rows = [f"{i % 7 * 0.3:.1f},{(i * 5) % 11},{'fm'[i % 3 == 0]},{site},{i % 2}" for i in range(40)]
            Path("tables", f"{site}.csv").write_text("x,z,sex,site,y\n" + "\n".join(rows) + "\n")
        answer = type_in(
            ["analyze", f"{given['analysis']}: {given['formula']}", "--data", "tables", "--json"]
        )
        if Path("owned").exists():
            raise CaseError("code was executed")
        return answer


def _term(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.6:
        return rng.choice(COLUMNS)
    if draw < 0.87:
        return rng.choice(CALLS).format(rng.choice(COLUMNS[:6]))
    return rng.choice(EVIL) if draw < 0.97 else rng.choice(TEXTS)


if __name__ == "__main__":
    main("fuzz_formulas")
