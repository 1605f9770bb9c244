"""The callbacks of a fit: the progress display, live or in lines, and scikit-learn's callbacks."""

import io
import os

import numpy as np
import pytest
from problems import paper_lda, random_counts
from processes import LIMIT, started_python
from sklearn.pipeline import make_pipeline

from isotopic import LDA, NMF, Free, Simplex, open_blocks
from isotopic.blocks import BlockedCounts, BlockedProblem
from isotopic.init import random_start
from isotopic.progress import Pace, show_progress
from isotopic.solvers import Iteration
from isotopic.terminal import LiveLine

CODE = """
import numpy as np
from isotopic import NMF
X = np.random.default_rng(0).poisson(2.0, (30, 12))
NMF(3, max_iter=25, tol=0, verbose=10, n_init=2, random_state=0).fit(X)
"""


def run_on_a_terminal(code):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (24, 120))
    with started_python("-c", code, stdout=writer, stderr=writer) as process:
        os.close(writer)
        seen = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        assert process.wait(LIMIT) == 0
    os.close(reader)
    return seen.decode()


def test_a_terminal_gets_a_live_line_and_one_that_cannot_erase_gets_lines():
    dumb = "import os; os.environ['TERM'] = 'dumb'; print('DUMB')\n"
    seen, _, lines = run_on_a_terminal(CODE + dumb + CODE).partition("DUMB")
    assert lines.count("iteration    10") == 2
    assert "iteration 25" in seen
    assert "residual" in seen
    assert "about 0 s left" in seen
    assert "passes" not in seen  # as a line has it


class LostTerminal(io.StringIO):
    """A terminal that has been closed."""

    def write(self, text):
        raise OSError("lost")


def test_a_terminal_that_is_lost_does_not_end_a_fit():
    with LiveLine(LostTerminal(), keep=True) as line:
        line.show("text")
        line._thread.join(LIMIT)  # it has given up
    assert not line._thread.is_alive()


def test_a_live_line_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream = io.StringIO()
    with LiveLine(stream) as line:
        line.show("x" * 1000)
    assert max(map(len, stream.getvalue().split("\x1b[2K"))) <= 80
    assert stream.getvalue().endswith("\r\x1b[2K")  # nothing is left


def test_a_log_gets_lines(capfd):
    exec(CODE, {})
    out, err = capfd.readouterr()
    assert out.count("\n") == 4
    assert err == ""


class Recorder:
    """A callback in scikit-learn's protocol."""

    def __init__(self, stop_at=None, fail_at=None):
        self.calls, self.objectives = [], []
        self.stop_at, self.fail_at = stop_at, fail_at

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        if context.task_name != "iteration":
            return False
        assert fitted_estimator.transform(X).shape == (len(X), 3)
        self.objectives.append(fitted_estimator.objective_)
        if len(self.objectives) == self.fail_at:
            raise RuntimeError("failed")
        return len(self.objectives) == self.stop_at

    def teardown(self, estimator, context):
        self.calls.append("teardown")


needs_callbacks = pytest.mark.skipif(
    not hasattr(NMF, "set_callbacks"), reason="scikit-learn before 1.9 has no callbacks"
)


@needs_callbacks
def test_scikit_learns_callbacks_see_every_iteration(rng):
    X, recorder = random_counts(rng), Recorder()
    model = paper_lda(3, max_iter=4, tol=0, random_state=0).set_callbacks(recorder).fit(X)
    assert recorder.calls[:3] == ["setup", "begin fit", "begin iteration"]
    assert recorder.calls[-2:] == ["end fit", "teardown"]
    assert recorder.calls.count("end iteration") == 4
    np.testing.assert_array_equal(recorder.objectives, model.history_["objective"])


@needs_callbacks
def test_scikit_learns_callbacks_can_stop_a_fit(rng):
    model = NMF(3, max_iter=10, tol=0).set_callbacks(Recorder(stop_at=2)).fit(random_counts(rng))
    assert model.n_iter_ == 2


@needs_callbacks
def test_a_callback_that_fails_is_torn_down_and_leaves_the_model(rng):
    X, recorder = random_counts(rng), Recorder(fail_at=2)
    model = NMF(3, max_iter=5, tol=0, random_state=0).fit(X)
    before = model.components_
    with pytest.raises(RuntimeError, match="failed"):
        model.set_callbacks(recorder).fit(X + 1)
    assert recorder.calls[-1] == "teardown"
    assert model.components_ is before


@needs_callbacks
def test_callbacks_reach_a_model_in_a_pipeline(rng):
    recorder = Recorder()
    recorder.max_propagation_depth = None
    pipeline = make_pipeline(NMF(3, max_iter=3, tol=0))
    pipeline.set_callbacks(recorder).fit(random_counts(rng))
    assert recorder.calls.count("end iteration") == 3
    assert recorder.calls.count("teardown") == 1


def test_the_pace_tells_of_an_end_that_comes_nearer():
    pace = Pace(total=1000.0, max_iter=100, tol=1e-6)
    for i in (1, 2, 3, 4):
        at = Iteration(i, i, 2.0 * i, 1.0, 10.0**-i, None)
        left, text = pace.update(at)
        assert text.endswith(" left, 5e+02 tokens/s")
    assert left == pytest.approx(2.0)  # the residual falls tenfold each time
    assert text.startswith("about 4 s left")
    slow, at = Pace(1.0, 100, 0.0), Iteration(1, 1, 60.0, 1.0, 1.0, None)
    assert slow.update(at)[1].startswith("about 1:39:00 left")


def test_a_residual_that_is_not_yet_known_is_not_shown_as_a_number(rng, capsys):
    pace = Pace(None, 100, 1e-4)
    for iteration, residual in enumerate([np.inf, np.inf, 0.1], 1):
        left, _ = pace.update(Iteration(iteration, iteration, 1.0, 5.0, residual, None))
        assert left == 100 - iteration  # nothing is known of how fast it falls
    for iteration, residual in enumerate([0.01, 0.001], 4):
        left, _ = pace.update(Iteration(iteration, iteration, 1.0, 5.0, residual, None))
    assert left == pytest.approx(1.0)
    LDA(2, verbose=1, max_iter=30, tol=0, random_state=0).fit(rng.poisson(3.0, (30, 10)))
    out = capsys.readouterr().out
    assert "residual not yet known" in out
    assert "inf" not in out


def test_a_fit_goes_on_when_nobody_reads_its_lines(rng, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Closed())
    assert NMF(2, verbose=1, max_iter=3, tol=0).fit(rng.random((8, 5))).n_iter_ == 3


@pytest.mark.parametrize("silence", [0.0, 1.0])
def test_lines_become_rarer_as_a_fit_goes_on_and_a_short_fit_has_none(silence, capsys, monkeypatch):
    monkeypatch.setattr("isotopic.progress._SHORTEST_SILENCE", silence)
    with show_progress(1.0, 1000, 0.0) as display:
        for i in range(1, 101):
            display(Iteration(i, i, 0.01 * i, 1.0, 1.0, None))
    lines = capsys.readouterr().out.splitlines()
    printed = [int(line.split()[1]) for line in lines]
    assert printed == ([] if silence else [1, 2, 5, 10, 20, 50, 100])


def test_blocks_are_counted_while_a_fit_is_watched(rng):
    X = random_counts(rng)
    counts = BlockedCounts(open_blocks([X, X, X], block_entries=1))
    seen = []
    counts.engine.watch = lambda done, of: seen.append((done, of))
    problem = BlockedProblem(Free(), Simplex(), counts, 2)
    problem.evaluate(*random_start(problem, rng), passes=0)
    assert seen == [(1, 3), (2, 3), (3, 3)]
