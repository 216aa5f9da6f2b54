"""``bigtensor simulate``: rows with known truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import (
    ADDRESS,
    WordChoice,
    components_option,
    count,
    overwrite_option,
    seed_option,
)
from bigtensor.cli.output import say
from bigtensor.cli.progress import reporter
from bigtensor.cli.simulators import SIMULATORS, Choice, Simulator

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.group()
def simulate() -> None:
    """Write rows with known truth to a store."""


def _command(kind: str, simulator: Simulator) -> click.Command:
    """Return the command that runs a simulator."""

    @simulate.command(kind, cls=Command, help=simulator.summary)
    @click.argument("out", type=ADDRESS, metavar="OUT.zarr")
    @click.option("--rows", type=count(), required=True, help="Number of rows, such as 1e6.")
    @seed_option
    @overwrite_option
    def write(
        out: Address,
        rows: int,
        seed: int,
        overwrite: bool,
        components: int | None = None,
        **choices: float | str,
    ) -> None:
        with reporter() as progress, progress.rows("simulate") as advance:
            simulator.load()(
                out,
                rows,
                *([] if components is None else [components]),
                **choices,
                random_state=seed,
                overwrite=overwrite,
                progress=advance,
            )
        number = "" if components is None else f" of {components} components"
        say(
            f"data       {out}: {rows:,} rows{number}, with {simulator.truth}",
            {"data": out, "rows": rows, "components": components, **choices, "seed": seed},
        )

    # the options of the simulator stand before those that every command has
    general = [parameter.name for parameter in write.params].index("seed")
    if not simulator.names_components:
        components_option(write)
        write.params.insert(general, write.params.pop())
        general += 1
    write.params[general:general] = [
        click.Option(
            [f"--{choice.name.removeprefix('n_').replace('_', '-')}", choice.name],
            type=_type_of(choice),
            default=choice.default,
            show_default=True,
            help=choice.help,
        )
        for choice in simulator.choices
    ]
    return write


def _type_of(choice: Choice) -> click.ParamType[Any] | Callable[[Any], int] | type[float]:
    """Return the type of an option."""
    if choice.words:
        return WordChoice(choice.words)
    return count(1) if isinstance(choice.default, int) else float


for _kind, _simulator in SIMULATORS.items():
    _command(_kind, _simulator)
