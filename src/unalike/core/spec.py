"""Specifications: a name with arguments, such as `dirichlet:0.3`.

It is a `name`, or `name:argument,argument`, where arguments are numbers or words. This is the only place
where the text is taken apart; everyone else asks a :class:`Spec` for its name, its arguments, or the text as
it was typed.
"""

from __future__ import annotations

from dataclasses import dataclass

Argument = int | float | str


@dataclass(frozen=True)
class Spec:
    """A name and its arguments, and the text that they were read from.

    >>> Spec.parse("mlp:200,200")
    Spec(name='mlp', arguments=(200, 200), text='mlp:200,200')
    >>> str(Spec.parse("dirichlet:0.30")), Spec.parse("iid").arguments
    ('dirichlet:0.30', ())
    """

    name: str
    arguments: tuple[Argument, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Take `name:a,b` apart; spaces around its parts and empty arguments mean nothing."""
        name, _, rest = text.partition(":")
        words = (word.strip() for word in rest.split(","))
        return cls(name.strip(), tuple(number_or_word(word) for word in words if word), text)

    @classmethod
    def of(cls, given: str | Spec) -> Spec:
        """A text taken apart, or what has been taken apart already."""
        return given if isinstance(given, Spec) else cls.parse(given)

    @property
    def rest(self) -> str:
        """What follows the name, in one piece: a path may hold commas."""
        return self.text.partition(":")[2]

    def __str__(self) -> str:
        return self.text


def number_or_word(text: str) -> Argument:
    """A whole number, else a number, else the text itself.

    >>> number_or_word("3"), number_or_word("3.0"), number_or_word("three")
    (3, 3.0, 'three')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
