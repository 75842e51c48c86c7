"""Built-in models by name."""

from __future__ import annotations

from ..core.registry import Registry
from .model import Model

model_registry: Registry[Model] = Registry("model", "models")
