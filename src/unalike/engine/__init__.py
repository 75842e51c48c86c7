"""Where it runs: the plan on the host, the work in XLA, or one client at a time for debugging."""

from ..aggregation.observed_updates import WATCHED
from ..aggregation.upload_checks import fault
from ..algorithms import Messages
from .base import Engine, Outcome, Part, Report, Setting, engine_registry, root_key
from .blocks import Block, BlockLimits
from .debug import ClientError, DebugEngine
from .local.engine import LocalEngine
from .memories import Memories
from .ray.engine import RayEngine
from .reply_shapes import message_template, reply_template

__all__ = [
    "WATCHED",
    "Block",
    "BlockLimits",
    "ClientError",
    "DebugEngine",
    "Engine",
    "LocalEngine",
    "Memories",
    "Messages",
    "Outcome",
    "Part",
    "RayEngine",
    "Report",
    "Setting",
    "engine_registry",
    "fault",
    "message_template",
    "reply_template",
    "root_key",
]
