"""topica: NMF, LDA by Gibbs sampling and by online variational Bayes.

It starts at random, goes on from nothing and shows nothing on the way. So each snapshot is a fit of
its own, of twice as many iterations as the one before, and the last fills the time.
"""

import time
from collections.abc import Callable
from typing import Any

import topica

from benchmarks.solution.job import Finished, Job, Recorder
from benchmarks.solution.tokens import words


def nmf(job: Job, record: Recorder) -> None:
    model = topica.NMF(
        job.components,
        beta_loss="kullback-leibler",
        init="random",
        weighting="count",
        convergence_tol=0.0,
        seed=job.seed,
    )
    _growing(job, record, lambda data, n: model.fit(data, iters=n, num_threads=job.threads))


def lda(job: Job, record: Recorder) -> None:
    model = topica.LDA(
        job.components,
        alpha_sum=job.prior * job.components,
        beta=job.prior,
        optimize_interval=0,
        seed=job.seed,
        num_threads=job.threads,
    )
    # One sample of the topics at the end, where the default spends 125 sweeps on five.
    few = {"num_samples": 1, "sample_interval": 1, "keep_theta_draws": False, "check_every": 0}
    _growing(job, record, lambda data, n: model.fit(data, iters=n, **few))


def online_lda(job: Job, record: Recorder) -> None:
    model = topica.OnlineLDA(
        job.components, alpha_sum=job.prior * job.components, beta=job.prior, seed=job.seed
    )
    _growing(job, record, lambda data, n: model.fit(data, iters=n))


def _growing(job: Job, record: Recorder, fit: Callable[[topica.Corpus, int], Any]) -> None:
    vocabulary = [str(i) for i in range(job.X.shape[1])]
    corpus = topica.Corpus.from_documents(words(job.X), vocabulary=vocabulary)
    iterations = 1
    while True:
        began = time.perf_counter()
        model = fit(corpus, iterations)
        seconds = time.perf_counter() - began
        record.keep(seconds, model.doc_topic, model.topic_word)
        more = min(2 * iterations, int(iterations * record.budget / seconds))
        if more <= 1.1 * iterations:
            raise Finished
        iterations = more
