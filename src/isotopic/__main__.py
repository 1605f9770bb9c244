"""``python -m isotopic`` is the command ``isotopic``."""

import sys

from isotopic.cli import main

if __name__ == "__main__":
    sys.exit(main())
