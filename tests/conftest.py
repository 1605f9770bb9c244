import faulthandler
import os
import signal

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("isotopic", deadline=None, derandomize=True)
settings.load_profile("isotopic")

# The limit in pyproject.toml raises an exception in the main thread. Compiled code does not see it,
# and a block that waits for its threads on the way out goes on waiting. Some seconds later the
# process is therefore ended, with the stack of every thread; pytest-xdist then counts the test as
# failed and starts another worker.
GRACE = 60
_stderr = pytest.StashKey[int]()


def pytest_configure(config):
    # A shell starts its background jobs with SIGINT ignored, and every child process inherits that:
    # Python then installs no handler, and tests of Ctrl-C would wait until their limit.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # or the stacks would go where nobody sees them
        config.stash[_stderr] = os.dup(2)


def pytest_unconfigure(config):
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


@pytest.fixture
def rng():
    return np.random.default_rng(12345)
