"""The report in the words of its field: documents, cells and tumours; spectra and stability."""

import browsing
import numpy as np
import pandas as pd
import pytest

from isotopic import LDA, NMF, consensus, load, read_counts
from isotopic.cli import main
from isotopic.mutation_types import SBS_COLOURS
from isotopic.names import gene_names, symbols_in_names
from isotopic.report.fields import FIELDS, find_field
from isotopic.report.limits import Limits
from isotopic.report.payload import ReportData

needs_browser = browsing.needs_browser

SBS96 = [
    f"{before}[{kind}]{after}" for kind in SBS_COLOURS for before in "ACGT" for after in "ACGT"
]
GENES = [f"ENSG{i:011d}" for i in range(8)]


@pytest.fixture(scope="module")
def tumours():
    """Return counts of mutation types in shuffled columns, and the result of a consensus."""
    rng = np.random.default_rng(0)
    signatures = rng.dirichlet(np.full(96, 0.1), 3)
    X = rng.poisson(400 * rng.dirichlet(np.ones(3), 30) @ signatures)
    frame = pd.DataFrame(X, columns=SBS96)[list(rng.permutation(SBS96))]
    return frame, consensus(NMF(tol=1e-2), frame, [2, 3], n_runs=3, choose=3, random_state=0)


def test_the_field_is_what_the_data_says():
    assert find_field(None, np.eye(2), ["a", "b"], None) == "counts"
    assert find_field(None, np.eye(2), ["a", "b"], ["x", "y"]) == "text"
    assert find_field(None, None, SBS96, None) == "tumours"
    assert find_field("cells", None, SBS96, None) == "cells"
    with pytest.raises(ValueError, match="field must be one of counts, text, cells, tumours"):
        find_field("plants", None, ["a"], None)


def test_genes_have_their_symbols():
    assert gene_names(["E1", "E2", "E3", "E4"], ["A", "B", "B", None]).tolist() == [
        "A",
        "B (E2)",
        "B (E3)",
        "E4",
    ]
    assert symbols_in_names([f"{GENES[0]}|TP53", f"{GENES[1]}|MYC"]).tolist() == ["TP53", "MYC"]
    assert symbols_in_names(["TP53", "MYC"]) is None


def test_anndata_shows_symbols_instead_of_identifiers(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    var = pd.DataFrame({"gene_symbols": list("ABCDEFGG")}, index=GENES)
    X = np.random.default_rng(0).poisson(3.0, (12, 8)).astype(np.float32) + 1
    cells = anndata.AnnData(X, obs=pd.DataFrame(index=[f"c{i}" for i in range(12)]), var=var)
    told = ReportData(LDA(2, max_iter=1, tol=0, random_state=0).fit(cells), cells)
    shown = told.payload("", Limits())
    assert shown["words"] == FIELDS["cells"].words()
    assert shown["terms"]["names"][:7] == [*"ABCDEF", f"G ({GENES[6]})"]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    assert read_counts(tmp_path / "cells.h5ad").feature_names[0] == "A"
    assert main(["fit", f"{tmp_path}/cells.h5ad", "-k", "2", "-o", f"{tmp_path}/out"]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Find a cell" in page
    assert main(["report", f"{tmp_path}/out", "--field", "counts", "--force"]) == 0
    assert "Find a sample" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert load(tmp_path / "out" / "model.isotopic").components_.shape == (2, 8)


@needs_browser
def test_signatures_are_spectra_with_their_stability(tumours, open_page, tmp_path):
    frame, found = tumours
    page = open_page(found.model.report(tmp_path / "x.html", frame, consensus=found))
    assert page.texts("h2")[:3] == ["Signatures", "Time and groups", "Tumours"]
    page.click("#topic-1")
    assert page.texts("#terms-title")[0].startswith("1Signature 1")
    assert page.texts("#spectrum .spectrum-class") == list(SBS_COLOURS)
    drawn = page.run(
        "return [...document.querySelectorAll('#spectrum .spectrum-bar')]"
        ".map(bar => [Number(bar.getAttribute('height')), bar.getAttribute('fill')])"
    )
    shares = pd.Series(found.model.components_[1], index=frame.columns)[SBS96]
    heights, colours = zip(*drawn, strict=True)
    large = shares > 0.02 * shares.max()  # the lowest bars keep a line
    ratios = np.array(heights)[large] / shares[large]
    np.testing.assert_allclose(ratios, ratios.iloc[0], rtol=1e-3)
    assert [c.upper() for c in colours] == [c for c in SBS_COLOURS.values() for _ in range(16)]
    assert page.find("#consensus").is_displayed()
    page.click("#overview")
    assert not page.find("#spectrum").is_displayed()
    page.screenshot("signatures")
