from .base import Engine, Outcome, Part, Report, Setting, engine_registry, root_key
from .blocks import Block, BlockLimits
from .debug import ClientError, DebugEngine
from .local.engine import LocalEngine
from .memories import Memories
from .ray.engine import RayEngine
from .reply_shapes import message_template, reply_template

__all__ = [
    "Block",
    "BlockLimits",
    "ClientError",
    "DebugEngine",
    "Engine",
    "LocalEngine",
    "Memories",
    "Outcome",
    "Part",
    "RayEngine",
    "Report",
    "Setting",
    "engine_registry",
    "message_template",
    "reply_template",
    "root_key",
]
