"""Measurements in a process of their own."""

import subprocess
import sys
from pathlib import Path


def in_new_process(module: str, call: str) -> float:
    """Evaluate a call of a function of ``benchmarks.<module>`` in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.{module} import *; print({call})"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
