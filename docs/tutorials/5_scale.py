"""
Data larger than memory, and Dask
=================================

This tutorial is for people whose counts do not fit into memory, come in batches, or lie on a cluster. After it you can fit them with the
same models and the same calls.

Here a small corpus stands for a large one. Each file is a block of rows.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from isotopic import LDA, NMF, datasets, open_blocks

X = datasets.load_kjv().data
folder = Path(tempfile.mkdtemp()) / "blocks"
folder.mkdir()
for i in range(4):
    sparse.save_npz(folder / f"{i}.npz", X[300 * i : 300 * (i + 1)])
print(sorted(path.name for path in folder.iterdir()))

# %%
# Fit from files
# --------------
# Give ``fit`` the folder instead of a matrix. ``memory_limit`` is for the whole process. What does not fit is read again in each pass.

model = NMF(5, tol=1e-3, random_state=0).fit(folder, memory_limit="1 GB")
print(model.weights_.shape)

# %%
# The result is that of the matrix in memory, up to rounding:

whole = NMF(5, tol=1e-3, random_state=0, solver="accelerated").fit(X)
print(np.allclose(model.components_, whole.components_, atol=1e-6))

# %%
# HDF5, zarr, Parquet, ``.h5ad``, memory-mapped arrays and lists of matrices work in the same way: :doc:`/scale` lists them. ``open_blocks``
# has more options, for example to keep the weights in files, too:

blocks = open_blocks(folder, memory_limit="1 GB", scratch=tempfile.mkdtemp())
on_disk = NMF(5, tol=1e-3, random_state=0).fit(blocks)
print(type(on_disk.weights_).__name__, blocks.shape)

# %%
# Data that arrives in batches
# ----------------------------
# ``partial_fit`` sees each batch once and forgets it. Give it batches in random order.

stream = LDA(5, alpha=0.1, eta=0.05, random_state=0)
order = np.random.default_rng(0).permutation(X.shape[0])
for batch in np.array_split(order, 6):
    stream.partial_fit(X[batch])
print(stream.n_samples_seen_, round(stream.perplexity(X)))

# %%
# On a cluster
# ------------
# Give ``fit`` a Dask client. Each worker keeps its blocks, and only sums travel. Here the cluster is this computer.

from dask.distributed import Client  # noqa: E402

with Client(
    n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
) as client:
    on_cluster = NMF(5, tol=1e-3, random_state=0).fit(folder, client=client)
print(np.allclose(on_cluster.components_, model.components_, atol=1e-6))

# %%
# The command line reads data in blocks, too:
#
# .. code-block:: console
#
#    $ isotopic fit big.h5ad -k 20 --memory-limit 2GB -o out
#
# Where to go on: :doc:`/scale` says what each format needs, and how long large fits take.
