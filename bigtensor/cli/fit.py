"""``bigtensor fit``: a model from a store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import FactsCommand, in_options, when_interrupted
from bigtensor.cli.model_options import model_options
from bigtensor.cli.options import (
    DATA,
    PATH,
    missing_option,
    overwrite_option,
    refuse_inputs,
    runtime,
    runtime_options,
    seed_option,
)
from bigtensor.cli.output import say
from bigtensor.cli.plan import plan_facts
from bigtensor.cli.progress import duration, reporter
from bigtensor.cli.workers import started

MOST_WEIGHTS = 30
"""Weights that are shown at the end."""


@click.command(cls=FactsCommand)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option("--out", type=PATH, required=True, metavar="MODEL.zarr", help="The model to write.")
@model_options
@click.option(
    "--checkpoint",
    metavar="DIR",
    help="Keep finished parts here; the same command continues from them.",
)
@runtime_options
@seed_option
@missing_option
@overwrite_option
def fit(
    cells: str,
    out: Path,
    parameters: dict[str, Any],
    checkpoint: str | None,
    workers: int | None,
    scheduler: str | None,
    memory_limit: int | None,
    seed: int,
    missing: str | None,
    overwrite: bool,
) -> None:
    """Fit a mixture to the rows of a store.

    The plan is printed first; a plan that does not fit into the memory is refused.
    """
    refuse_inputs(out, cells)
    where = runtime(workers, scheduler, memory_limit)
    when_interrupted(
        [out],
        "nothing was written; with --checkpoint DIR, finished parts are kept"
        if checkpoint is None
        else f"finished parts are kept in {checkpoint}, and the same command continues from them",
    )
    from bigtensor.data.targets import check_target
    from bigtensor.models.kernel_mixture import KernelMixture

    model = KernelMixture(**parameters, missing=missing or "raise", random_state=seed)
    check_target(out, overwrite=overwrite)
    planned = _show_plan(model, cells, where)
    begin = time.perf_counter()
    with started(where) as running, reporter() as progress:
        model.fit(cells, checkpoint=checkpoint, listeners=[progress.listen], **running)
    model.save(out, overwrite=overwrite)
    seconds = time.perf_counter() - begin
    say(_summary(model, out, seconds), {**_facts(model, out, seconds), "plan": planned})
    if checkpoint is not None:
        say(f"checkpoint {checkpoint}: no longer needed, remove it when you like")


def _show_plan(model: Any, cells: str, where: dict[str, Any]) -> dict[str, Any]:
    """Print the plan, and refuse it in one line when it does not fit; return its facts."""
    from bigtensor.errors import PlanError

    plan = model.plan(cells, **where)
    say(in_options(f"{plan}\n", click.get_current_context().command))
    if not plan.fits:
        raise PlanError(f"the plan does not fit: {plan.advice()}")
    return plan_facts(plan)


def verdict_line(model: Any) -> str:
    """Return the verdict on a mixture without a fault. A fault was told in a warning."""
    verdict = model.diagnostics_["verdict"]
    return f"verdict    {' '.join(verdict['sentences'])}\n" if verdict["good"] else ""


def _facts(model: Any, out: Path, seconds: float) -> dict[str, Any]:
    """Return what was fitted, as ``--json`` prints it."""
    from bigtensor.models.summary import population_of_component

    found = model.diagnostics_
    merged = population_of_component(model) is not None
    return {
        "model": out,
        "components": len(model.weights_),
        "weights": model.weights_,
        "populations": len(model.population_weights_) if merged else None,
        "population_weights": model.population_weights_ if merged else None,
        "views": model.views_.as_mapping(),
        "rows": found["rows"],
        "passes": len(found["passes"]),
        "seconds": seconds,
        "verdict": found["verdict"],
        "notes": found["notes"],
    }


def _summary(model: Any, out: Path, seconds: float) -> str:
    """Say what was written where."""
    from bigtensor.models.summary import population_of_component

    merged = population_of_component(model) is not None
    weights = model.population_weights_ if merged else model.weights_
    listed = ", ".join(f"{weight:.4f}" for weight in weights[:MOST_WEIGHTS])
    if len(weights) > MOST_WEIGHTS:
        listed += f" and {len(weights) - MOST_WEIGHTS} more"
    populations = f", merged into {len(weights)} populations," if merged else ""
    passes = model.diagnostics_["passes"]
    notes = "".join(f"note       {note}.\n" for note in model.diagnostics_["notes"])
    return (
        f"model      {out}: {len(model.weights_)} components{populations} in "
        f"{len(model.views_.names)} views\n"
        f"weights    {listed}\n"
        f"{verdict_line(model)}"
        f"{in_options(notes, click.get_current_context().command)}"
        f"fitted on  {model.diagnostics_['rows']:,} rows in {len(passes)} passes, "
        f"{duration(seconds)}"
    )
