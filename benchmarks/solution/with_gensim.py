"""gensim: LdaModel with one thread, LdaMulticore with more."""

from itertools import pairwise

from gensim.models import LdaModel, LdaMulticore

from benchmarks.solution.job import Job, Recorder


def lda(job: Job, record: Recorder) -> None:
    X = job.X
    corpus = [
        list(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
        for begin, end in pairwise(X.indptr)
    ]
    model = _model(job)
    model.state.sstats[...] = job.topics - job.prior
    model.sync_state()
    model.record = record
    record.start()
    model.update(corpus)


def _model(job: Job) -> LdaModel:
    settings = {
        "num_topics": job.components,
        "id2word": {i: str(i) for i in range(job.X.shape[1])},
        "alpha": [job.prior] * job.components,
        "eta": job.prior,
        "passes": 10**9,
        "eval_every": None,
        "random_state": job.seed,
    }
    if job.threads == 1:
        return _Single(**settings)
    return _Multicore(workers=job.threads, **settings)


class _Watched:
    """Looks after each update of the topics."""

    record: Recorder

    def do_mstep(self, *arguments, **settings) -> None:
        super().do_mstep(*arguments, **settings)
        self.record(lambda: (None, self.get_topics()))

    def __getstate__(self) -> dict:
        """Leave the clock at home when a process is sent a copy."""
        return {name: value for name, value in vars(self).items() if name != "record"}


class _Single(_Watched, LdaModel):
    pass


class _Multicore(_Watched, LdaMulticore):
    pass
