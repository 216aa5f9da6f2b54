"""Group of commands whose help lists them by sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from bigtensor.cli.command import end_by_signal
from bigtensor.cli.output import refuse_output
from bigtensor.termination import signals_raise

_MOST_LETTERS = 200
"""Letters of the summary of a command. Summaries of more than a line are wrapped."""


class SectionedGroup(click.Group):
    """Group of commands in sections, each in the order in which they are used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections: dict[str, list[click.Command]] = {}

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, and say in one line that help cannot be printed."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            refuse_output(error)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Signals while its options are read have the exit codes of later ones."""
        try:
            with signals_raise():
                return super().invoke(ctx)
        except KeyboardInterrupt as signalled:
            ctx.exit(end_by_signal(ctx, signalled))

    def add_section(self, title: str, commands: Iterable[click.Command]) -> None:
        """Add commands below a title.

        Parameters
        ----------
        title : str
            Heading in the help.
        commands : iterable of click.Command
            In the order of the help.
        """
        self._sections[title] = list(commands)
        for command in self._sections[title]:
            self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the sections of the help."""
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (str(command.name), command.get_short_help_str(_MOST_LETTERS))
                        for command in commands
                    ]
                )
