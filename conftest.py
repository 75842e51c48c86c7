"""Tests compile hundreds of small programs and run each a few times: compiling must be quick, not running."""

import importlib.util
import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

WITHOUT = {"flwr": "src/unalike/deploy/*", "ray": "src/unalike/engine/ray_*"}
"""Modules that cannot be imported without an extra."""
collect_ignore_glob = [files for extra, files in WITHOUT.items() if importlib.util.find_spec(extra) is None]
