"""Annotated data in and out."""

import numpy as np
import pytest
from problems import random_counts
from scipy import sparse

from isotopic import (
    LDA,
    NMF,
    CountsWarning,
    GammaPoisson,
    consensus,
    differential_anndata,
    fit_anndata,
)

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


FORGOTTEN = r"adata.X is not counts.*Pass layer='counts' or layer='raw', which"


def test_a_forgotten_layer_is_named(adata, tmp_path):
    adata.layers["raw"] = adata.layers["counts"].toarray()
    adata.layers["scaled"] = adata.X / 2
    with pytest.warns(CountsWarning, match=FORGOTTEN) as caught:
        fit_anndata(adata, NMF(3, **SETTINGS))
    assert caught[0].filename == __file__
    model = fit_anndata(adata, NMF(3, **SETTINGS), layer="counts", overwrite=True)
    other = pytest.raises(ValueError, match="not the data that")
    with other, pytest.warns(CountsWarning, match=FORGOTTEN):
        differential_anndata(adata, model)
    with pytest.warns(CountsWarning, match=FORGOTTEN) as caught:
        model.report(tmp_path / "x.html", adata)
    assert caught[0].filename == __file__
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    with pytest.warns(CountsWarning, match=FORGOTTEN):
        fit_anndata(anndata.read_h5ad(path, backed="r"), NMF(3, **SETTINGS), key="other")


@pytest.mark.parametrize(
    ("X", "layers"),
    [
        (np.ones((3, 2)), {"counts": np.ones((3, 2))}),
        (np.full((3, 2), 0.5), {}),
        (np.full((3, 2), 0.5), {"scaled": np.full((3, 2), 0.25), "empty": np.zeros((3, 2))}),
    ],
    ids=["counts", "no layer", "no layer of counts"],
)
def test_nothing_is_said_where_no_layer_is_forgotten(X, layers):
    fit_anndata(anndata.AnnData(X, layers=layers), NMF(1, **SETTINGS))  # warnings are errors


def test_new_samples_and_consensus_notice_a_forgotten_layer(adata):
    model = fit_anndata(adata, NMF(3, **SETTINGS), layer="counts")
    for call in (
        lambda: model.transform(adata),
        lambda: consensus(NMF(**SETTINGS), adata, 2, n_runs=2, test_size=0, random_state=0),
    ):
        with pytest.warns(CountsWarning, match=r"Pass layer='counts'"):
            call()


def test_new_samples_and_consensus_read_a_layer(adata):
    model = fit_anndata(adata, NMF(3, **SETTINGS), layer="counts")
    counts = anndata.AnnData(adata.layers["counts"], var=adata.var)
    found = model.transform(adata, layer="counts")
    assert np.array_equal(found, model.transform(counts))
    both = [
        consensus(NMF(**SETTINGS), data, 2, n_runs=2, random_state=0, **given).model.components_
        for data, given in ((adata, {"layer": "counts"}), (counts, {}))
    ]
    assert np.array_equal(*both)
    with pytest.raises(ValueError, match=r"no layer 'raw'; it has \['counts'\]"):
        model.transform(adata, layer="raw")
    with pytest.raises(ValueError, match="applies only to AnnData"):
        model.transform(adata.layers["counts"], layer="counts")


def test_a_report_reads_the_layer_that_was_fitted(adata, tmp_path):
    adata.obs["batch"] = np.repeat(["a", "b"], 6)
    model = fit_anndata(adata, NMF(3, **SETTINGS), layer="counts")
    page = model.report(tmp_path / "x.html", adata, layer="counts").read_text()
    counts = anndata.AnnData(adata.layers["counts"], obs=adata.obs, var=adata.var)
    assert page == model.report(tmp_path / "y.html", counts).read_text()
    assert "gene3" in page
    assert "batch" in page
    with pytest.raises(ValueError, match=r"no layer 'raw'; it has \['counts'\]"):
        model.report(tmp_path / "z.html", adata, layer="raw")
    with pytest.raises(ValueError, match="layer='counts' applies only to AnnData, not ndarray"):
        model.report(tmp_path / "z.html", counts.X.toarray(), layer="counts")


def test_nothing_is_overwritten_by_accident(adata):
    fit_anndata(adata, NMF(3, **SETTINGS), layer="counts")
    with pytest.raises(ValueError, match=r"obsm\['X_nmf'\] and .* Use another key"):
        fit_anndata(adata, NMF(2, **SETTINGS), layer="counts")
    assert adata.obsm["X_nmf"].shape == (12, 3)
    fit_anndata(adata, NMF(2, **SETTINGS), layer="counts", overwrite=True)
    assert adata.obsm["X_nmf"].shape == (12, 2)


def test_what_is_not_there_is_named(adata):
    with pytest.raises(ValueError, match=r"no layer 'raw'; it has \['counts'\]"):
        fit_anndata(adata, NMF(3), layer="raw")
    with pytest.raises(TypeError, match="AnnData object, not ndarray"):
        fit_anndata(np.ones((3, 2)), NMF(3))
    with pytest.raises(ValueError, match="has no X"):
        fit_anndata(anndata.AnnData(layers={"counts": np.ones((3, 2))}), NMF(1))


@pytest.mark.parametrize("model", [NMF, GammaPoisson])
def test_logarithms_are_said_not_to_be_counts_by_every_model(rng, model):
    counts = rng.poisson(2.0, (60, 20)).astype(np.float32)
    scaled = counts / counts.sum(axis=1, keepdims=True) * 1e4
    with pytest.warns(CountsWarning, match=r"log\(1 \+ count\)") as caught:
        fit_anndata(anndata.AnnData(np.log1p(scaled)), model(2, tol=1e-2, random_state=0))
    assert len(caught) == 1
    fit_anndata(anndata.AnnData(counts), model(2, tol=1e-2, random_state=0))
