"""Run SigProfilerExtractor on what a folder holds: ``python -m benchmarks.extract_peer FOLDER``.

Only the factorizations are timed, not the plots and the assignment that follow them.
"""

import contextlib
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from SigProfilerExtractor import sigpro, subroutines


def processor_seconds() -> float:
    """Give the processor time of this process and of those that it has started."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Done(Exception):  # noqa: N818 - it is no error
    """Raised when the factorizations are done: the rest is not needed."""


def main() -> None:
    folder = Path(sys.argv[1])
    given = np.load(folder / "given.npz")
    index = pd.Index(given["types"], name="MutationType")
    samples = pd.DataFrame(given["X"].T, index, [f"S{i}" for i in range(len(given["X"]))])
    samples.sort_index().to_csv(folder / "X.txt", sep="\t")
    factorize = subroutines.decipher_signatures

    def timed(*arguments, **options):
        began = processor_seconds()
        factorize(*arguments, **options)
        np.savez(folder / "found.npz", seconds=processor_seconds() - began)
        raise Done

    subroutines.decipher_signatures = timed
    number, replicates = int(given["n_components"]), int(given["n_runs"])
    with contextlib.suppress(Done):
        sigpro.sigProfilerExtractor(
            "matrix",
            str(folder / "out"),
            str(folder / "X.txt"),
            minimum_signatures=number,
            maximum_signatures=number,
            nmf_replicates=replicates,
            cpu=1,
        )


if __name__ == "__main__":
    main()
