"""Properties of aggregator wrappers: every function is forwarded, and needs are joined."""

import inspect
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from unalike.aggregation.base import Aggregator
from unalike.aggregation.needs import AggregatorNeeds
from unalike.aggregation.wrapper import AggregatorWrapper
from unalike.core.forwarding import public_members

COMPUTED = ("needs", "stepwise", "needs_key", "hidden")
"""What follows from the needs of both, or from what the wrapper itself looks at."""


class Marked(Aggregator):
    """A rule whose every function answers with its own name."""

    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds(finish=True, observe=True)


for member in public_members(Aggregator):
    answer = (lambda name: lambda self, *args: name)(member)
    if member not in COMPUTED:
        setattr(Marked, member, answer if callable(vars(Aggregator)[member]) else property(answer))


@dataclass(frozen=True)
class Adding(AggregatorWrapper):
    rule: Aggregator = field(default_factory=Marked)
    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(measure=True)


@pytest.mark.parametrize("name", [name for name in public_members(Aggregator) if name not in COMPUTED])
def test_every_function_is_forwarded(name):
    told = getattr(Adding(), name)
    if inspect.isfunction(vars(Aggregator)[name]):
        told = told(*[None] * (len(inspect.signature(vars(Aggregator)[name]).parameters) - 1))
    assert told == name


def test_needs_are_those_of_the_rule_and_its_own():
    assert Adding().needs == AggregatorNeeds(finish=True, observe=True, measure=True)
    assert Adding().needs_key
    assert Adding().stepwise


def test_a_rule_that_observes_nothing_is_not_asked():
    assert Adding(rule=Aggregator()).observe(None, {}) == ({}, [])
