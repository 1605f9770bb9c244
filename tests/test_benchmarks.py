"""The races against other packages: that they are fair, and that they come to an end."""

import csv
import time
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import data, pages, shards
from benchmarks.solution import job as jobs
from benchmarks.solution.contestants import PEERS, Contestant
from benchmarks.solution.problems import Divergence, Perplexity
from benchmarks.solution.race import Run
from benchmarks.solution.section import SNAPSHOTS, Plan, measure
from benchmarks.table import Measured, Report, Row, Section, Settings, Target
from isotopic import generalized_kl

SKLEARN = tuple(peer for peer in PEERS if peer.name == "sklearn-mu")
NOBODY = Contestant("nobody", "divergence", "no-such-package", "nowhere:nothing")
BROKEN = Contestant("broken", "divergence", "scikit-learn", "with_sklearn:no_such_function")


def test_a_tiny_race_leaves_snapshots_ratios_and_figures(tmp_path):
    plan = Plan(("kjv_small", "no_such_data"), (3,), (1,), 0.2, 1, (*SKLEARN, NOBODY, BROKEN))
    rows = {row.what: row for row in measure(plan, tmp_path)}
    assert "not installed" in rows.pop("nobody").detail
    assert "not found" in rows.pop("no_such_data").detail
    assert "no_such_function" in rows.pop("kjv_small, K=3, 1 thread: broken").detail
    assert "did not run" in rows.pop("kjv_small, K=3, 1 thread: broken, joint").detail
    rows.pop("figures", None)
    assert set(rows) == {f"kjv_small, K=3, 1 thread: sklearn-mu{way}" for way in ("", ", joint")}
    assert all(row.value is not None and np.isfinite(row.value) for row in rows.values())
    assert rows["kjv_small, K=3, 1 thread: sklearn-mu"].value > 0
    with (tmp_path / SNAPSHOTS).open() as file:
        snapshots = list(csv.DictReader(file))
    assert {s["contestant"] for s in snapshots} == {"isotopic", "isotopic-joint", "sklearn-mu"}
    assert all(float(s["seconds"]) > 0 and float(s["objective"]) > 0 for s in snapshots)
    if find_spec("matplotlib"):
        drawn = {file.name for file in tmp_path.glob("*.png")}
        assert drawn == {"solution_divergence_1.png"}


def test_everybody_who_starts_from_the_same_factors_is_judged_alike(rng):
    problem = Divergence(data.dataset("kjv_small"), 4)
    start = problem.job(0, threads=1, seconds=1.0)
    weights, topics = start.weights, start.topics
    scales = rng.gamma(2.0, size=4)
    proportions = weights / weights.sum(axis=1, keepdims=True)
    expected = problem.objective(weights, topics)
    assert problem.objective(weights / scales, topics * scales[:, None]) == pytest.approx(expected)
    assert problem.objective(proportions, topics) == pytest.approx(expected)
    assert expected <= generalized_kl(start.X, weights, topics)


def test_factors_that_are_not_numbers_are_infinitely_bad():
    problem = Divergence(data.dataset("kjv_small"), 2)
    start = problem.job(0, threads=1, seconds=1.0)
    assert problem.objective(np.full_like(start.weights, np.nan), start.topics) == np.inf


def test_held_out_halves_share_no_token_with_each_other_or_with_training():
    counts = data.dataset("kjv_small")
    train, first, second = Perplexity(counts, 3).parts
    assert train.shape[0] + first.shape[0] == counts.shape[0]
    assert min(first.data.min(), second.data.min()) >= 0
    assert train.sum(axis=0).min() > 0
    assert train.sum() + first.sum() + second.sum() <= counts.sum()


def test_topics_that_know_nothing_have_the_perplexity_of_chance():
    problem = Perplexity(data.dataset("kjv_small"), 3)
    n_features = problem.parts[0].shape[1]
    assert problem.objective(None, np.ones((3, n_features))) == pytest.approx(n_features)


def test_a_job_arrives_as_it_was_sent(tmp_path):
    sent = Divergence(data.dataset("kjv_small"), 3).job(1, threads=2, seconds=0.5)
    sent.save(tmp_path / "job.npz")
    got = jobs.Job.load(tmp_path / "job.npz")
    assert (got.seconds, got.threads, got.seed) == (0.5, 2, 2)
    assert (got.X != sent.X).nnz == 0
    np.testing.assert_array_equal(got.weights, sent.weights)
    np.testing.assert_array_equal(got.topics, sent.topics)


def test_the_clock_stands_still_while_factors_are_looked_at(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(jobs.time, "perf_counter", lambda: now[0])
    record = jobs.Recorder(2.5, tmp_path)

    def looking():
        now[0] += 100.0
        return np.ones((1, 1)), np.ones((1, 1))

    def iterate():
        record.start()
        while True:
            now[0] += 1.0
            record(looking)

    with pytest.raises(jobs.Finished):
        iterate()
    seconds = [float(np.load(file)["seconds"]) for file in sorted(tmp_path.glob("*.npz"))]
    assert seconds == [1.0, 2.0, 3.0]


def test_the_time_to_a_target_is_that_of_the_first_snapshot_as_good():
    run = Run(NOBODY, np.array([1.0, 2.0, 4.0]), np.array([9.0, 5.0, 5.0]))
    assert (run.end, run.time_to(run.end)) == (5.0, 2.0)
    assert run.time_to(4.9) == np.inf


def test_generated_shards_are_fitted_the_same_within_a_limit_and_in_memory(tmp_path):
    nonzeros = shards.write_generated(tmp_path, 20_000, 2)
    assert 15_000 < nonzeros < 25_000
    inside = shards.fit_in_memory(str(tmp_path), 2, 3, 2)
    blocks = shards.fit_blocks(str(tmp_path), 3, 2, "1 GB")
    assert inside["tokens"] == blocks["tokens"]
    assert min(*inside.values(), *blocks.values()) > 0


def test_pages_show_what_the_result_files_hold():
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        assert pages.fill(text) == text, f"run `python -m benchmarks.pages` to update {page.name}"


def test_a_table_on_a_page_has_the_rows_command_and_machine_of_its_result(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    block = "<!-- result: speed; rows: pass -->\n{}<!-- end of result -->"
    assert "Not measured yet" in pages.fill(block.format("typed by hand\n"))
    rows = [Row("pass, sparse", 2.0, "x", (1.5, 2.5), Target(3.0)), Row("other")]
    section = Section("speed", "how fast", lambda settings: rows)
    measured = Measured(section, rows)
    facts = {"machine": "a desk", "versions": "Python 3"}
    measured.keep(tmp_path, "python -m benchmarks --only speed", facts)
    filled = pages.fill(block.format("typed by hand\n"))
    assert "| pass, sparse | 2.00x | >= 3.00x, short |" in filled
    assert "Targets met: 0 of 1." in filled
    for text in ("`python -m benchmarks --only speed`", "a desk"):
        assert text in filled
    summary, details = filled.split("<details>")
    assert "| other" not in summary
    assert "| other" in details
    assert "| pass, sparse | 2.00x | 1.50 .. 2.50 | >= 3.00x, short |" in details
    assert "typed by hand" not in filled
    assert "<details>" not in pages.fill(block.format("").replace("pass", "pass; brief"))
    assert pages.fill(filled) == filled


def test_a_result_that_no_page_asks_for_is_shown_all_the_same(tmp_path, monkeypatch):
    row = Row("pass", 2.0, "x")
    facts = {"machine": "a machine", "versions": "Python"}
    Measured(Section("speed", "asked for", list), [row]).keep(tmp_path, "python -m x", facts)
    Measured(Section("new", "a new claim", list), [row]).keep(tmp_path, "python -m y", facts)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- result: speed -->\n<!-- end of result -->\n"
        "<!-- results that no page shows -->\n<!-- end of results -->\n"
    )
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    monkeypatch.setattr(pages, "PAGES", (page,))
    pages.fill_all()
    text = page.read_text()
    assert text.count("### A new claim") == 1
    assert text.count("`python -m y`") == text.count("`python -m x`") == 1


def test_a_section_ends_when_its_time_is_up_and_keeps_its_rows():
    def measure(settings):
        yield Row("soon", 1.0)
        while True:
            with suppress(Exception):  # as a peer's failure is handled
                time.sleep(0.01)

    measured = Report().run(Section("endless", "", measure), Settings(), seconds=0.1)
    assert [row.what for row in measured.rows] == ["soon"]
    assert measured.remark.startswith("ended after 0 s, with rows missing")


def test_missing_and_busy_stand_for_sections_by_their_results(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    facts = {"machine": "m", "versions": "v"}
    for name, others in (("threads", 0.05), ("solvers", 1.5)):
        section = Section(name, "", list)
        Measured(section, [Row("row", 1.0)], others).keep(tmp_path, "", facts)
    named = {*command.ENGINE, *command.SCALE}
    assert set(command._sections("missing")) == named - {"threads", "solvers"}
    assert command._sections("busy") == ["solvers"]
    assert set(command._sections("busy,missing,solvers")) == named - {"threads"}
