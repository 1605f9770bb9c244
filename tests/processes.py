"""Other processes, none of which is waited for without a limit or outlives its test."""

import subprocess
import sys
from contextlib import contextmanager

# Seconds, and less than a test may take. On two cores with a load of twelve, 4 s of processor time
# took up to 58 s.
LIMIT = 300


def run_python(*arguments, check=True, **options):
    """Run Python to its end; give what it printed and how it ended."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=check, timeout=LIMIT, **options
    )


@contextmanager
def started_python(*arguments, **options):
    """Start Python; kill it at the end of the block if it is still running."""
    process = subprocess.Popen([sys.executable, *map(str, arguments)], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait(LIMIT)
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
