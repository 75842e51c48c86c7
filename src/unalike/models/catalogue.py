"""Which models can be asked for by name?"""

from __future__ import annotations

from ..core.registry import Registry
from .task import Model

model_registry: Registry[Model] = Registry("model")
