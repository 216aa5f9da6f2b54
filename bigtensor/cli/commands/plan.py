"""``bigtensor plan``: what a fit would read and hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import written_for
from bigtensor.cli.conditions import (
    rows_that_meet,
    shares_as_facts,
    shares_in_words,
    where_option,
)
from bigtensor.cli.model_options import ModelCommand, unfitted_model
from bigtensor.cli.options import DATA, runtime_options
from bigtensor.cli.output import say
from bigtensor.cli.sequences import in_order, sequence_option

if TYPE_CHECKING:
    from bigtensor.data.rows.samples import Samples
    from bigtensor.engine.plan import Plan
    from bigtensor.models.contract.estimator import Estimator
    from bigtensor.models.contract.opened_fit import OpenedFit


@click.command(cls=ModelCommand)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--checkpoint", metavar="DIR", help="As for 'fit': count the parts that wait to be stored."
)
@where_option("Plan a fit of the rows that meet a condition.")
@sequence_option
@runtime_options
def plan(
    cells: str,
    model: str,
    parameters: dict[str, Any],
    checkpoint: str | None,
    condition: str | None,
    sequence: str | None,
    where: dict[str, Any],
) -> None:
    """Say what a fit would read, and how much memory it would need.

    No row is read, unless --where counts rows, and no worker is started.
    """
    unfitted = unfitted_model(model, parameters)
    all_rows = in_order(cells, sequence, unfitted)
    rows = rows_that_meet(condition, all_rows, cells, unfitted)
    _, planned = planned_fit(unfitted, rows, where, checkpoint)
    command = click.get_current_context().command
    words = shares_in_words(rows) + written_for(command, planned.in_words())
    say(words, {**plan_facts(planned), **shares_as_facts(rows)})


def planned_fit(
    model: Estimator, cells: str | Samples, where: dict[str, Any], checkpoint: str | None
) -> tuple[OpenedFit, Plan]:
    """Return the opened data of a fit, and its plan. No worker is waited for.

    Parameters
    ----------
    model : Estimator
        Unfitted model with its parameters.
    cells : path, URL or Samples
        Data of the fit.
    where : dict
        As `bigtensor.cli.options.runtime` returns it.
    checkpoint : str, optional
        Of the fit.
    """
    places = {name: value for name, value in where.items() if name != "wait_for_workers"}
    opened = model.open(cells, checkpoint=checkpoint, **places)
    assert opened.plan is not None
    return opened, opened.plan


def plan_facts(planned: Plan) -> dict[str, Any]:
    """Return a plan as ``--json`` prints it.

    Returns
    -------
    dict
        The fields of the plan; sizes are bytes. ``smaller`` names options of the running command.
    """
    command = click.get_current_context().command
    options = {
        part: [(setting, written_for(command, setting)) for setting in settings]
        for part, settings in planned.smaller.items()
    }
    # a parameter without an option is written for Python
    smaller = {
        part: [option for setting, option in pairs if option != setting]
        for part, pairs in options.items()
    }
    return {**asdict(planned), "smaller": smaller, "fits": planned.fits}
