"""Which models can be asked for by name?"""

from __future__ import annotations

from ..registry import Registry
from .task import Model

models: Registry[Model] = Registry("model")
