"""tomotopy: collapsed Gibbs sampling. It starts at random, since it can be given no topics."""

import numpy as np
import tomotopy

from benchmarks.solution.job import Job, Recorder
from benchmarks.solution.tokens import words

SWEEPS = 10  # in a call, as its own examples have it


def lda(job: Job, record: Recorder) -> None:
    model = tomotopy.LDAModel(
        k=job.components, alpha=job.prior, eta=job.prior, seed=job.seed, min_cf=0, rm_top=0
    )
    model.optim_interval = 0  # the same prior as everybody's
    for document in words(job.X):
        model.add_doc(document)
    model.train(0)
    columns = np.array([int(word) for word in model.used_vocabs])

    def topics() -> tuple[None, np.ndarray]:
        found = np.zeros(job.topics.shape)
        found[:, columns] = [model.get_topic_word_dist(k) for k in range(job.components)]
        return None, found

    record.start()
    while True:
        model.train(SWEEPS, workers=job.threads)
        record(topics)
