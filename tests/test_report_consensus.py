"""The report of a consensus: how stable each topic is."""

import browsing
import numpy as np
import pytest

from isotopic import NMF, consensus
from isotopic.report import write_report
from isotopic.report.payload import ReportData


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), size=3)
    X = rng.poisson(rng.gamma(0.5, 200, size=(100, 3)) @ topics)
    return X, consensus(NMF(), X, 4, n_runs=6, random_state=0)


@browsing.needs_browser
def test_the_page_shows_how_stable_each_topic_is(found, tmp_path, open_page):
    X, result = found
    path = write_report(result.model, X, tmp_path / "x.html", consensus=result)
    page = open_page(path)
    values = [float(text) for text in page.texts("#consensus-rows td:nth-child(3)")]
    assert values == sorted(result.stability.round(2).tolist())
    runs = page.texts("#consensus-rows td:nth-child(4)")
    worst = int(np.argmin(result.stability))
    assert runs[0] == f"{result.components['found'][worst]} of 6"
    assert page.texts("#consensus-reason") == [result.reason]


def test_a_report_without_a_consensus_has_no_stability(found):
    X, result = found
    assert ReportData(result.model, X).consensus is None


def test_a_consensus_of_another_model_is_refused(found):
    X, result = found
    other = NMF(2, max_iter=2, tol=0).fit(X)
    with pytest.raises(ValueError, match="consensus has 4 components, and the model 2"):
        ReportData(other, X, consensus=result)
    with pytest.raises(ValueError, match="not in its order"):
        ReportData(result.model.reorder([3, 2, 1, 0]), X, consensus=result)
    with pytest.raises(TypeError, match=r"must be the result of .*, not int"):
        ReportData(other, X, consensus=2)
