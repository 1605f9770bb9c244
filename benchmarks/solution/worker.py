"""One contestant, alone in its process: ``python -m benchmarks.solution.worker FOLDER``."""

import json
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from benchmarks.solution.job import Finished, Job, Recorder

# Iterations that are not timed. Numba compiles again when the second one finds its arrays in
# another memory order than the first.
WARM_UP = 3


def main(folder: Path) -> None:
    module, function = (folder / "contestant.txt").read_text().split(":")
    began = time.perf_counter()
    run = getattr(import_module(f"benchmarks.solution.{module}"), function)
    imported = time.perf_counter()
    job = Job.load(folder / "job.npz")
    small = job.small()
    before = time.perf_counter()
    with suppress(Finished):
        run(small, Recorder(small.seconds, at_least=WARM_UP))
    warmed = time.perf_counter()
    with suppress(Finished):
        run(job, Recorder(job.seconds, folder))
    free = {"import": imported - began, "first": warmed - before}
    (folder / "free.json").write_text(json.dumps(free))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # pools of processes that were stopped in their middle do not end by themselves
