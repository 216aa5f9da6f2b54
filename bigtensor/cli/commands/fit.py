"""``bigtensor fit``: a model from a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.checkpoints import check_checkpoint, checkpoint_option, kept_if_interrupted
from bigtensor.cli.command import when_interrupted, written_for
from bigtensor.cli.commands.plan import plan_facts, planned_fit
from bigtensor.cli.conditions import (
    rows_that_meet,
    shares_as_facts,
    shares_in_words,
    where_option,
)
from bigtensor.cli.descriptions.model_info import table_lines
from bigtensor.cli.model_options import ModelCommand, unfitted_model
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    missing_option,
    overwrite_option,
    refuse_inputs,
    runtime_options,
    seed_option,
    weights_option,
)
from bigtensor.cli.output import say, seconds_taken
from bigtensor.cli.progress import reporter
from bigtensor.cli.sequences import in_order, sequence_option
from bigtensor.cli.workers import started
from bigtensor.engine.progress.reporter import duration
from bigtensor.models.words.suggested_facts import suggested_name_facts
from bigtensor.models.words.wording import counted

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address
    from bigtensor.engine.plan import Plan
    from bigtensor.models.contract.estimator import Estimator

MOST_TABLE_ROWS = 30
"""Components, populations, states or topics that the end of a fit lists one by one."""


@click.command(cls=ModelCommand)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="MODEL.zarr", help="The model to write."
)
@checkpoint_option
@where_option("Fit the rows that meet a condition.")
@sequence_option
@runtime_options
@seed_option
@missing_option
@weights_option
@overwrite_option
def fit(
    cells: str,
    out: Address,
    model: str,
    parameters: dict[str, Any],
    checkpoint: str | None,
    condition: str | None,
    sequence: str | None,
    where: dict[str, Any],
    seed: int,
    missing: str | None,
    weights: str,
    overwrite: bool,
) -> None:
    """Fit a model to the rows of a store.

    Without options, the kernel mixture finds the populations of the cells by their markers and
    counts them. The plan is printed first; a plan that does not fit into the memory is refused.
    """
    refuse_inputs(out, cells)
    check_checkpoint(checkpoint, cells, out)
    when_interrupted([out], kept_if_interrupted(checkpoint))
    from bigtensor.data.stores.outputs import check_target

    fitted = unfitted_model(model, parameters, missing=missing, weights=weights, random_state=seed)
    check_target(out, overwrite=overwrite)
    all_rows = in_order(cells, sequence, fitted)
    rows = rows_that_meet(condition, all_rows, cells, fitted)
    say(shares_in_words(rows).rstrip() or None)
    opened, plan = planned_fit(fitted, rows, where, checkpoint)
    _show(plan)
    with started(where, plan.tasks) as running, reporter() as progress:
        fitted.fit(opened, checkpoint=checkpoint, listeners=[progress.listen], **running)
    fitted.save(out, overwrite=overwrite)
    described = {**fitted.description.facts(fitted), **suggested_name_facts(fitted)}
    seconds = seconds_taken()
    facts = {**_facts(fitted, described, out, seconds), **shares_as_facts(rows)}
    say(_summary(fitted, described, out, seconds), {**facts, "plan": plan_facts(plan)})
    if checkpoint is not None:
        say(f"checkpoint {checkpoint}: no longer needed, remove it when you like")


def _show(plan: Plan) -> None:
    """Print the plan, and refuse it in one line when it does not fit."""
    from bigtensor.errors import PlanError

    say(written_for(click.get_current_context().command, plan.in_words() + "\n"))
    if not plan.fits:
        raise PlanError("the plan does not fit: " + plan.advice())


def _facts(
    model: Estimator, described: Mapping[str, Any], out: Address, seconds: float
) -> dict[str, Any]:
    """Return what was fitted, as ``--json`` prints it."""
    diagnostics = model.diagnostics_
    return {
        "model": out,
        **described,
        "views": model.views_.as_mapping(),
        "rows": diagnostics["rows"],
        "passes": len(diagnostics["passes"]),
        "seconds": seconds,
    }


def _summary(model: Estimator, described: Mapping[str, Any], out: Address, seconds: float) -> str:
    """Say what was written where."""
    diagnostics = model.diagnostics_
    passes = counted(len(diagnostics["passes"]), "pass", "passes")
    return (
        f"{result_in_words(model, described, out)}"
        f"fitted on  {diagnostics['rows']:,} rows in {passes}, {duration(seconds)} in all"
    )


def result_in_words(model: Estimator, facts: Mapping[str, Any], out: Address) -> str:
    """Return where a fitted model was written, its size, its table and how the fit ended.

    Parameters in the words are written as options of the running command.
    """
    description, command = model.description, click.get_current_context().command
    lines = [
        f"model      {out}: {in_views(description.size(facts), model)}",
        *table_lines(description.table(facts), MOST_TABLE_ROWS),
        *(f"{name:<10} {written_for(command, words)}" for name, words in description.lines(facts)),
    ]
    return "".join(f"{line}\n" for line in lines)


def in_views(size: str, model: Estimator) -> str:
    """Return the size of a model in words, which may be empty, with its number of views."""
    views = counted(len(model.views_.names), "view")
    return f"{size} in {views}" if size else views
