"""Online learning against batch iterations: time to the same held-out perplexity."""

import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from benchmarks import data
from benchmarks.solution.problems import Perplexity
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA

COMPONENTS = 50
BATCH_ITERATIONS = 10
_PARTS = 12


def measure(settings: Settings) -> Iterator[Row]:
    name = "20news_pruned" if settings.quick else "acl_abstracts"
    counts = data.dataset(name)
    if counts is None:
        yield Row(name, detail="not found; ISOTOPIC_DATA names its folder")
        return
    problem = Perplexity(counts, COMPONENTS)
    train = sparse.csr_array(problem.parts[0])
    priors = {"alpha": 1 / COMPONENTS, "eta": 1 / COMPONENTS}
    priors |= {"estimate": "variational", "init": "random"}
    batch = LDA(COMPONENTS, solver="joint", max_iter=BATCH_ITERATIONS, tol=0, **priors)
    batch.set_params(random_state=0).fit(train)
    iteration = float(batch.history_["seconds"][-1]) / BATCH_ITERATIONS
    goal = problem.objective(None, batch.components_)
    spent, seen, found = _time_to(goal, problem, train, LDA(COMPONENTS, random_state=0, **priors))
    yield Row(
        f"{name}: online to {BATCH_ITERATIONS} batch iterations' perplexity",
        spent / iteration,
        " iterations",
        target=Target(2.0, at_least=False),
        detail=f"perplexity {found:.0f} against {goal:.0f}, after {seen:.2g} of the samples; "
        f"an iteration takes {iteration:.3g} s",
    )


def _time_to(
    goal: float, problem: Perplexity, train: sparse.csr_array, model: LDA
) -> tuple[float, float, float]:
    """Learn online until the perplexity is reached, at most three times all samples."""
    spent, found = 0.0, np.inf
    order = np.random.default_rng(0).permutation(train.shape[0])
    parts = np.array_split(order, _PARTS)
    for number in range(3 * _PARTS):
        rows = train[parts[number % _PARTS]]
        began = time.perf_counter()
        model.partial_fit(rows)
        spent += time.perf_counter() - began
        found = problem.objective(None, model.components_)
        if found <= goal:
            break
    return spent, (number + 1) / _PARTS, found


SECTION = Section(
    "online",
    f"LDA({COMPONENTS}) learned by partial_fit, against joint updates of all samples",
    measure,
    ("All cores. Perplexity by completion of held-out documents, which is not timed.",),
)
