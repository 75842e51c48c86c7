"""Checks of names received from others: labels, columns, targets.

Names are shown to people and sent on with every request, so there is a limit to their number and length, and
none may hold what a terminal would obey or a file could not keep.
"""

from __future__ import annotations

from ..core.control_characters import has_hidden_letters
from ..data.files.agreement import LONGEST_LABEL
from .transport.messages import MessageError

MOST_NAMES, MOST_LETTERS = 10**5, 2**20
"""More names, or more characters in all of them, are refused."""
LONGEST_COLUMN = 1000
_LAYOUT = str.maketrans("\t\n\r", "   ")
"""Headers of spreadsheets are spread over lines; pages and logs show these as blanks."""

Names = tuple[str, ...]


def read_names(given: object, what: str, longest: int = LONGEST_LABEL) -> Names | None:
    """Names as they were sent, or None where there are none; anything else is refused.

    >>> read_names(["ill", "well"], "labels"), read_names(None, "labels")
    (('ill', 'well'), None)
    """
    if given is None:
        return None
    if not isinstance(given, list | tuple) or len(given) > MOST_NAMES:
        raise MessageError(f"the {what} must be a list of at most {MOST_NAMES} names.")
    names = tuple(read_name(name, what, longest) for name in given)
    if sum(map(len, names)) > MOST_LETTERS:
        raise MessageError(f"the {what} have names of more than {MOST_LETTERS} characters in all.")
    return names


def read_name(given: object, what: str, longest: int = LONGEST_COLUMN) -> str:
    """One name."""
    if not isinstance(given, str) or not 0 < len(given) <= longest:
        raise MessageError(f"the {what} must have names of 1 to {longest} characters.")
    if has_hidden_letters(given.translate(_LAYOUT)):
        raise MessageError(f"the {what} have a name with control characters ({given[:40]!a}).")
    return given
