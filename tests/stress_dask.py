"""Fits on a Dask cluster that is disturbed at random moments.

``python tests/stress_dask.py --rounds 100 --burners 2`` runs rounds of each kind in turn beside
processes that keep the cores busy, and prints how they ended. Every round must end with the bits of
an undisturbed fit or, where the kind says so, with a ConnectionError. A round that takes longer
than ``ROUND_SECONDS`` ends the program with the stacks of all threads.
"""

import argparse
import contextlib
import faulthandler
import logging
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from functools import partial

import distributed
import numpy as np
from problems import sparse_counts
from scipy import sparse

from isotopic import NMF, open_blocks
from isotopic.dask import cluster as calls

# Seconds that a round may take with the limits below.
ROUND_SECONDS = 120

# Limits that make rounds short: those of the package would let a round wait for minutes.
LIMITS = {
    "ANSWER_SECONDS": 6.0,
    "CONNECT_SECONDS": 1.0,
    "CHECK_SECONDS": 0.5,
    "WORKER_SECONDS": 30.0,
}

# Kinds of disturbance, and the ends that each of them may have.
SAME, ERROR = "same bits", "ConnectionError"
KINDS = {
    "kill a worker": {SAME},
    "kill all workers": {SAME},
    "pause a worker": {SAME},
    "stop a worker": {SAME},
    "stop all workers": {SAME, ERROR},
    "pause the scheduler": {SAME, ERROR},
    "kill the scheduler": {SAME, ERROR},
}


def write_shards(folder):
    """Write the data of a round; return its undisturbed fit."""
    X = sparse_counts(np.random.default_rng(0), 160, 60, 0.3)
    for i in range(8):
        sparse.save_npz(pathlib.Path(folder) / f"{i}.npz", X[20 * i : 20 * (i + 1)])
    return fit(folder)


def fit(folder, client=None, callbacks=None):
    """Fit a model in a few passes."""
    model = NMF(3, max_iter=10, tol=0, random_state=0, callbacks=callbacks)
    return model.fit(open_blocks(folder, client=client, block_entries=1))


def has_same_bits(model, other):
    """Tell whether two fits agree in every bit."""
    names = ("components_", "weights_", "objective_")
    return all(np.array_equal(getattr(model, name), getattr(other, name)) for name in names)


class Processes:
    """A cluster of a scheduler and two workers with a nanny each, as processes that can be hit."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = str(pathlib.Path(self.folder.name) / "scheduler.json")
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        wait_until(lambda: os.path.exists(self.file))
        self.nannies = self._start("worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
        self.client = connect(self.file)

    def _start(self, kind, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        return subprocess.Popen(
            [*command, "--scheduler-file", self.file],
            # Workers are forked from a process that has imported everything: they start at once.
            env={**os.environ, "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self):
        """Kill everything: the processes of a session are in one group."""
        for process in (self.nannies, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)
        self.client.close(timeout=5)
        self.folder.cleanup()


def connect(file):
    """Return a client, however slow the machine is, that gives up a lost scheduler soon."""
    client = distributed.Client(scheduler_file=file, set_as_default=False, timeout=120)
    client._timeout = 10
    return client


def worker_pids(client, n_workers=2):
    """Return the processes of the workers, when all of them answer."""
    pids = []

    def all_answer():
        with contextlib.suppress(OSError):  # the scheduler does not know yet who was killed
            pids[:] = client.sync(client._run, os.getpid, callback_timeout=10).values()
        return len(pids) == n_workers

    wait_until(all_answer)
    return sorted(pids)


def wait_until(is_true, seconds=300):
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"nothing happened in {seconds} seconds"
        time.sleep(0.05)


def set_limits(replace):
    """Set shorter limits by ``replace(module, name, value)``."""
    for name, value in LIMITS.items():
        replace(calls, name, value)


def record_losses(replace):
    """Return a list to which the reason of each loss that the engine notices is added."""
    reasons = []

    class ClusterLost(calls.ClusterLost):
        def __init__(self, reason):
            reasons.append(reason[:60])
            super().__init__(reason)

    replace(calls, "ClusterLost", ClusterLost)
    return reasons


def time_fit(folder, processes):
    """Return the seconds of a fit by workers that have imported everything."""
    worker_pids(processes.client)
    fit(folder, processes.client)
    start = time.monotonic()
    fit(folder, processes.client)
    return time.monotonic() - start


def run_round(kind, folder, undisturbed, processes, *, seconds=None, pause=None):
    """Disturb a fit; return how it ended and how long it took.

    It is disturbed after some seconds, or else after its third iteration. What is paused goes on
    after ``pause()`` returns.
    """
    verb, _, whom = kind.partition(" ")
    pids = worker_pids(processes.client)
    victims = {
        "a worker": pids[:1],
        "all workers": pids,
        "the scheduler": [processes.scheduler.pid],
    }[whom]

    def resume():
        pause()
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)

    resuming = threading.Thread(target=resume)

    def disturb():
        for victim in victims:
            os.kill(victim, signal.SIGKILL if verb == "kill" else signal.SIGSTOP)
        if verb == "pause":
            resuming.start()

    def look(at):
        if seconds is None and at.iteration == 3:
            disturb()

    timer = threading.Timer(math.inf if seconds is None else seconds, disturb)
    start = time.monotonic()
    if seconds is not None:
        timer.start()
    try:
        model = fit(folder, processes.client, look)
        how = SAME if has_same_bits(model, undisturbed) else "OTHER BITS"
    except ConnectionError:
        how = ERROR
    took = time.monotonic() - start
    timer.cancel()
    for thread in (timer, resuming):
        if thread.ident is not None:  # it was started
            thread.join(timeout=60)
    if verb == "stop":
        for victim in victims:  # its nanny starts another
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
    return how, took


def main():
    """Run rounds and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--burners", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    set_limits(setattr)
    lost = record_losses(setattr)
    rng = np.random.default_rng(options.seed)
    burn = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burn) for _ in range(options.burners)]
    ends = defaultdict(list)
    is_good, processes = True, None
    try:
        with tempfile.TemporaryDirectory() as folder:
            undisturbed = write_shards(folder)
            for i in range(options.rounds):
                kind = options.kinds[i % len(options.kinds)]
                moment, pause = rng.uniform(), rng.uniform(0.1, 15)
                faulthandler.dump_traceback_later(ROUND_SECONDS, exit=True)
                processes = processes or Processes()
                seconds = moment * time_fit(folder, processes)
                lost.clear()
                how, took = run_round(
                    kind,
                    folder,
                    undisturbed,
                    processes,
                    seconds=seconds,
                    pause=partial(time.sleep, pause),
                )
                if "scheduler" in kind:
                    processes = processes.close()
                faulthandler.cancel_dump_traceback_later()
                print(
                    f"{i:4} {kind:20} at {moment:.2f}: {how}, {took:.1f} s {lost}",
                    flush=True,
                )
                lost.clear()
                ends[kind, how].append(took)
                is_good &= how in KINDS[kind]
    finally:
        if processes is not None:
            processes.close()
        for burner in burners:
            burner.kill()
    for (kind, how), took in sorted(ends.items()):
        print(f"{kind:20} {how:16} {len(took):4} rounds, slowest {max(took):5.1f} s")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
