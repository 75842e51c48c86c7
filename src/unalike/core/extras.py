"""Optional dependencies: is one installed, and what should the user install?

Libraries that only some need are extras of the package. Each is imported here, at the moment it is needed,
so that a missing one is one sentence that says what needs it and how to install it.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from ..errors import ConfigError, UnalikeError

LIBRARIES = {
    "ray": "Ray",
    "flower": "Flower",
    "privacy": "dp-accounting",
    "faiss": "FAISS",
    "parquet": "PyArrow",
    "flax": "Flax",
    "equinox": "Equinox",
    "drift": "river",
    "analytics": "formulaic",
    "sql": "DuckDB",
    "notebook": "pandas",
    "tensorboard": "tensorboardX",
    "mlflow": "MLflow",
    "wandb": "Weights & Biases",
    "tune": "Optuna",
    "onnx": "ONNX",
    "torch": "PyTorch",
}
"""What each extra installs, by the name that people know."""


def import_extra(
    module: str, extra: str, purpose: str, error: type[UnalikeError] = ConfigError, hint: str = ""
) -> ModuleType:
    """A module of an extra, or an error that says what `purpose` needs.

    >>> import_extra("no_such_module", "ray", "this example")
    Traceback (most recent call last):
    ...
    unalike.errors.ConfigError: this example needs Ray, which is not installed; install it with pip install
    '.[ray]' in the folder of Unalike's source.
    """
    try:
        return importlib.import_module(module)
    except ImportError as reason:
        raise error(_sentence(module, extra, purpose, reason) + f"{hint}.") from None


def check_extra(module: str, extra: str, purpose: str) -> None:
    """Nothing, if the module could be imported; otherwise the error of :func:`import_extra`."""
    if not is_installed(module):
        raise ConfigError(_sentence(module, extra, purpose) + ".")


def is_installed(module: str) -> bool:
    """Whether there is a top-level module of that name, without importing it.

    >>> is_installed("numpy"), is_installed("no_such_module")
    (True, False)
    """
    return importlib.util.find_spec(module) is not None


def install_command(extra: str) -> str:
    """How to install an extra.

    >>> print(install_command("ray"))
    pip install '.[ray]' in the folder of Unalike's source
    """
    return f"pip install '.[{extra}]' in the folder of Unalike's source"


def _sentence(module: str, extra: str, purpose: str, reason: ImportError | None = None) -> str:
    needs = f"{purpose} needs {LIBRARIES[extra]}, which"
    missing = reason is None or (reason.name or "").partition(".")[0] == module.partition(".")[0]
    if missing:
        return f"{needs} is not installed; install it with {install_command(extra)}"
    return f"{needs} cannot be imported ({reason}); install it again with {install_command(extra)}"
