"""What a command is: its options, its help text, and how its arguments are parsed."""

import argparse
import shutil
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import cleandoc, getdoc
from typing import Any, NoReturn

from isotopic.cli.output import InputError

# Columns of a help text: the widest page, and where the descriptions begin.
_WIDEST, _INDENT = 100, 28


class UsageError(InputError):
    """The arguments of a command cannot be understood."""


class CommandExit(Exception):  # noqa: N818 - not an error
    """The command ends at once, after it has said why."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass(frozen=True)
class Option:
    """An argument or an option of a command.

    Attributes
    ----------
    name : str
        ``"data"`` is an argument, ``"-k, --components"`` an option.
    help : str
        One or two sentences.
    metavar : str
        What stands for the value in the help text.
    parse : callable
        Returns the value of a text, or raises ValueError with a sentence that says why it cannot.
    default, default_text : object, str
        The value if the option is not given, and how the help text shows it.
    choices : tuple of str
        The values that are possible; upper and lower case are the same.
    group : str
        The heading of the option in the help text.
    is_required, is_flag, is_repeatable : bool
    """

    name: str
    help: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] = str
    default: Any = None
    default_text: str = ""
    choices: tuple[str, ...] = ()
    group: str = "Options"
    is_required: bool = False
    is_flag: bool = False
    is_repeatable: bool = False

    @property
    def flags(self) -> list[str]:
        """The ways to write the option; empty for an argument."""
        return self.name.split(", ") if self.name.startswith("-") else []

    @property
    def key(self) -> str:
        """The name of its value: ``max_iter`` for ``--max-iter``."""
        return self.name.split(", ")[-1].lstrip("-").replace("-", "_")

    @property
    def title(self) -> str:
        """What messages call it: ``-k/--components``, or ``DATA``."""
        return "/".join(self.flags) or self.key.upper()

    def read(self, text: str) -> Any:
        """Return the value of a text."""
        try:
            return _choose(text, self.choices) if self.choices else self.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Declare the option to argparse; the command itself checks that nothing is missing."""
        if not self.flags:
            kind: dict[str, Any] = {"nargs": "?", "type": self.read, "metavar": self.title}
        elif self.is_flag:
            kind = {"action": "store_true"}
        else:
            action = "append" if self.is_repeatable else "store"
            kind = {"dest": self.key, "type": self.read, "action": action}
        default = False if self.is_flag else self.default
        parser.add_argument(*self.flags or [self.key], default=default, **kind)

    def row(self) -> tuple[str, str]:
        """Return the two cells of the option in a help text."""
        default = self.default_text
        if not default and self.default is not None and not self.is_flag:
            default = str(self.default)
        notes = ["required"] if self.is_required and self.flags else []
        notes += [f"default: {default}"] if default else []
        notes += ["can be repeated"] if self.is_repeatable else []
        metavar = self.metavar or "|".join(self.choices)
        usage = f"{', '.join(self.flags) or self.title} {metavar}".rstrip()
        return usage, " ".join([self.help, *(f"[{note}]" for note in notes)])


@dataclass(frozen=True)
class Command:
    """A function that runs with the values of its options.

    Attributes
    ----------
    function : callable
        Takes the values and returns the exit code. Its docstring is the help text.
    options : tuple of Option
    examples : str
        One in each line.
    """

    function: Callable[[Namespace], int]
    options: tuple[Option, ...]
    examples: str

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.function.__name__

    def run(self, arguments: Sequence[str]) -> int:
        """Run the command and return its exit code."""
        if not {"-h", "--help"}.isdisjoint(arguments):
            print(self.help_text())
            return 0
        return self.function(self.parse(arguments))

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Return the values of the options, and the ``arguments`` themselves."""
        parser = _Parser(add_help=False, allow_abbrev=False)
        for option in self.options:
            option.add_to(parser)
        values, unknown = parser.parse_known_args(self._join_values(arguments))
        for text in unknown:
            if text.startswith("-") and text != "--":
                flags = [flag for option in self.options for flag in option.flags]
                raise UsageError(f"No such option: {text}.{self._advice(text, flags)}")
            if text != "--":
                raise UsageError(f"Unexpected argument {text!r}.{self._advice()}")
        for option in self.options:
            if option.is_required and getattr(values, option.key) is None:
                kind = "option" if option.flags else "argument"
                raise UsageError(f"Missing {kind} {option.title}.{self._advice()}")
        values.arguments = [self.name, *arguments]
        return values

    def _join_values(self, arguments: Sequence[str]) -> list[str]:
        """Write ``--alpha -1e-3`` as ``--alpha=-1e-3``, since argparse sees an option in it."""
        flags = {flag: option for option in self.options for flag in option.flags}
        joined: list[str] = []
        before: Option | None = None
        for i, text in enumerate(arguments):
            if text == "--":
                return joined + list(arguments[i:])
            looks_like_option = text.startswith("-") and len(text) > 1
            is_option = text.startswith("--") or text[:2] in flags
            if before is not None and looks_like_option and not is_option:
                joined[-1] = f"{before.flags[-1]}={text}"
            else:
                joined.append(text)
            option = flags.get(text)
            before = None if option is None or option.is_flag else option
        return joined

    def _advice(self, text: str = "", known: Iterable[str] = ()) -> str:
        return f"{suggest(text, known)} See isotopic {self.name} --help."

    def help_text(self) -> str:
        """Return the usage, what the command does, its options by group, and examples."""
        required = [option for option in self.options if option.is_required and option.flags]
        words = [o.title if o.is_required else f"[{o.title}]" for o in self.options if not o.flags]
        words += [f"{option.flags[0]} {option.metavar}" for option in required]
        usage = f"Usage: isotopic {' '.join([self.name, *words])} [OPTIONS]"
        groups: dict[str, list[tuple[str, str]]] = {}
        for option in self.options:
            groups.setdefault(option.group if option.flags else "Arguments", []).append(
                option.row()
            )
        groups.setdefault("Options", []).append(("-h, --help", "Show this text."))
        return help_page(usage, getdoc(self.function) or "", groups, self.examples)


def command(*options: Option, examples: str) -> Callable[[Callable[[Namespace], int]], Command]:
    """Return a decorator that makes a function a command with these options."""
    return lambda function: Command(function, options, examples)


def help_page(
    usage: str, description: str, groups: dict[str, list[tuple[str, str]]], examples: str
) -> str:
    """Return a help text that fits the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 0)).columns)
    paragraphs = [" ".join(paragraph.split()) for paragraph in description.split("\n\n")]
    parts = [usage, *(_wrap(paragraph, width, 2) for paragraph in paragraphs)]
    for heading, rows in groups.items():
        parts.append("\n".join([f"{heading}:", *(_help_row(*row, width) for row in rows)]))
    parts.append("Examples:\n" + textwrap.indent(cleandoc(examples), "  "))
    return "\n\n".join(parts)


def _help_row(name: str, text: str, width: int) -> str:
    described = _wrap(text, width, _INDENT)
    begin = f"  {name}  "
    if len(begin) > _INDENT:
        return f"{begin.rstrip()}\n{described}" if text else begin.rstrip()
    return begin.ljust(_INDENT) + described.lstrip()


def _wrap(text: str, width: int, indent: int) -> str:
    spaces = " " * indent
    return textwrap.fill(
        text,
        max(width, indent + 20),
        initial_indent=spaces,
        subsequent_indent=spaces,
        break_on_hyphens=False,
        break_long_words=False,
    )


def suggest(text: str, known: Iterable[str]) -> str:
    """Return a sentence that names the known word most like a mistyped one, or nothing."""
    close = get_close_matches(text.partition("=")[0], list(known), n=1, cutoff=0.7)
    return f" Did you mean {close[0]}?" if close else ""


def _choose(text: str, choices: Sequence[str]) -> str:
    """Return the choice that a text names; case is ignored."""
    names = {choice.lower(): choice for choice in choices}
    if text.lower() in names:
        return names[text.lower()]
    close = get_close_matches(text.lower(), names, n=1)
    meant = f" Did you mean {names[close[0]]}?" if close else ""
    raise ValueError(f"{text!r} is not one of {', '.join(choices)}.{meant}")


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))
