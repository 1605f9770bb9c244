"""Online learning against batch iterations: time to the same held-out perplexity."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from benchmarks import data
from benchmarks.solution.problems import Perplexity
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA

BATCH_ITERATIONS = 10
# Calls of partial_fit for all samples.
_PARTS = 12

_TWO = Target(2.0, at_least=False)


@dataclass(frozen=True)
class Case:
    """What is fitted, and how many threads may help (``None``: all)."""

    components: int
    estimate: str
    threads: int | None = 1

    @property
    def name(self) -> str:
        """What the table calls it."""
        threads = "all threads" if self.threads is None else f"{self.threads} thread"
        return f"LDA({self.components}), {self.estimate}, {threads}"

    @property
    def model(self) -> LDA:
        """The priors of the default estimate are its own, others have one over the components."""
        priors: dict[str, Any] = {"estimate": self.estimate}
        if self.estimate != "cvb0":
            priors |= {"alpha": 1 / self.components, "eta": 1 / self.components}
        return LDA(self.components, random_state=0, n_jobs=self.threads, **priors)

    @property
    def clock(self) -> Callable[[], float]:
        """Of one thread the processor's time, which does not see what else runs."""
        return time.process_time if self.threads == 1 else time.perf_counter


CASES = (
    Case(50, "cvb0"),
    Case(50, "smoothed"),
    Case(50, "variational"),
    Case(50, "cvb0", None),
    Case(20, "cvb0"),
    Case(20, "variational"),
    Case(100, "cvb0"),
    Case(100, "variational"),
)


def measure(settings: Settings) -> Iterator[Row]:
    name = "20news_pruned" if settings.quick else "acl_abstracts"
    counts = data.dataset(name)
    if counts is None:
        yield Row(name, detail="not found; ISOTOPIC_DATA names its folder")
        return
    for case in CASES[:1] if settings.quick else CASES:
        problem = Perplexity(counts, case.components)
        yield _from_random(case, problem, sparse.csr_array(problem.parts[0]))
    problem = Perplexity(counts, CASES[0].components)
    yield from _as_it_is(CASES[0], problem, sparse.csr_array(problem.parts[0]))


def _from_random(case: Case, problem: Perplexity, train: sparse.csr_array) -> Row:
    """Compare partial_fit with joint iterations from a random start, which is not timed."""
    times: list[float] = []
    joint = clone(case.model).set_params(
        solver="joint", init="random", max_iter=BATCH_ITERATIONS, tol=0
    )
    joint.set_params(callbacks=lambda _: times.append(case.clock())).fit(train)
    iteration = (times[-1] - times[0]) / (BATCH_ITERATIONS - 1)
    goal = problem.objective(None, joint.components_)
    model = case.model.set_params(init="random")
    spent, seen, found = _time_to(goal, problem, train, model, case.clock)
    return Row(
        case.name,
        spent / iteration,
        " iterations",
        target=_TWO,
        detail=f"perplexity {found:.0f} against {goal:.0f}, after {seen:.2g} of the samples; "
        f"an iteration takes {iteration:.3g} s",
    )


def _as_it_is(case: Case, problem: Perplexity, train: sparse.csr_array) -> Iterator[Row]:
    """Compare with joint fits from their default start, whole fits being timed."""

    def fitted(**settings: Any) -> tuple[float, float]:
        model = case.model.set_params(tol=0, **settings)
        began = case.clock()
        model.fit(train)
        return case.clock() - began, problem.objective(None, model.components_)

    ten, goal = fitted(solver="joint", max_iter=BATCH_ITERATIONS)
    spent, seen, found = _time_to(goal, problem, train, case.model, case.clock)
    yield Row(
        f"default start: {case.name}",
        BATCH_ITERATIONS * spent / ten,
        " iterations",
        target=_TWO,
        detail=f"perplexity {found:.0f} against {goal:.0f}, after {seen:.2g} of the samples; "
        f"a tenth of the fit takes {ten / BATCH_ITERATIONS:.3g} s",
    )
    two, _ = fitted(solver="joint", max_iter=2)
    online, found = fitted(solver="online", max_iter=1)
    yield Row(
        "default start: fit(solver='online')",
        online / two,
        " fits",
        target=Target(1.0, at_least=False),
        detail=f"perplexity {found:.0f} against {goal:.0f}, after one iteration, in {online:.3g} s;"
        f" a joint fit of two iterations takes {two:.3g} s",
    )


def _time_to(
    goal: float,
    problem: Perplexity,
    train: sparse.csr_array,
    model: LDA,
    clock: Callable[[], float],
) -> tuple[float, float, float]:
    """Learn online until the perplexity is reached, at most three times all samples."""
    spent, found = 0.0, np.inf
    order = np.random.default_rng(0).permutation(train.shape[0])
    parts = np.array_split(order, _PARTS)
    for number in range(3 * _PARTS):
        rows = train[parts[number % _PARTS]]
        began = clock()
        model.partial_fit(rows)
        spent += clock() - began
        found = problem.objective(None, model.components_)
        if found <= goal:
            break
    return spent, (number + 1) / _PARTS, found


SECTION = Section(
    "online",
    f"LDA learned by partial_fit, to the perplexity of {BATCH_ITERATIONS} joint iterations",
    measure,
    (
        "In the time of so many joint iterations. Perplexity by completion of held-out documents,",
        "which is not timed. One thread: processor time. The joint iterations start at random and",
        "without their start, or with the default start and with the time that it takes.",
    ),
)
