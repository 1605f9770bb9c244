"""isotopic: with its default solver, and with plain joint updates."""

import numpy as np

from benchmarks.solution.job import Job, Recorder
from isotopic import LDA, NMF


def nmf(job: Job, record: Recorder, solver: str = "auto") -> None:
    _fit(NMF, (job.weights, job.topics), solver, job, record)


def nmf_joint(job: Job, record: Recorder) -> None:
    nmf(job, record, "joint")


def lda(job: Job, record: Recorder, solver: str = "auto") -> None:
    """Fit LDA; each sample's tokens are at first shared out equally."""
    shares = np.asarray(job.X.sum(axis=1)).reshape(-1, 1) / job.components
    weights = job.prior + np.repeat(shares, job.components, axis=1)
    priors = {"alpha": job.prior, "eta": job.prior}
    _fit(LDA, (weights, job.topics), solver, job, record, **priors)


def lda_joint(job: Job, record: Recorder) -> None:
    lda(job, record, "joint")


def _fit(estimator: type, start: tuple, solver: str, job: Job, record: Recorder, **priors) -> None:
    model = estimator(
        job.components,
        solver=solver,
        init=start,
        max_iter=10**9,
        tol=0,
        n_jobs=job.threads,
        callbacks=lambda at: record(lambda: (at.state.weights.mean, at.state.topics.mean)),
        **priors,
    )
    record.start()
    model.fit(job.X)
