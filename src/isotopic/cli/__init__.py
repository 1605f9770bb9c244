"""The command line: one file for each command."""

from collections.abc import Sequence

from isotopic.cli.app import run

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
    return run(argv)
