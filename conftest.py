"""Tests compile hundreds of small programs and run each a few times: compiling must be quick, not running."""

import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()
