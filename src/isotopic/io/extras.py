"""Libraries that only some formats need."""

from importlib import import_module
from typing import Any


def extra(module: str, name: str) -> Any:
    """Import a library; the error says which extra installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this format needs {module.partition('.')[0]}: pip install 'isotopic[{name}]'"
        ) from error
