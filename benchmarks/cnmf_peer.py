"""Run cNMF with its defaults on what a folder holds: ``python -m benchmarks.cnmf_peer FOLDER``."""

import sys
import time
from pathlib import Path

import anndata
import matplotlib as mpl
import numpy as np
import pandas as pd
from cnmf import cNMF
from scipy import sparse

mpl.use("agg")


def main() -> None:
    folder = Path(sys.argv[1])
    given = np.load(folder / "given.npz")
    X, n_components, n_runs = given["X"], int(given["n_components"]), int(given["n_runs"])
    frame = anndata.AnnData(
        sparse.csr_matrix(X.astype(np.float64)),
        obs=pd.DataFrame(index=[f"c{i}" for i in range(X.shape[0])]),
        var=pd.DataFrame(index=[f"g{i}" for i in range(X.shape[1])]),
    )
    frame.write_h5ad(folder / "X.h5ad")
    peer = cNMF(output_dir=str(folder), name="peer")
    began = time.process_time()
    peer.prepare(str(folder / "X.h5ad"), components=[n_components], n_iter=n_runs, seed=14)
    peer.factorize()
    peer.combine()
    peer.consensus(n_components, show_clustering=False)
    seconds = time.process_time() - began
    usage, _, spectra, _ = peer.load_results(K=n_components, density_threshold=0.5)
    spectra = spectra.T if spectra.shape[1] != X.shape[1] else spectra
    file = folder / "peer" / "peer.overdispersed_genes.txt"
    chosen = [int(name[1:]) for name in file.read_text().split()]
    columns = [int(name[1:]) for name in spectra.columns]
    np.savez(
        folder / "found.npz",
        topics=spectra.to_numpy(),
        features=columns,
        chosen=chosen,
        weights=usage.to_numpy(),
        samples=[int(name[1:]) for name in usage.index],
        seconds=seconds,
    )


if __name__ == "__main__":
    main()
