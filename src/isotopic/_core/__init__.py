"""The hot loops on plain arrays: the compiled core, or the same functions in NumPy.

The environment variable ``ISOTOPIC_SIMD`` chooses the instruction-set level: ``plain``, ``v2``,
``v3`` or ``v4``. The default is the highest level that this machine supports. With
``ISOTOPIC_PURE_PYTHON=1`` the package is installed without its core, and an installed core is not
used.
"""

import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("ISOTOPIC_PURE_PYTHON", "0") == "0":
    try:
        import isotopic._core._native as native
    except ModuleNotFoundError:  # any other error is that of a core which does not load
        from isotopic._core import in_numpy as native  # type: ignore[no-redef]

        warnings.warn(
            "isotopic was installed without its compiled core (ISOTOPIC_PURE_PYTHON=1) and runs on "
            "NumPy, tens of times slower. Set ISOTOPIC_PURE_PYTHON=1 to hide this warning. "
            "To install the core: pip install --force-reinstall --no-binary isotopic isotopic",
            RuntimeWarning,
            stacklevel=2,
        )
else:
    from isotopic._core import in_numpy as native

__all__ = ["native"]
