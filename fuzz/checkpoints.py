"""Checkpoints that were valid once: a fit refuses them, or ends with a model that is valid."""

import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from fuzz.archive import CHANGES, COUNTS, content
from fuzz.loop import Property
from isotopic import LDA, NMF, GammaPoisson, TopicModel
from isotopic.estimators import Checkpoint

MODELS = {"NMF": NMF, "LDA": LDA, "GammaPoisson": GammaPoisson}


def _model(name: str, max_iter: int) -> TopicModel:
    model: TopicModel = MODELS[name](2, max_iter=max_iter, tol=0, random_state=0, init="random")
    return model


def _write_nmf(path: Path) -> None:
    _model("NMF", 3).fit(COUNTS, checkpoint=Checkpoint(path, 0))


def _write_lda(path: Path) -> None:
    _model("LDA", 3).fit(COUNTS, checkpoint=Checkpoint(path, 0))


def _write_gamma_poisson(path: Path) -> None:
    _model("GammaPoisson", 3).fit(COUNTS, checkpoint=Checkpoint(path, 0))


WRITERS = {"NMF": _write_nmf, "LDA": _write_lda, "GammaPoisson": _write_gamma_poisson}


def a_changed_checkpoint_is_refused_or_resumed(case: tuple[str, str, int]) -> None:
    """Raise a ValueError, or end with finite weights and topics of the right shapes."""
    name, change, seed = case
    whole = content(WRITERS[name])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a fit has not converged
        path = Path(folder, "checkpoint")
        path.write_bytes(CHANGES[change](np.random.default_rng(seed), whole))
        model = _model(name, 5)
        with suppress(ValueError):
            model.fit(COUNTS, checkpoint=Checkpoint(path, 0))
            assert model.components_.shape == (2, COUNTS.shape[1])
            assert model.weights_.shape == (COUNTS.shape[0], 2)
            for factor in (model.components_, model.weights_):
                assert np.all((factor >= 0) & (factor < np.inf)), factor


_SEEDS = st.integers(0, 2**32 - 1)
cases = st.tuples(st.sampled_from(sorted(WRITERS)), st.sampled_from(sorted(CHANGES)), _SEEDS)

PROPERTIES = [Property(a_changed_checkpoint_is_refused_or_resumed, cases)]
