"""Properties of algorithm wrappers: every member is forwarded, and none is forgotten."""

import inspect

import pytest

from unalike.algorithms import Algorithm, FedAvg, Needs, algorithm_registry
from unalike.algorithms.shared.wrapper import AlgorithmWrapper
from unalike.core.forwarding import public_members

OWN = ("with_noise", "prepare", "equals_local_training")
"""What a wrapper does not forward: two return a wrapper, and what it changes may be local training."""


class Marked(FedAvg):
    """A method whose every member answers with its own name."""


for member in public_members(Algorithm):
    answer = (lambda name: lambda self, *args, **kwargs: name)(member)
    setattr(Marked, member, answer if callable(vars(Algorithm)[member]) else property(answer))


@pytest.mark.parametrize("name", [name for name in public_members(Algorithm) if name not in OWN])
def test_every_member_is_forwarded(name):
    told = getattr(AlgorithmWrapper(inner=Marked()), name)
    if inspect.isfunction(vars(Algorithm)[name]):
        count = len(inspect.signature(vars(Algorithm)[name]).parameters) - 1
        told = told(*[None] * count)
    assert told == name


def test_what_is_not_forwarded_is_known():
    defined = {name for name in public_members(Algorithm) if name in vars(AlgorithmWrapper)}
    assert defined | set(OWN) == set(public_members(Algorithm))


@pytest.mark.parametrize("name", sorted(algorithm_registry))
def test_a_wrapped_method_needs_what_it_needs_alone(name):
    method = algorithm_registry.make(name)
    wrapped = AlgorithmWrapper(inner=method, work=method.work)
    assert wrapped.needs == method.needs
    assert (wrapped.name, wrapped.personalized, wrapped.decentralized, wrapped.takes_state) == (
        method.name,
        method.personalized,
        method.decentralized,
        method.takes_state,
    )


def test_needs_are_joined():
    joined = Needs(uploads=True) | Needs(float64=True)
    assert joined == Needs(uploads=True, float64=True)
    assert joined | Needs() == joined
