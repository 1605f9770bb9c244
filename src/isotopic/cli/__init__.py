"""The command line: one file for each command."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        The arguments; ``None`` uses those of the process.

    Returns
    -------
    code : int
        0 on success; 1 if ``verify`` finds a claim that does not hold; 2 if an option or the data
        cannot be used, or a file would be overwritten; 130 if interrupted, 143 if terminated.
    """
    for name in ("click", "rich", "pyarrow"):
        if find_spec(name) is None:
            print(
                f"isotopic: error: The command line needs {name}. Install it with: "
                "pip install 'isotopic[cli]'",
                file=sys.stderr,
            )
            return 2
    from isotopic.cli.app import run  # noqa: PLC0415 - only now are the libraries known to exist

    return run(argv)
