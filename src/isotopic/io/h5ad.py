"""AnnData's ``.h5ad``: the matrix, or one of its layers."""

import warnings
from pathlib import Path
from typing import Any

from isotopic.io.data import Content
from isotopic.io.extras import extra
from isotopic.io.opening import open_seekable
from isotopic.io.options import Options


def read(path: Path, options: Options) -> Content:
    """Read the matrix or layer alone, and the names of observations and variables."""
    h5py = extra("h5py", "anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what changes in anndata's own files
        read_elem = extra("anndata", "anndata").io.read_elem
    with open_seekable(path) as stream:
        try:
            with h5py.File(stream, "r") as file:
                place = _place(file, options.layer)
                names = [_index(file[axis], read_elem) for axis in ("obs", "var")]
                content = Content(read_elem(file[place]), *names)
        except ValueError:
            raise
        except Exception as error:  # what the library of HDF5 makes of a damaged file
            raise ValueError(f"this is not AnnData, or is damaged: {error}") from error
    return content.transposed() if options.transpose else content


def _place(file: Any, layer: str | None) -> str:
    missing = [name for name in ("obs", "var") if name not in file]
    if missing:
        raise ValueError(f"this HDF5 file is not AnnData: it has no {' and no '.join(missing)}")
    layers = sorted(file["layers"]) if "layers" in file else []
    known = f"it has the layers {', '.join(layers)}" if layers else "it has no layers"
    if layer is None:
        if "X" not in file:
            raise ValueError(f"the file has no X; {known}")
        return "X"
    if layer not in layers:
        raise ValueError(f"there is no layer {layer!r}; {known}")
    return f"layers/{layer}"


def _index(frame: Any, read_elem: Any) -> list[str]:
    return [str(name) for name in read_elem(frame[frame.attrs["_index"]])]
