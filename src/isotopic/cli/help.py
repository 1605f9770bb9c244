"""Help texts that end with examples."""

from inspect import cleandoc
from typing import Any

import click


class CommandWithExamples(click.Command):
    """A command whose ``--help`` ends with examples of its use."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = cleandoc(examples)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples without rewrapping their lines."""
        if self.examples:
            formatter.write("\nExamples:\n")
            formatter.write("".join(f"  {line}\n" for line in self.examples.splitlines()))
