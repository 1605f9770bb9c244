"""What the variational posterior costs: the paper's LDA against PLSA."""

from collections.abc import Iterator

from benchmarks import data
from benchmarks.fits import iterations_of, own_lda, own_plsa
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, one_thread


def measure(settings: Settings) -> Iterator[Row]:
    X = data.lda_like()
    with one_thread():
        for components in (20, 100):
            start, iterations = data.start_for(X, components), 800 // components
            times = iterations_of(
                settings.repetitions(9),
                lda=(own_lda(X, *start), iterations),
                plsa=(own_plsa(X, *start), iterations),
            )
            ratio = Ratio.of(times["lda"], times["plsa"])
            yield Row(
                f"LDA iteration, K={components}, float64",
                ratio.value,
                "x",
                (ratio.low, ratio.high),
                Target(1.3, at_least=False),
                f"{times['lda'].ms} against PLSA's {times['plsa'].ms}",
            )


SECTION = Section(
    "lda",
    "one LDA iteration (digamma and bound included) against one of PLSA, one thread",
    measure,
    ("The variational estimate with given priors. The same sparse counts and the same start.",),
)
