"""Where it runs: the plan on the host, the work in XLA, or one client at a time for debugging."""

from .base import (
    Engine,
    OneProcess,
    Outcome,
    Part,
    Report,
    Setting,
    Told,
    engines,
    message_template,
    reply_template,
    root_key,
)
from .debug import ClientError, DebugEngine
from .local import LocalEngine
from .memories import Memories
from .on_ray import RayEngine
from .rows import Selection, Stream
from .uploads import fault
from .watch import WATCHED

__all__ = [
    "WATCHED",
    "ClientError",
    "DebugEngine",
    "Engine",
    "LocalEngine",
    "Memories",
    "OneProcess",
    "Outcome",
    "Part",
    "RayEngine",
    "Report",
    "Selection",
    "Setting",
    "Stream",
    "Told",
    "engines",
    "fault",
    "message_template",
    "reply_template",
    "root_key",
]
