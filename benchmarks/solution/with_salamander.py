"""salamander: NMF of dense counts, compiled by numba."""

import numpy as np
from anndata import AnnData
from salamander.models import KLNMF

from benchmarks.solution.job import Job, Recorder


def nmf(job: Job, record: Recorder) -> None:
    model = _KLNMF(job.components, max_iterations=10**9, conv_test_freq=10**9)
    model.start, model.record = (job.weights, job.topics), record
    data = AnnData(job.X.toarray())
    record.start()
    model.fit(data)


class _KLNMF(KLNMF):
    """Starts with given factors and looks after each update of them."""

    def _initialize(self, *_unused, **_also_unused) -> None:
        weights, topics = self.start
        self.asignatures = AnnData(np.array(topics))
        self.adata.obsm["exposures"] = np.array(weights)

    def _update_parameters(self, *arguments, **settings) -> None:
        super()._update_parameters(*arguments, **settings)
        self.record(lambda: (self.adata.obsm["exposures"], self.asignatures.X))
