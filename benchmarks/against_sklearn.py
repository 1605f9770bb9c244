"""One joint iteration on sparse counts against one of scikit-learn's multiplicative updates."""

from collections.abc import Iterator

from benchmarks import data
from benchmarks.fits import iterations_of, own_nmf, sklearn_nmf
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, one_thread

TARGETS = {
    (20, "float64"): 32.0,
    (20, "float32"): 32.0,
    (100, "float64"): 40.0,
    (100, "float32"): 25.0,
}


def measure(settings: Settings) -> Iterator[Row]:
    with one_thread():
        for (components, dtype), target in TARGETS.items():
            X = data.lda_like(dtype)
            start = data.start_for(X, components)
            times = iterations_of(
                settings.repetitions(5 if components == 100 else 9),
                own=(own_nmf(X, *start), 800 // components),
                theirs=(sklearn_nmf(X, *start), 2),
            )
            ratio = Ratio.of(times["theirs"], times["own"])
            yield Row(
                f"NMF iteration, K={components}, {dtype}",
                ratio.value,
                "x",
                (ratio.low, ratio.high),
                Target(target),
                f"{times['own'].ms} against {times['theirs'].ms}",
            )


SECTION = Section(
    "sklearn",
    "one sparse NMF iteration against scikit-learn's (solver mu, KL), one thread",
    measure,
    (
        "Generated LDA counts, 5,000 x 10,000 with about 700,000 nonzeros. Same matrix, precision",
        "and start; differences of two max_iter, so that neither side's set-up counts.",
    ),
)
