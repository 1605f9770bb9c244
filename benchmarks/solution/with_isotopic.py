"""isotopic: with its default solver, and with plain joint updates."""

from benchmarks.solution.job import Job, Recorder
from isotopic import LDA, NMF


def nmf(job: Job, record: Recorder, solver: str = "auto") -> None:
    _fit(NMF, (job.weights, job.topics), solver, job, record)


def nmf_joint(job: Job, record: Recorder) -> None:
    nmf(job, record, "joint")


def lda(job: Job, record: Recorder) -> None:
    """Fit LDA as it is: it starts by itself, and learns its priors."""
    _fit(LDA, "auto", "auto", job, record, random_state=job.seed)


def lda_variational(job: Job, record: Recorder) -> None:
    """Fit the paper's bound, with the priors that everybody has."""
    priors = {"alpha": job.prior, "eta": job.prior, "estimate": "variational"}
    _fit(LDA, "auto", "auto", job, record, random_state=job.seed, **priors)


def _fit(
    estimator: type, start: tuple | str, solver: str, job: Job, record: Recorder, **settings
) -> None:
    model = estimator(
        job.components,
        solver=solver,
        init=start,
        max_iter=10**9,
        tol=0,
        n_jobs=job.threads,
        callbacks=lambda at: record(lambda: (at.state.weights.mean, at.state.topics.mean)),
        **settings,
    )
    record.start()
    model.fit(job.X)
