"""The command ``isotopic``, its list of commands and its exit codes."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import isotopic
from isotopic.cli.command import CommandExit, UsageError, help_page, suggest
from isotopic.cli.output import InputError, as_json, library_errors_as_messages, short

#: The commands and what they do; each is a function of that name in a module of that name.
COMMANDS = {
    "fit": "Fit a model and write the results to a folder.",
    "transform": "Infer the weights of new samples.",
    "report": "Write the HTML report of a fit.",
    "serve": "Explore and edit a fit in the browser.",
    "topics": "Print the topics of a fit.",
    "consensus": "Fit many times, choose the number of components and find consensus topics.",
    "decompose": "Say what the topics of a fit are in terms of known ones.",
    "refit": "Find which known topics each sample contains.",
    "convert": "Convert a fit to an exactly equivalent model.",
    "verify": "Check the claims of the paper on data.",
    "info": "Describe this installation, a data file or a fit.",
    "demo": "Fit the bundled corpus, print its topics and write a report.",
}
_OPTIONS = {"-h, --help": "Show this text.", "--version": "Show the version."}
_EXAMPLES = """
    isotopic demo                               fit the bundled corpus and write a report
    isotopic fit texts/ -k 20 -o out            fit a folder of .txt files
    isotopic fit counts.mtx -k 20 -o out        fit a count matrix (many formats)
    isotopic report out --open                  open the report
    isotopic transform out new.csv -o w.csv     infer the weights of new samples
    isotopic consensus counts.npz -k 5:20       choose the number of components
    isotopic fit --help                         describe a command and its options
    eval "$(_ISOTOPIC_COMPLETE=bash_source isotopic)"    completion (or zsh_source, fish_source)
    """
_INTERRUPTED = 130
_LONGEST = 1000  # letters of an error: more are cut, since a value can be of any length
_DEBUG = "ISOTOPIC_DEBUG"  # with this variable, an unexpected error ends with its traceback


def run(argv: Sequence[str] | None) -> int:
    """Run a command and return its exit code; errors are printed as one line."""
    for stream in (sys.stdout, sys.stderr):  # escape what the terminal cannot encode
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with library_errors_as_messages():
            code = _dispatch(arguments)
            if sys.stdout is not None:  # it can be closed
                sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("Interrupted.", _INTERRUPTED, arguments)
    except CommandExit as end:
        return end.code
    except InputError as error:
        return _fail(str(error), 2, arguments)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        _discard_output()
        return 1
    except Exception as error:
        if _DEBUG in os.environ:
            raise
        what = f"{type(error).__name__}: {error}"
        advice = f"Set {_DEBUG}=1 to see the traceback, and please report it."
        return _fail(f"Unexpected error ({what}). {advice}", 2, arguments)
    finally:
        _discard_output()
    return code


def find_command(name: str) -> Any:
    """Import a command when it is asked for, since most need slow libraries."""
    if name not in COMMANDS:
        known = " ".join(COMMANDS)
        raise UsageError(
            f"No such command {name!r}.{suggest(name, COMMANDS)} The commands are: {known}."
        )
    return getattr(import_module(f"isotopic.cli.{name}"), name)


def _dispatch(arguments: list[str]) -> int:
    shell = os.environ.get("_ISOTOPIC_COMPLETE")
    if shell is not None:
        return int(import_module("isotopic.cli.completion").complete(shell))
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help"):
        print(_help_text())
        return 0 if arguments else 2
    if first == "--version":
        print(f"isotopic {isotopic.__version__}")
        return 0
    if first.startswith("-"):
        flags = [flag for flags in _OPTIONS for flag in flags.split(", ")]
        raise UsageError(f"No such option: {first}.{suggest(first, flags)} See isotopic --help.")
    return int(find_command(first).run(arguments[1:]))


def _help_text() -> str:
    about = "Decompose count data with NMF, PLSA, LDA or Gamma-Poisson factorization."
    groups = {"Commands": list(COMMANDS.items()), "Options": list(_OPTIONS.items())}
    return help_page("Usage: isotopic COMMAND [OPTIONS]", about, groups, _EXAMPLES)


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    """Print the error, also as JSON if that was asked for, and return the exit code."""
    try:
        print(f"isotopic: error: {short(message, _LONGEST)}", file=sys.stderr)
        if "--json" in arguments:
            print(as_json({"error": message, "exit_code": code}))
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # a closed pipe or a full disk: there is nobody to tell
        _discard_output()
    return code


def _discard_output() -> None:
    """Redirect what cannot be written to the null device: Python flushes it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
