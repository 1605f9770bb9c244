"""Annotated data in and out."""

import numpy as np
import pytest
from problems import random_counts
from scipy import sparse

from isotopic import LDA, NMF, fit_anndata

anndata = pytest.importorskip("anndata")

SETTINGS = {"max_iter": 5, "tol": 0, "random_state": 0}


@pytest.fixture
def adata(rng):
    X = random_counts(rng, 12, 7, 2.0)
    made = anndata.AnnData(np.log1p(X), layers={"counts": sparse.csr_matrix(X)})
    made.var_names = [f"gene{i}" for i in range(7)]
    return made


def test_what_is_found_is_written_by_convention(adata, tmp_path):
    before = adata.layers["counts"].copy()
    model = fit_anndata(adata, NMF(3, **SETTINGS), layer="counts")
    expected = NMF(3, **SETTINGS).fit(before)
    np.testing.assert_array_equal(model.components_, expected.components_)
    path = tmp_path / "x.h5ad"
    adata.write_h5ad(path)
    for data in (adata, anndata.read_h5ad(path)):
        np.testing.assert_array_equal(data.obsm["X_nmf"], expected.weights_)
        np.testing.assert_array_equal(data.varm["nmf_topics"], expected.components_.T)
        found = data.uns["nmf"]
        assert found["objective"] == expected.objective_
        assert found["prevalence"].sum() == pytest.approx(1)
        assert found["params"]["n_components"] == 3
        assert found["params"]["layer"] == "counts"
        assert data[:, :2].varm["nmf_topics"].shape == (2, 3)
    assert (adata.layers["counts"] != before).nnz == 0


def test_x_itself_and_another_key(adata):
    adata.X = adata.layers["counts"].copy()
    model = fit_anndata(adata, LDA(2, alpha=[0.1, 0.2], **SETTINGS), key="mine")
    np.testing.assert_array_equal(adata.obsm["X_mine"], model.weights_)
    assert adata.uns["mine"]["params"]["model"] == "LDA"
    fit_anndata(adata, NMF(2, **SETTINGS), sample_weight=np.full(12, 2.0))
    assert "X_nmf" in adata.obsm


def test_nothing_is_overwritten_by_accident(adata):
    fit_anndata(adata, NMF(3, **SETTINGS))
    with pytest.raises(ValueError, match=r"obsm\['X_nmf'\] and .* Use another key"):
        fit_anndata(adata, NMF(2, **SETTINGS))
    assert adata.obsm["X_nmf"].shape == (12, 3)
    fit_anndata(adata, NMF(2, **SETTINGS), overwrite=True)
    assert adata.obsm["X_nmf"].shape == (12, 2)


def test_what_is_not_there_is_named(adata):
    with pytest.raises(ValueError, match=r"no layer 'raw'; it has \['counts'\]"):
        fit_anndata(adata, NMF(3), layer="raw")
    with pytest.raises(TypeError, match="AnnData object, not ndarray"):
        fit_anndata(np.ones((3, 2)), NMF(3))
    with pytest.raises(ValueError, match="has no X"):
        fit_anndata(anndata.AnnData(layers={"counts": np.ones((3, 2))}), NMF(1))
