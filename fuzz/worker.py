"""One target in a process of its own, which a sanitizer may end at any time.

``python -m fuzz.worker TARGET SECONDS SEED NOTES [PROPERTY ...]`` leaves out the named properties,
keeps what it is about to try in the file ``NOTES``, and prints each finding as a line of JSON.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from fuzz.loop import hunt


def main(target: str, seconds: str, seed: str, notes: str, *without: str) -> None:
    """Hunt, and print what is found."""
    properties = importlib.import_module(f"fuzz.{target}").PROPERTIES
    cases = 0
    with Path(notes).open("w", encoding="utf-8") as file:

        def announce(name: str, case: Any) -> None:
            nonlocal cases
            cases += 1
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"cases": cases, "property": name, "case": repr(case)}))
            file.flush()

        wanted = [each for each in properties if each.name not in without]
        for finding in hunt(wanted, float(seconds), int(seed), announce):
            print(json.dumps(finding), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
