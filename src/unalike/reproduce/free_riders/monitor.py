"""Would a server notice free-riders?  (Claims on the monitor of uploads.)

F17 is the rule on honest and dishonest clients alike, F18 the free-rider that repeats the last change. They
need a monitor that looks at single uploads.
"""

from __future__ import annotations

from ..study import Claim


def monitor_claims(quick: bool) -> list[Claim]:
    """F17 and F18, once there is a monitor."""
    return []
