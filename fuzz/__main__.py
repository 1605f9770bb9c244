"""Fuzz for a while: ``python -m fuzz [--seconds 180] [--only core,archive] [--seed 0]``."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from isotopic._core import native

# What there is, and its share of the time; the core is run once for each instruction-set level.
SHARES = {
    "core": 5,
    "estimators": 3,
    "archive": 2,
    "checkpoints": 2,
    "readers": 4,
    "guided": 2,
}

# A worker that takes this much longer than it was asked to hangs.
PATIENCE_SECONDS = 120


@dataclass
class Result:
    """What came of a target."""

    cases: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)


def main() -> int:
    """Run the targets, print a line for each; 1 if anything was found."""
    arguments = _arguments()
    targets = list(arguments.only)
    if "guided" in targets and find_spec("atheris") is None:
        print("guided is skipped: atheris is not installed, or has no wheel for this machine")
        targets.remove("guided")
    found = 0
    for target in targets:
        share = SHARES[target] / sum(SHARES[each] for each in targets)
        found += _hunt(target, arguments.seconds * share, arguments.seed)
    return 1 if found else 0


def _hunt(target: str, seconds: float, seed: int) -> int:
    """Run a target and print what came of it; return how much was found."""
    if target == "guided":
        return _print(target, _run_guided(seconds, seed))
    if target != "core":
        return _print(target, _run(target, None, seconds, seed))
    levels = [*native.levels(), "numpy"]
    return sum(
        _print(f"core ({level})", _run("core", level, seconds / len(levels), seed))
        for level in levels
    )


def _print(name: str, result: Result) -> int:
    for finding in result.findings:
        print(f"--- {name}: {finding}\n")
    count = len(result.findings)
    print(
        f"{name:<16}{result.cases:8d} cases {result.seconds:7.1f} s {count:4d} findings", flush=True
    )
    return count


def _run(target: str, level: str | None, seconds: float, seed: int) -> Result:
    """Start workers until the time is over: one more, without the property, after each crash."""
    result, until = Result(), time.monotonic() + seconds
    without: list[str] = []
    chosen = {"ISOTOPIC_PURE_PYTHON": "1"} if level == "numpy" else {"ISOTOPIC_SIMD": level}
    environment = {**os.environ, **({} if level is None else chosen)}
    while (left := until - time.monotonic()) > 0:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes")
            command = [sys.executable, "-m", "fuzz.worker", target, str(left), str(seed)]
            process = subprocess.run(
                ["timeout", str(int(left) + PATIENCE_SECONDS), *command, str(notes), *without],
                capture_output=True,
                text=True,
                check=False,
                env=environment,
            )
            last = json.loads(notes.read_text("utf-8") or "{}") if notes.exists() else {}
        result.seconds += time.monotonic() - began
        result.cases += last.get("cases", 0)
        for name, text in map(json.loads, process.stdout.splitlines()):
            result.findings.append(f"{name}\n{text}")
            without.append(name)
        if process.returncode == 0:
            break
        result.findings.append(_crash(process, last))
        if not last:  # it did not come to its first case
            break
        without.append(last["property"])
    return result


def _run_guided(seconds: float, seed: int) -> Result:
    """Let atheris work; it brings sanitizers of its own, so the core must stay out."""
    environment = {**os.environ, "ISOTOPIC_PURE_PYTHON": "1"}
    environment.pop("LD_PRELOAD", None)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fuzz.guided", folder]
        limit = str(int(seconds) + PATIENCE_SECONDS)
        process = subprocess.run(
            [
                "timeout",
                limit,
                *command,
                f"-max_total_time={max(1, int(seconds))}",
                f"-seed={seed + 1}",
            ],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
    done = re.search(r"Done (\d+) runs", process.stderr)
    findings = [] if process.returncode == 0 else [process.stderr[-6000:]]
    return Result(int(done[1]) if done else 0, time.monotonic() - began, findings)


def _crash(process: "subprocess.CompletedProcess[str]", last: dict[str, str]) -> str:
    where = f"{last['property']}({last['case']})" if last else "the worker"
    return f"{where} ended with status {process.returncode}\n{process.stderr[:6000]}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="for all targets together")
    parser.add_argument("--only", type=_names, default=list(SHARES), metavar="NAMES")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same cases")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SHARES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no target is called {', '.join(unknown)}; there are {', '.join(SHARES)}"
        )
    return names


if __name__ == "__main__":
    sys.exit(main())
