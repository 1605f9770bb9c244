"""``isotopic serve``."""

import webbrowser
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from isotopic.cli import options
from isotopic.cli.command import Option, command
from isotopic.cli.folder import (
    FILES,
    StoredFit,
    counts_of_fit,
    is_fit,
    output_folder,
    read_folder,
    write_fit,
)
from isotopic.cli.output import (
    InputError,
    library_errors_as_messages,
    print_message,
    print_result,
    waiting,
)
from isotopic.io import CountData, Options
from isotopic.serve import PageServer, Session
from isotopic.serve.session import Version

_PORT = Option("--port", "Port of the server; 0 is any that is free.", "N", options.integer(0), 0)


@command(
    options.FOLDER,
    _PORT,
    replace(options.OPEN, help="Open the page in a browser."),
    options.THREADS,
    options.JSON,
    examples="""
    isotopic serve out --open     edit the fit in a browser; Ctrl-C ends it
    """,
)
def serve(given: Namespace) -> int:
    """Explore and edit the fit in FOLDER in the browser, on this machine only.

    The page is the report with what a file cannot do: infer the topics of a pasted text, merge,
    split, drop and name topics, add stop words, refit, see what changed, undo. Nothing is written
    until you save, into a new folder beside FOLDER unless you say otherwise.
    """
    fit = read_folder(given.folder)
    fit.model.n_jobs = given.threads
    data = counts_of_fit(fit)
    of_fit = fit.facts["data"].get("reading")
    known = of_fit if isinstance(of_fit, dict) else {}
    with library_errors_as_messages(), waiting("preparing the page"):
        session = Session(
            fit.model,
            data.counts,
            feature_names=data.feature_names,
            sample_names=data.sample_names,
            documents=data.documents,
            metadata=data.metadata,
            title=given.folder.absolute().name,
            reading={name: known.get(name, getattr(Options(), name)) for name in options.SPLITTING},
            save=_Saver(given.folder, fit, data),
            save_as=_free_name(given.folder),
        )
        session.page()
        server = PageServer(session, given.port)
    try:
        facts = {"url": server.url, "folder": str(given.folder)}
        print_result(facts, f"Open {server.url}", json_=given.json)
        print_message("Ctrl-C ends it. Who has this address can edit and save.")
        if given.open and not webbrowser.open(server.url):
            print_message("No browser was found. Open the address yourself.")
        server.serve_forever(0.2)
    except KeyboardInterrupt:
        if session.is_changed and session.current is not session.saved:
            print_message("Stopped. The last changes were not saved.")
        else:
            print_message("Stopped.")
    finally:
        server.server_close()
    return 0


def _free_name(folder: Path) -> str:
    """Return a name beside the folder that is not taken."""
    own, number = folder.absolute(), 2
    while (own.parent / f"{own.name}-{number}").exists():
        number += 1
    return f"{own.name}-{number}"


class _Saver:
    """Save a version as the folder of a fit, beside the one that is served."""

    def __init__(self, folder: Path, fit: StoredFit, data: CountData) -> None:
        self.folder, self.fit, self.data = folder.absolute(), fit, data

    def __call__(self, version: Version, name: str, overwrite: bool) -> str:
        """Save a version, and return the path of its folder; raise ValueError with the reason."""
        target = self._target(name, overwrite)
        data = replace(
            self.data, counts=version.X.astype(self.data.counts.dtype), **_names(self.data, version)
        )
        kept = ("source", "format", "reading")
        facts: dict[str, Any] = {
            "data": {key: self.fit.facts["data"].get(key) for key in kept},
            "edited_from": str(self.folder),
        }
        try:
            with output_folder(target, FILES, overwrite):
                write_fit(target, StoredFit(version.model, data, facts))
        except InputError as error:
            raise ValueError(str(error)) from error
        return str(target)

    def _target(self, name: str, overwrite: bool) -> Path:
        """Return the folder of that name; raise ValueError if it must not be written."""
        is_plain = name == Path(name).name and name not in ("", ".", "..") and len(name) <= 200
        if not is_plain or not name.isprintable() or any(sign in name for sign in '/\\:*?"<>|'):
            raise ValueError(f"{name!r:.100} is not the name of a folder. Use letters and digits.")
        target = self.folder.parent / name
        if target.exists() and not overwrite:
            raise ValueError(f"{target} exists. Choose another name, or allow to replace it.")
        if target.exists() and not is_fit(target):
            raise ValueError(f"{target} is not the folder of a fit, so it is not replaced.")
        return target


def _names(data: CountData, version: Version) -> dict[str, Any]:
    """Return the names of the data that is saved, which may have fewer features."""
    return {"feature_names": version.feature_names, "sample_names": data.sample_names}
