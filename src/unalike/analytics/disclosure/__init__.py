"""Statistical disclosure control, applied at the node."""

from .guard import DisclosureGuard
from .ledger import DisclosureLedger
from .policy import DisclosureError, DisclosurePolicy

__all__ = ["DisclosureError", "DisclosureGuard", "DisclosureLedger", "DisclosurePolicy"]
