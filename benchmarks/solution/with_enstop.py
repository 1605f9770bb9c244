"""enstop: PLSA by EM, compiled by numba, in single precision.

Its estimator would first scale each sample to one; this is the loop below it, on the counts.
"""

import numpy as np
from enstop.plsa import plsa_e_step, plsa_m_step

from benchmarks.solution.job import Job, Recorder

THRESHOLD = np.float32(1e-32)  # its default: smaller responsibilities are zero


def plsa(job: Job, record: Recorder) -> None:
    X = job.X.tocoo()
    rows, columns = (part.astype(np.int32) for part in (X.row, X.col))
    values = X.data.astype(np.float32)
    weights, topics = (
        (side / side.sum(axis=1, keepdims=True)).astype(np.float32)
        for side in (job.weights, job.topics)
    )
    record.start()
    shared = np.zeros((len(values), job.components), np.float32)
    topic_sums = np.zeros(job.components, np.float32)
    sample_sums = np.zeros(len(weights), np.float32)
    while True:
        plsa_e_step(rows, columns, values, topics, weights, shared, THRESHOLD)
        plsa_m_step(rows, columns, values, topics, weights, shared, topic_sums, sample_sums)
        record(lambda: (weights, topics))
