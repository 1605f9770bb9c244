"""Run the code of the home page, so that the report that it writes is part of the site."""

import os
import re
from contextlib import chdir
from pathlib import Path

PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_home_example(app, exception):
    """Run the program of ``index.md`` in the folder of the built site."""
    if exception is not None or app.builder.format != "html":
        return
    program = PROGRAM.search((Path(app.srcdir) / "index.md").read_text(encoding="utf-8"))[1]
    (Path(app.outdir) / "kjv.html").unlink(missing_ok=True)
    with chdir(os.fspath(app.outdir)):
        exec(compile(program, "index.md", "exec"), {})


def setup(app):
    """Connect the program to the end of the build."""
    app.connect("build-finished", run_home_example)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
