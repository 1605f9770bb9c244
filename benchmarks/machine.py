"""What the numbers were measured on."""

import platform
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

import isotopic
from isotopic._core import native
from isotopic.threads import available_cores


def facts() -> dict[str, str]:
    """Machine, versions and the level of the compiled core."""
    libraries = (np, scipy, sklearn, isotopic)
    versions = ", ".join(f"{lib.__name__} {lib.__version__}" for lib in libraries)
    return {
        "machine": f"{_processor()}, {available_cores()} cores, {platform.system()}",
        "versions": f"Python {platform.python_version()}, {versions}",
        "BLAS": _blas(),
        "core level": f"{native.level()} (of {', '.join(native.levels())})",
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _blas() -> str:
    found = {
        f"{lib['internal_api']} {lib['version']} ({lib.get('architecture', 'unknown kernels')})"
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    }
    return ", ".join(sorted(found)) or "unknown"
