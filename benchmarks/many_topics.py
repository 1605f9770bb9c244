"""How well and how fast LDA predicts with hundreds of topics, next to Gibbs samplers."""

import time
from collections.abc import Iterator

from benchmarks import data
from benchmarks.estimates import Split, peers, perplexity, split_samples
from benchmarks.table import Row, Section, Settings
from isotopic import LDA

QUICK = (("20news_pruned", 300), ("20news_pruned", 1000))
FULL = (*QUICK, ("acl_abstracts", 300), ("acl_abstracts", 1000))

# Sweeps of the peers. They learn little more in twice as many.
SWEEPS = 200


def measure(settings: Settings) -> Iterator[Row]:
    for name, components in QUICK if settings.quick else FULL:
        counts = data.dataset(name)
        if counts is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        split, what = split_samples(counts), f"{name}, K={components}"
        yield _own(split, what, components)
        yield from peers(split, what, components, SWEEPS)


def _own(split: Split, what: str, components: int) -> Row:
    began = time.process_time()
    model = LDA(components, n_jobs=1, random_state=0).fit(split.train)
    seconds = time.process_time() - began
    detail = f"{seconds:.2f} s of one core, {model.n_iter_} iterations"
    return Row(f"{what}, LDA({components})", perplexity(model, split), detail=detail)


SECTION = Section(
    "many",
    "Perplexity of LDA with many topics",
    measure,
    (
        "A tenth of the samples is held out, half of their counts are hidden: their perplexity,",
        "given the other half. Lower is better; one thread.",
    ),
)
