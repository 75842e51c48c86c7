"""Tests compile hundreds of small programs and run each a few times: compiling must be quick, not running."""

import importlib.util
import os
from importlib.metadata import version

QUICKLY = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith("0.10."):  # a flag that XLA does not know ends the process
    QUICKLY.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *QUICKLY]).strip()

WITHOUT = {"flwr": "src/unalike/deploy/*", "ray": "src/unalike/engine/ray_*"}
"""Modules that cannot be imported without an extra."""
collect_ignore_glob = [files for extra, files in WITHOUT.items() if importlib.util.find_spec(extra) is None]
