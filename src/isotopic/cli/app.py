"""The command ``isotopic`` and its exit codes."""

import sys
from collections.abc import Sequence

import click

import isotopic
from isotopic.cli.convert import convert
from isotopic.cli.demo import demo
from isotopic.cli.fit import fit
from isotopic.cli.info import info
from isotopic.cli.options import CommandWithExamples
from isotopic.cli.output import as_json, printable
from isotopic.cli.report import report
from isotopic.cli.select import select
from isotopic.cli.transform import transform
from isotopic.cli.verify import verify

_INTERRUPTED = 130


class _Group(CommandWithExamples, click.Group):
    """List the commands in the order in which they are added."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    isotopic demo                               fit the bundled corpus and write a report
    isotopic fit texts/ -k 20 -o out            fit a folder of .txt files
    isotopic fit counts.mtx -k 20 -o out        fit a count matrix (many formats)
    isotopic report out --open                  open the report
    isotopic transform out new.csv -o w.csv     infer the weights of new samples
    isotopic select counts.npz -k 5:50:5        choose the number of components
    eval "$(_ISOTOPIC_COMPLETE=bash_source isotopic)"    completion (or zsh_source, fish_source)
    """,
)
@click.version_option(isotopic.__version__, prog_name="isotopic", message="%(prog)s %(version)s")
def app() -> None:
    """Find the parts in count data: NMF, PLSA, LDA and Gamma-Poisson as one model."""


for command in (fit, transform, report, select, convert, verify, info, demo):
    app.add_command(command)


def run(argv: Sequence[str] | None) -> int:
    """Run a command and return its exit code; errors are printed as one line."""
    for stream in (sys.stdout, sys.stderr):  # escape what the terminal cannot encode
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = app.main(arguments, "isotopic", standalone_mode=False, obj=arguments)
    except click.exceptions.Abort:
        return _fail("Interrupted.", _INTERRUPTED, arguments)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        return _fail(error.format_message(), error.exit_code, arguments)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        sys.stderr.close()
        return 1
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    """Print the error, also as JSON if that was asked for, and return the exit code."""
    click.echo(f"isotopic: error: {printable(message)}", err=True)
    if "--json" in arguments:
        click.echo(as_json({"error": message, "exit_code": code}))
    return code
