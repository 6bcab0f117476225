"""`representer completion`: a shell completion script."""

from __future__ import annotations

import argparse
from argparse import Namespace

from representer.cli.main import OK, parser

BASH = """_representer() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} words="{commands}"
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    [ "$COMP_CWORD" -gt 1 ] || words="{commands}"
    COMPREPLY=($(compgen -W "$words" -- "$cur") $(compgen -f -- "$cur"))
}}
complete -o filenames -F _representer representer
"""


def options_by_command() -> dict[str, list[str]]:
    """The options of each command."""
    [commands] = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return {
        name: sorted(option for action in each._actions for option in action.option_strings if option.startswith("--"))
        for name, each in commands.choices.items()
    }


def script(shell: str) -> str:
    """The completion script for a shell."""
    known = options_by_command()
    if shell == "fish":
        lines = [f"complete -c representer -n __fish_use_subcommand -a {name}" for name in known]
        for name, options in known.items():
            condition = f"'__fish_seen_subcommand_from {name}'"
            lines += [f"complete -c representer -n {condition} -l {option[2:]}" for option in options]
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'        {name}) words="{" ".join(options)}" ;;' for name, options in known.items())
    text = BASH.format(commands=" ".join(known), cases=cases)
    return text if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{text}"


def run(options: Namespace) -> int:
    """Print the script."""
    print(script(options.shell), end="")
    return OK
