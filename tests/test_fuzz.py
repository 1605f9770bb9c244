"""The fuzzers themselves: their properties can be drawn and hold for a few cases."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from fuzz import archive, checkpoints, core, estimators, readers  # noqa: E402
from fuzz.loop import hunt  # noqa: E402
from isotopic._core import native  # noqa: E402

TARGETS = [archive, checkpoints, core, estimators, readers]
PROPERTIES = [each for target in TARGETS for each in target.PROPERTIES]


@pytest.mark.skipif(native.level() == "numpy", reason="it checks nothing, and need not")
def test_wrong_calls_of_every_function_of_the_core_are_tried():
    from fuzz import calls

    assert calls.functions_without_calls() == set()
    for name in calls.functions():
        calls.a_good_call_works(name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.name)
def test_fuzzers_keep_up_with_the_code(each):
    cases = []
    found = list(hunt([replace(each, batch=5)], 0.01, 0, lambda name, case: cases.append(case)))
    assert found == []
    assert cases
