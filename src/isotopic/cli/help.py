"""Help that ends with examples."""

from inspect import cleandoc
from typing import Any

import click


class Examples(click.Command):
    """A command whose help shows how it is used."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = cleandoc(examples)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are."""
        if self.examples:
            formatter.write("\nExamples:\n")
            formatter.write("".join(f"  {line}\n" for line in self.examples.splitlines()))
