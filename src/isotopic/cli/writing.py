"""What becomes of a fit."""

import time
from pathlib import Path
from typing import Any

from isotopic.cli.folder import (
    FILES,
    REPORT,
    Fit,
    manifest_of,
    write_manifest,
    write_results,
)
from isotopic.cli.problems import in_one_line
from isotopic.cli.report import make_report


def write_fit(
    folder: Path, fit: Fit, *, report: bool = True, title: str | None = None
) -> dict[str, Any]:
    """Write the folder of a fit, the manifest last, and give what it says."""
    began = time.perf_counter()
    with in_one_line():
        write_results(folder, fit)
    wrote = time.perf_counter()
    if report:
        make_report(fit, folder / REPORT, title=title)
    seconds = {"writing": wrote - began, "report": time.perf_counter() - wrote}
    files = {name: text for name, text in FILES.items() if report or name != REPORT}
    manifest = manifest_of(fit, files)
    manifest["seconds"] = manifest.get("seconds", {}) | seconds
    with in_one_line():
        write_manifest(folder, manifest)
    return manifest
