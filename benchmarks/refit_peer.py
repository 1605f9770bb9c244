"""Run SigProfilerAssignment on what a folder holds: ``python -m benchmarks.refit_peer FOLDER``."""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from SigProfilerAssignment import Analyzer


def main() -> None:
    folder = Path(sys.argv[1])
    given = np.load(folder / "given.npz")
    index = pd.Index(given["types"], name="MutationType")
    samples = pd.DataFrame(given["X"].T, index, [f"S{i}" for i in range(len(given["X"]))])
    names = [f"R{k}" for k in range(len(given["topics"]))]
    for name, table in (("X", samples), ("topics", pd.DataFrame(given["topics"].T, index, names))):
        # It sorts the mutation types of samples, but not those of a signature database.
        table.sort_index().to_csv(folder / f"{name}.txt", sep="\t")
    began = time.process_time()
    Analyzer.cosmic_fit(
        str(folder / "X.txt"),
        str(folder / "out"),
        input_type="matrix",
        signature_database=str(folder / "topics.txt"),
        make_plots=False,
        export_probabilities=False,
        cpu=1,
    )
    seconds = time.process_time() - began
    file = folder / "out/Assignment_Solution/Activities/Assignment_Solution_Activities.txt"
    found = pd.read_csv(file, sep="\t", index_col=0).reindex(samples.columns)
    weights = found.reindex(columns=names, fill_value=0).to_numpy()
    np.savez(folder / "found.npz", weights=weights, seconds=seconds)


if __name__ == "__main__":
    main()
