import faulthandler
import gc
import os
import signal
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

from isotopic import threads

# The same examples in every run, so that a failure is that of a change. `--hypothesis-profile
# thorough` looks further, and so do the fuzzers.
settings.register_profile("isotopic", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=5)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("isotopic")

# The limit in pyproject.toml raises an exception in the main thread. Compiled code does not see it,
# and a block that waits for its threads on the way out goes on waiting. Some seconds later the
# process is therefore ended, with the stack of every thread; pytest-xdist then counts the test as
# failed and starts another worker.
GRACE = 60
_stderr = pytest.StashKey[int]()


def pytest_xdist_auto_num_workers(config):
    """Use a worker more than there are cores: tests wait for browsers and other processes.

    Those that `--quick` runs hardly wait, and each worker takes some seconds to collect them.
    """
    return threads.available_cores() + (not config.getoption("quick"))


def pytest_configure(config):
    # Tests run side by side: each with as many threads as there are cores would mostly wait for
    # the others. Tests of threads say how many they want.
    if hasattr(config, "workerinput"):
        threads.available_cores = lambda: 1
    # A shell starts its background jobs with SIGINT ignored, and every child process inherits that:
    # Python then installs no handler, and tests of Ctrl-C would wait until their limit.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # or the stacks would go where nobody sees them
        config.stash[_stderr] = os.dup(2)


# What `--quick` leaves out: tests that start processes or browsers, long checks, documentation.
NOT_QUICK = {"test_atomic", "test_benchmarks", "test_callbacks", "test_cli", "test_comparison"}
NOT_QUICK |= {"test_damaged_files", "test_dask", "test_docs", "test_examples", "test_fuzz"}
NOT_QUICK |= {"test_hostile_files", "test_imports", "test_serve", "test_verify"}


def pytest_addoption(parser):
    text = "run only the first case of each test, none in a browser, and none of "
    text += ", ".join(sorted(NOT_QUICK))
    parser.addoption("--quick", action="store_true", help=text)
    text = "run every case of the tests that otherwise run a part of them"
    parser.addoption("--thorough", action="store_true", help=text)


def pytest_ignore_collect(collection_path, config):
    """Do not even import what `--quick` leaves out."""
    return True if config.getoption("quick") and collection_path.stem in NOT_QUICK else None


def pytest_collection_modifyitems(config, items):
    """Choose cases: all, the first of each test, or each n-th of those marked ``every(n)``.

    Large products of cases are marked so: n has no factor in common with the number of values of
    the last parameter, so every value is still met.
    """
    if config.getoption("thorough"):
        return
    numbers, chosen, others = Counter(), [], []
    for item in items:
        number = numbers[item.path, item.originalname]
        numbers[item.path, item.originalname] += 1
        marker = item.get_closest_marker("every")
        keep = number % marker.args[0] == 0 if marker else True
        if config.getoption("quick"):
            keep = number == 0 and "browser" not in item.fixturenames
        (chosen if keep else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


def pytest_collection_finish():
    """Leave what was imported and collected out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config):
    gc.unfreeze()  # or what is frozen in cycles outlives the compiled core, which reports a leak
    os.close(config.stash[_stderr])


def _limit(item):
    """End the process if the test is not over in time; its own limit is found as usual."""
    marker, option = item.get_closest_marker("timeout"), item.config.getoption("timeout")
    given = item.config.getini("timeout") if option is None else option
    seconds = float(marker.args[0] if marker else given)
    if seconds > 0:
        file = item.config.stash[_stderr]
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=file)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    _limit(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    _limit(item)  # again: a failure ends both limits


def pytest_enter_pdb():
    faulthandler.cancel_dump_traceback_later()


# Fixtures ``browser`` and ``open_page``, for the tests of the report.
pytest_plugins = ("browsing",)


@pytest.fixture
def rng():
    return np.random.default_rng(12345)
