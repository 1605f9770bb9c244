import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("isotopic", deadline=None, derandomize=True)
settings.load_profile("isotopic")


@pytest.fixture
def rng():
    return np.random.default_rng(12345)
