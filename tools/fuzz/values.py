"""Which values break programs?  (Numbers, texts and bytes that fuzzers draw from.)"""

from __future__ import annotations

import random
from typing import Any

NUMBERS = [0, 1, -1, 2, 3, 7, 1000, 2**31, 2**62, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1.5, 1e-320, 1e-9]
NUMBERS += [1e9, 1e30, 1e308, -1e308, float("inf"), float("-inf"), float("nan")]
TEXTS = [
    "",
    " ",
    "0",
    "-1",
    "nan",
    "inf",
    "none",
    "null",
    "true",
    "a,b",
    "x:1,2",
    "dirichlet:0.3",
    "../outside",
]
TEXTS += [
    "../outside/precious.txt",
    "/etc/passwd",
    "=1+1",
    "\t",
    "a\nb",
    "ä",
    "\u202e",
    "💥",
    "A" * 3000,
    "%s",
    "{}",
]
TEXTS += ["sql:SELECT 1", "sql:SELECT * FROM read_text('/etc/passwd')", "jsonl:../outside/precious.txt"]
TEXTS += [
    "folder:.",
    "folder:/",
    ".",
    "..",
    "/dev/zero",
    "/dev/stdin",
    "$(touch x)",
    "`x`",
    "[bold]x[/bold]",
    "x" * 255,
]


def any_number(rng: random.Random) -> Any:
    """A number, often an extreme one."""
    if rng.random() < 0.6:
        return rng.choice(NUMBERS)
    return rng.choice([rng.randint(-5, 50), rng.uniform(-2, 2), 10 ** rng.uniform(-8, 8)])


def any_value(rng: random.Random) -> Any:
    """A value of any type that TOML has."""
    kind = rng.random()
    if kind < 0.4:
        return any_number(rng)
    if kind < 0.75:
        return rng.choice(TEXTS)
    if kind < 0.85:
        return rng.choice([True, False])
    if kind < 0.93:
        return [any_number(rng) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["a", "weight", "", "x y"]): any_number(rng)}


def mutate(rng: random.Random, content: bytes, most: int = 4) -> bytes:
    """Bytes with some flipped, cut, repeated or inserted."""
    found = bytearray(content)
    for _ in range(rng.randint(1, most)):
        place = rng.randrange(len(found)) if found else 0
        kind = rng.choice(["flip", "cut", "repeat", "insert", "drop"])
        if kind == "flip" and found:
            found[place] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del found[place:]
        elif kind == "repeat":
            found[place:place] = found[place : place + rng.randint(1, 200)] * rng.randint(1, 3)
        elif kind == "insert":
            found[place:place] = rng.choice(TEXTS).encode()[:50] + bytes([rng.randrange(256)])
        else:
            del found[place : place + rng.randint(1, 40)]
    return bytes(found)
