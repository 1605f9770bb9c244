"""The hot loops on plain arrays: the compiled core, or the same functions in NumPy.

The environment variable ``ISOTOPIC_SIMD`` chooses the instruction-set level: ``plain``, ``v2``,
``v3``, ``v4``, or ``numpy`` for no compiled code at all. The default is the highest level that this
machine supports.
"""

import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("ISOTOPIC_SIMD") != "numpy":
    try:
        from isotopic._core import _native as native
    except ImportError:
        from isotopic._core import in_numpy as native  # type: ignore[no-redef]

        warnings.warn(
            "isotopic was installed without its compiled core and runs on NumPy, tens of times "
            "slower. Install a C++20 compiler (GCC 9+ or Clang 10+), then: "
            "pip install --force-reinstall --no-binary isotopic isotopic",
            RuntimeWarning,
            stacklevel=2,
        )
else:
    from isotopic._core import in_numpy as native

__all__ = ["native"]
