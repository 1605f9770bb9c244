from typing import Any

import numpy as np
from numpy.typing import NDArray

_Doubles = NDArray[np.float64]

HISTOGRAM_SIZE: int
STACK_WIDTH: int

class Workspace: ...

class ColumnIndex:
    def arrays(self) -> tuple[NDArray[Any], ...]: ...

def expected_counts(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    block_rows: NDArray[np.int64],
    by_feature: ColumnIndex | None,
    weights: NDArray[Any],
    topics: NDArray[Any],
    weight_counts: NDArray[Any],
    topic_counts: NDArray[Any] | None,
    log_likelihoods: _Doubles,
    workspace: Workspace,
    threads: int,
) -> None: ...
def release_memory() -> None: ...
def pad_topics(topics: NDArray[Any], threads: int) -> NDArray[Any]: ...
def row_pass(
    row_starts: NDArray[np.int64],
    row_ends: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    weights: NDArray[Any],
    topics: NDArray[Any],
    weight_counts: NDArray[Any],
    log_likelihoods: _Doubles,
    threads: int,
) -> None: ...
def column_index(
    n_features: int,
    block_rows: NDArray[np.int64],
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    threads: int,
) -> ColumnIndex: ...
def order_values(by_feature: ColumnIndex, values: NDArray[Any], to: NDArray[Any]) -> None: ...
def divide(
    x: NDArray[Any], product: NDArray[Any], log_likelihoods: _Doubles, threads: int
) -> None: ...
def effective_factor(
    parameters: NDArray[Any],
    counts: NDArray[Any],
    row_offsets: _Doubles | None,
    column_offsets: _Doubles | None,
    effective: NDArray[Any],
    terms: _Doubles,
    threads: int,
) -> None: ...
def mean_posterior(
    parameters: NDArray[Any],
    counts: NDArray[Any],
    self_contribution: NDArray[Any] | None,
    prior: _Doubles,
    row_sums: _Doubles | None,
    column_sums: _Doubles | None,
    mean: NDArray[Any],
    effective: NDArray[Any] | None,
    terms: _Doubles,
    threads: int,
) -> None: ...
def distance(
    a: NDArray[Any],
    b: NDArray[Any],
    row_scale: _Doubles | None,
    column_scale: _Doubles | None,
    threads: int,
) -> float: ...
def row_distances(a: NDArray[Any], b: NDArray[Any], to: _Doubles, threads: int) -> None: ...
def sums(a: NDArray[Any], by_column: bool, to: _Doubles, threads: int) -> None: ...
def normalize(
    a: NDArray[Any], by_column: bool, sums: _Doubles, to: NDArray[Any], threads: int
) -> None: ...
def extrapolate(
    latest: NDArray[Any],
    previous: NDArray[Any],
    totals: _Doubles,
    momentum: _Doubles,
    floor: _Doubles,
    to: NDArray[Any],
    threads: int,
) -> None: ...
def squared_shares(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    weights: NDArray[Any],
    topics: NDArray[Any],
    to: NDArray[Any],
    threads: int,
) -> None: ...
def descend(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    others: NDArray[Any],
    slopes: _Doubles,
    repeats: _Doubles | None,
    sweeps: int,
    from_: NDArray[Any],
    to: NDArray[Any],
    threads: int,
) -> None: ...
def descend_features(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    block_rows: NDArray[np.int64],
    by_feature: ColumnIndex,
    whole: NDArray[np.uint16] | None,
    other: NDArray[Any] | None,
    others: NDArray[Any],
    slopes: _Doubles,
    sweeps: int,
    from_: NDArray[Any],
    to: NDArray[Any],
    threads: int,
) -> None: ...
def infer(
    row_starts: NDArray[np.int64],
    row_ends: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[Any],
    topics: NDArray[Any],
    prior: _Doubles,
    others: NDArray[Any] | None,
    scale: _Doubles | None,
    is_variational: bool,
    tol: float,
    max_updates: int,
    schedule: _Doubles,
    counts: NDArray[Any],
    squares: NDArray[Any] | None,
    log_likelihoods: _Doubles,
    residuals: _Doubles,
    updates: NDArray[np.int64],
    threads: int,
) -> None: ...
def select_topics(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    values: _Doubles,
    topics: _Doubles,
    penalties: _Doubles,
    background: float,
    fall: float,
    least_margin: float,
    estimates_dispersion: bool,
    weights: _Doubles,
    losses: _Doubles,
    margins: _Doubles,
    lower: _Doubles,
    upper: _Doubles,
    dispersions: _Doubles,
    threads: int,
) -> None: ...
def fit_rates(
    column_starts: NDArray[np.int64],
    samples: NDArray[np.int32],
    values: _Doubles,
    exposures: _Doubles,
    totals: _Doubles,
    overall: _Doubles,
    pseudo_count: float,
    rates: _Doubles,
    covariance: _Doubles,
    threads: int,
) -> None: ...
def count_histogram(
    counts: NDArray[Any],
    squares: NDArray[Any] | None,
    copies: _Doubles | None,
    by_column: bool,
    to: _Doubles,
    threads: int,
) -> None: ...
def concentration_rises(
    histogram: _Doubles, concentration: _Doubles, occurs: int, to: _Doubles, threads: int
) -> None: ...
def concentration_slopes(
    counts: NDArray[Any],
    squares: NDArray[Any] | None,
    prior: _Doubles,
    occurs: int,
    gains: _Doubles,
    losses: _Doubles,
    threads: int,
) -> None: ...
def draw_topics(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    repeats: NDArray[np.int32],
    weights: NDArray[np.float32],
    topics: NDArray[np.float32],
    seed: int,
    assignments: NDArray[np.int32],
    threads: int,
) -> None: ...
def sample_sweeps(
    row_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    repeats: NDArray[np.int32],
    sizes: NDArray[np.float32],
    copies: NDArray[np.float32],
    alpha: _Doubles,
    eta: float,
    sweeps: int,
    averaged: int,
    seed: int,
    assignments: NDArray[np.int32],
    weight_counts: NDArray[np.float32],
    topic_counts: NDArray[np.float32],
    threads: int,
) -> None: ...
def gamma_functions(x: _Doubles, digamma: _Doubles, log_gamma: _Doubles) -> None: ...
def level() -> str: ...
def levels() -> list[str]: ...
def stacked_pass(
    segment_features: NDArray[np.int32],
    segment_starts: NDArray[np.int64],
    entry_rows: NDArray[np.int32],
    values: NDArray[np.float32],
    weights: NDArray[np.float32],
    topics: NDArray[np.float32],
    totals: _Doubles,
    weight_counts: NDArray[np.float32],
    topic_counts: NDArray[np.float32],
    sums: _Doubles,
) -> None: ...
def extrapolate_stack(
    latest: NDArray[np.float32],
    previous: NDArray[np.float32],
    totals: NDArray[np.float32],
    momentum: NDArray[np.float32],
    floor: NDArray[np.float32],
    to: NDArray[np.float32],
) -> None: ...
