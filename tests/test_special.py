"""Digamma, log-gamma and the effective factors made of them."""

import numpy as np
import pytest
from scipy import special

from isotopic.elementwise import effective_factor, gamma_functions

RANGE = np.concatenate(
    [
        np.geomspace(1e-6, 1e8, 200_001),
        1.4616321449683622 + np.linspace(-0.1, 0.1, 20_001),  # digamma's zero
        np.nextafter(8.0, [0, 9]),  # where the recurrence ends
        [1.0, 2.0, 8.0],
    ]
)


def test_digamma_is_as_good_as_scipys():
    digamma, _ = gamma_functions(RANGE)
    np.testing.assert_allclose(digamma, special.digamma(RANGE), rtol=1e-12)


def test_log_gamma_is_as_good_as_scipys():
    _, log_gamma = gamma_functions(RANGE)
    np.testing.assert_allclose(log_gamma, special.gammaln(RANGE), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (40, 33)])
def test_effective_factor(rng, order, dtype, rtol, shape):
    parameters = np.asarray(10 ** rng.uniform(-2, 6, shape), dtype, order=order)
    counts = np.asarray(rng.random(shape), dtype, order=order)
    offsets = rng.normal(size=shape[0])
    effective, term = effective_factor(parameters, counts, offsets)
    wide = parameters.astype(float)
    expected = np.exp(special.digamma(wide) - offsets[:, np.newaxis])
    assert effective.dtype == dtype
    np.testing.assert_allclose(effective, expected, rtol=rtol, atol=np.finfo(dtype).tiny)
    expected_term = (special.gammaln(wide) - counts * special.digamma(wide)).sum()
    assert term.sum() == pytest.approx(expected_term, rel=1e-12)


def test_effective_factor_over_the_whole_range():
    parameters = RANGE[RANGE > 2e-3][np.newaxis]  # below, the exponential is zero
    effective, _ = effective_factor(parameters, np.zeros_like(parameters))
    np.testing.assert_allclose(effective, np.exp(special.digamma(parameters)), rtol=1e-12)


def test_effective_factor_underflows_to_zero_quietly():
    parameters = np.array([[1e-6, 1e-4, 1.0]])
    effective, _ = effective_factor(parameters, np.zeros((1, 3)))
    np.testing.assert_array_equal(effective[0, :2], 0)
