"""Measurements in a process of their own."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

# The libraries that keep threads of their own each read one of these.
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")


# Seconds for a measurement, generously, since it may be of large data, and for a line of Python.
MEASUREMENT_LIMIT = 4 * 3600
LINE_LIMIT = 300


def in_new_process(module: str, call: str) -> float:
    """Evaluate a call of a function of ``benchmarks.<module>`` in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.{module} import *; print({call})"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=MEASUREMENT_LIMIT,
    )
    return float(done.stdout)


def python_for(name: str) -> str:
    """Find the interpreter: of the environment ``peers/<name>`` inside this one, else this one.

    So a package that cannot be installed together with the others may have its own environment.
    """
    own = Path(sys.prefix) / "peers" / name / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def output_of(python: str, code: str) -> str | None:
    """Give what a line of Python prints, or nothing if it fails."""
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, timeout=LINE_LIMIT
    )
    return done.stdout.strip() if done.returncode == 0 else None


def run_alone(
    python: str, module: str, argument: Path, *, threads: int, timeout: float
) -> str | None:
    """Run a module in a new interpreter; give the last line of its complaints if it fails.

    Whatever processes it leaves behind are ended.
    """
    environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in _THREADS}
    complaints = argument / "stderr.txt"
    with complaints.open("w") as errors:
        process = subprocess.Popen(
            [python, "-m", module, str(argument)],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            failed = process.wait(timeout) != 0
        except subprocess.TimeoutExpired:
            return f"not done after {timeout:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if not failed:
        return None
    lines = complaints.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ended with code {process.returncode}"
