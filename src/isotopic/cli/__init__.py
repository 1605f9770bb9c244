"""The command line: a file here for each command."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("click", "rich", "pyarrow")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        The arguments; ``None`` takes those of the process.

    Returns
    -------
    code : int
        0 if all is well; 1 if a claim does not hold; 2 if the command or its data cannot be used,
        or something would be overwritten; 130 if it was interrupted, 143 if terminated.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"isotopic: error: the command line needs {' and '.join(missing)}: "
            "pip install 'isotopic[cli]'",
            file=sys.stderr,
        )
        return 2
    from isotopic.cli.app import run  # noqa: PLC0415 - the libraries are there

    return run(argv)
