"""Completion of commands, options and their values in a shell."""

import os
from collections.abc import Sequence

from isotopic.cli.app import COMMANDS, find_command
from isotopic.cli.command import UsageError

# What a shell evaluates: a function that calls this program, with the words in COMP_WORDS (one per
# line) and the index of the current one in COMP_CWORD. If it prints nothing, files are completed.
_SCRIPTS = {
    "bash_source": r"""
_isotopic_completion() {
    local IFS=$'\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \
        _ISOTOPIC_COMPLETE=words isotopic 2>/dev/null))
}
complete -o default -F _isotopic_completion isotopic
""",
    "zsh_source": r"""
_isotopic_completion() {
    local -a found
    found=("${(@f)$(COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT - 1)) \
        _ISOTOPIC_COMPLETE=words isotopic 2>/dev/null)}")
    if [[ -n "${found[*]}" ]]; then compadd -- $found; else _files; fi
}
compdef _isotopic_completion isotopic
""",
    "fish_source": r"""
function _isotopic_completion
    set -l before (commandline -opc)
    COMP_WORDS=(string join \n -- $before (commandline -ct) | string collect) \
        COMP_CWORD=(count $before) _ISOTOPIC_COMPLETE=words isotopic 2>/dev/null
end
complete -c isotopic -a '(_isotopic_completion)'
""",
}


def complete(request: str) -> int:
    """Print the script of a shell, or the words that could stand at the cursor."""
    if request in _SCRIPTS:
        print(_SCRIPTS[request].strip())
        return 0
    if request != "words":
        known = ", ".join(_SCRIPTS)
        raise UsageError(f"_ISOTOPIC_COMPLETE must be one of {known}, not {request!r}.")
    words = os.environ.get("COMP_WORDS", "").split("\n")
    place = int(os.environ.get("COMP_CWORD", len(words) - 1))
    words = [*words[:place], *(words[place : place + 1] or [""])]
    for word in possible_words(words[1:]):
        print(word)
    return 0


def possible_words(words: Sequence[str]) -> list[str]:
    """Return the words that could replace the last one."""
    *before, current = words
    if not before:
        possible = [*COMMANDS, "--help", "--version"]
    elif before[0] in COMMANDS:
        options = find_command(before[0]).options
        asked = [option for option in options if before[-1] in option.flags and not option.is_flag]
        if asked:
            possible = list(asked[0].choices)
        else:
            flags = [flag for option in options for flag in option.flags if flag.startswith("--")]
            possible = [*flags, "--help"] if current.startswith("-") else []
    else:
        possible = []
    return [word for word in possible if word.lower().startswith(current.lower())]
