"""What a fit was made with."""

import platform

import numpy as np
import scipy
import sklearn

import isotopic
from isotopic._core import native
from isotopic.threads import available_cores


def software() -> dict[str, str]:
    """Give versions, instruction set and threads."""
    return {
        "isotopic": isotopic.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
        "core": f"{native.level()} (available: {', '.join(native.levels())})",
        "threads": str(available_cores()),
    }
