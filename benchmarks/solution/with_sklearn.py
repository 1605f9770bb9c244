"""scikit-learn, watched from inside its own loops."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation, MiniBatchNMF, _nmf
from sklearn.decomposition._online_lda_fast import _dirichlet_expectation_2d

from benchmarks.solution.job import Job, Recorder

_KL = {"beta_loss": "kullback-leibler", "init": "custom", "max_iter": 10**9, "tol": 0}


def nmf(job: Job, record: Recorder) -> None:
    model = NMF(job.components, solver="mu", **_KL)
    start = job.weights.copy(), job.topics.copy()  # which it writes into
    with _seen_by(record):
        record.start()
        model.fit_transform(job.X, W=start[0], H=start[1])


@contextmanager
def _seen_by(record: Recorder) -> Iterator[None]:
    """Look after each update of the topics, which is the end of an iteration."""
    update = _nmf._multiplicative_update_h

    def watched(X, weights, topics, *rest, **settings):
        topics = update(X, weights, topics, *rest, **settings)
        record(lambda: (weights, topics))
        return topics

    _nmf._multiplicative_update_h = watched
    try:
        yield
    finally:
        _nmf._multiplicative_update_h = update


def minibatch_nmf(job: Job, record: Recorder) -> None:
    model = _MiniBatchNMF(job.components, max_no_improvement=None, **_KL)
    model.record = record
    start = job.weights.copy(), job.topics.copy()
    record.start()
    model.fit_transform(job.X, W=start[0], H=start[1])


class _MiniBatchNMF(MiniBatchNMF):
    """Looks after each batch at the factors, which it updates in place."""

    def _check_w_h(self, *arguments):
        self.factors = super()._check_w_h(*arguments)
        return self.factors

    def _minibatch_step(self, *arguments):
        cost = super()._minibatch_step(*arguments)
        self.record(lambda: self.factors)
        return cost


def lda_batch(job: Job, record: Recorder) -> None:
    _lda(job, record, "batch")


def lda_online(job: Job, record: Recorder) -> None:
    _lda(job, record, "online")


def _lda(job: Job, record: Recorder, method: str) -> None:
    model = _LDA(
        job.components,
        learning_method=method,
        doc_topic_prior=job.prior,
        topic_word_prior=job.prior,
        max_iter=10**9,
        n_jobs=job.threads,
        random_state=job.seed,
    )
    model.record, model.start = record, job.topics
    record.start()
    model.fit(job.X)


class _LDA(LatentDirichletAllocation):
    """Starts with given topics and looks after each update of them."""

    def _init_latent_vars(self, *arguments, **settings) -> None:
        super()._init_latent_vars(*arguments, **settings)
        self.components_ = self.start.copy()
        self.exp_dirichlet_component_ = np.exp(_dirichlet_expectation_2d(self.components_))

    def _em_step(self, *arguments, **settings) -> None:
        super()._em_step(*arguments, **settings)
        self.record(lambda: (None, self.components_))
