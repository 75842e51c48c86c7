"""The number of terms of a formula, counted before it is expanded.

`a * b * c` has 7 terms, and 22 factors have four million: a short formula from somebody else could take a
machine's time and memory. The parser's tree of operators is small; terms are counted on it from below, those
that come twice as two, for they cost as much.
"""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError

MOST_TERMS = 2_000


def check_size(tree: Any, text: str) -> None:
    """Refuse a formula of more than MOST_TERMS terms, given the parser's tree of its operators."""
    if _terms(tree) > MOST_TERMS:
        raise ConfigError(
            f"the formula {text!r} expands to more than {MOST_TERMS:,} terms; write out the interactions "
            "that are needed, such as a:b, instead of * and **."
        )


def _terms(node: Any) -> int:
    """A bound on the terms below a node, or MOST_TERMS + 1."""
    operator = getattr(node, "operator", None)
    if operator is None:
        return 1
    if operator.symbol in ("**", "^"):
        return min(_power(_terms(node.args[0]), node.args[1]), MOST_TERMS + 1)
    parts = [_terms(part) for part in node.args]
    count = sum(parts)
    if operator.symbol in ("*", "/", ":", "in") and len(parts) == 2:
        count += parts[0] * parts[1]
    return min(count, MOST_TERMS + 1)


def _power(terms: int, exponent: Any) -> int:
    """All sequences of so many terms; of a single term there is one, which takes as many steps."""
    digits = str(getattr(exponent, "token", ""))
    times = int(digits[:9]) if digits.isdecimal() else 1
    count = 1
    for _ in range(min(times, MOST_TERMS.bit_length())):
        count *= terms
    return max(count, times)
