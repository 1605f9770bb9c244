"""Row blocks on a Dask cluster: the engine, and the blocks of Dask collections."""

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError:
    raise ImportError("Dask is not installed: pip install 'isotopic[dask]'") from None

from isotopic.dask.collections import blocks_of, current_client
from isotopic.dask.engine import DaskEngine

__all__ = ["DaskEngine", "blocks_of", "current_client"]
