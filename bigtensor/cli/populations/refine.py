"""``bigtensor refine``: a rare population found within another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.checkpoints import check_checkpoint, checkpoint_option
from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.conditions import rows_that_meet, where_option
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    missing_option,
    overwrite_option,
    runtime_options,
)
from bigtensor.cli.output import one_line
from bigtensor.cli.populations.named_populations import (
    check_out,
    load_mixture,
    population_of,
    save_changed,
)
from bigtensor.cli.progress import reporter
from bigtensor.cli.workers import started

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bigtensor.data.addresses.store_address import Address

_MOST_OTHERS = 5
"""Further tails that are shown. JSON holds all."""


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--population",
    required=True,
    metavar="NAME|NUMBER",
    help="The population to look into. Merge populations first to look into several at once.",
)
@click.option(
    "--feature",
    metavar="NAME",
    help="Divide by this feature, such as CD69. By default it is chosen.",
)
@click.option(
    "--by",
    metavar="VARIABLE",
    help="Variable of the rows that names the sample; by default sample_id if there is one.",
)
@where_option("Use the rows that meet a condition, such as live cells.")
@checkpoint_option
@click.option(
    "--out",
    type=ADDRESS,
    metavar="MODEL.zarr",
    help="Write the model here. By default MODEL.zarr itself is changed.",
)
@runtime_options
@missing_option
@overwrite_option
def refine(
    model_path: Address,
    cells: str,
    population: str,
    feature: str | None,
    by: str | None,
    condition: str | None,
    checkpoint: str | None,
    out: Address | None,
    where: dict[str, Any],
    missing: str | None,
    overwrite: bool,
) -> None:
    """Find rare cells, such as activated ones, within one population.

    The population is divided in two by one feature: most cells lie around its main mode, and the
    rare ones in the tail above or below. One pass reads the cells. Without --feature, tails of all
    features are compared. Of those with at most 5 % of the population, the one is taken whose
    number of cells differs most between samples. With one sample, it is the clearest one. A larger
    tail is used only if --feature names it. A tail is not used if it disappears once the values of
    all samples are shifted and scaled to agree, as after a day effect.

    Both parts get the name of the population with the sign of the feature, such as 'CD4 T CD69+'.
    If the population is 'CD69+' already, 'CD69lo' and 'CD69hi' are added. The threshold is the
    value beyond which cells are more probably rare than not. Labels, shares and probabilities
    divide the population there, as a gate does. Rare cells below the threshold and other cells
    above it are not corrected for.

    Populations are then numbered by weight again, so that labels have to be predicted again. To
    undo it, merge the two parts and name them again.
    """
    check_out(model_path, out, overwrite=overwrite)
    check_checkpoint(checkpoint, cells, model_path, *([] if out is None else [out]))
    when_interrupted([] if out is None else [out])
    model = load_mixture(model_path)
    if not hasattr(model, "refine_population"):
        raise click.UsageError(
            f"{model_path} is a {type(model).__name__}, whose populations cannot be divided by a "
            "feature; write the population with 'bigtensor subset' and fit a model to it"
        )
    missing_of_fit = model.missing
    if missing is not None:
        model.set_params(missing=missing)
    rows = rows_that_meet(condition, cells, cells, model)
    with reporter() as progress, started(where) as running:
        model.refine_population(
            population_of(population),
            rows,
            feature=feature,
            by=by,
            checkpoint=checkpoint,
            listeners=[progress.listen],
            **running,
        )
    # the rule of this command is none of the model
    model.set_params(missing=missing_of_fit)
    facts = model.diagnostics_["refinements"][-1]
    save_changed(
        model,
        model_path,
        out,
        overwrite=overwrite,
        action=f"population {one_line(facts['population'])} divided by {facts['feature']}",
        words=_in_words(facts),
        facts={"refinement": facts},
    )


def _in_words(facts: Mapping[str, Any]) -> list[str]:
    """Say where the population was divided, and which other features could divide it."""
    rest, rare = map(one_line, facts["parts"])
    side = "above" if facts["side"] == "upper" else "below"
    lines = [
        f"tail       {rare}: about {facts['rows']:,.0f} cells, {facts['share']:.2%} of the "
        f"population, with {facts['feature']} {side} {facts['threshold']:.3g}{_variation(facts)}",
        f"rest       {rest}",
        "           (an expected number; predict counts the labels)",
    ]
    if facts["decisive_sample"] is not None:
        lines.append(
            f"           {facts['share_of_largest_sample']:.0%} of the tail is in one sample, "
            f"{one_line(facts['decisive_sample'])}; look at it before you compare samples"
        )
    others = [one for one in facts["candidates"] if one["clear"] and not _is_chosen(one, facts)]
    if others:
        lines.append("also possible, with --feature")
        lines += [f"  {_other(one)}" for one in others[:_MOST_OTHERS]]
    return lines


def _is_chosen(candidate: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Return True for the tail that divides the population."""
    return all(candidate[key] == facts[key] for key in ("feature", "side"))


def _other(candidate: Mapping[str, Any]) -> str:
    """Describe a tail that was not taken."""
    size = "high" if candidate["side"] == "upper" else "low"
    return (
        f"{one_line(candidate['feature'])} {size}: {candidate['rows']:,.0f} cells, "
        f"{candidate['share']:.2%}{_variation(candidate)}"
    )


def _variation(facts: Mapping[str, Any]) -> str:
    """Say how much the number of cells differs between samples."""
    variation = facts["variation_between_samples"]
    if variation is None:
        return ""
    return f"; differs between samples {variation:.0f} times as much as by chance"
