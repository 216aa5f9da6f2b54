"""Populations of a saved model: their facts, and a changed model in its place."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.output import one_line, say

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address
    from bigtensor.models.answers.mixture import MixtureAnswers


def load_mixture(path: Address) -> MixtureAnswers:
    """Return a fitted model with populations or components.

    Raises
    ------
    click.UsageError
        When the model is no mixture.
    """
    from bigtensor.models.answers.mixture import MixtureAnswers
    from bigtensor.models.contract.model_files import load_model

    model = load_model(path)
    if not isinstance(model, MixtureAnswers):
        raise click.UsageError(
            f"{path} is a {type(model).__name__}, which has no populations; give a model of "
            "populations, such as a KernelMixture"
        )
    return model


def population_facts(model: MixtureAnswers) -> list[dict[str, Any]]:
    """Return number, name, suggested name, weight and components of every population.

    A population without a name has the name "".
    """
    from bigtensor.models.words.label_level import level_of

    level = level_of(model)
    suggested = model.suggest_population_names()
    of_component = range(level.count) if level.of_component is None else level.of_component.tolist()
    return [
        {
            "population": number,
            "name": "" if level.names[number] == str(number) else level.names[number],
            "suggested_name": suggested[number],
            "weight": float(level.weights[number]),
            "components": [h for h, own in enumerate(of_component) if own == number],
        }
        for number in range(level.count)
    ]


def marker_thresholds(model: MixtureAnswers) -> dict[str, float]:
    """Return the values above which suggested names call a population positive, by marker."""
    return {name: float(value) for name, value in model._suggestions().thresholds.items()}


def population_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for every population: number, weight, and its name or a suggestion."""
    width = max(len(one_line(row["name"])) for row in rows)
    suggested = any(row["suggested_name"] and not row["name"] for row in rows)
    head = f"  {'number':>6}  {'weight':>8}" + f"  {'name':<{width}}" * bool(width)
    lines = [head + "  suggested name" * suggested]
    for row in rows:
        line = f"  {row['population']:>6}  {row['weight']:>8.2%}"
        line += f"  {one_line(row['name']):<{width}}" * bool(width)
        if not row["name"] and row["suggested_name"]:
            line += f"  {one_line(row['suggested_name'])}"
        lines.append(line.rstrip())
    return lines


def save_changed(
    model: MixtureAnswers,
    path: Address,
    out: Address | None,
    *,
    overwrite: bool,
    action: str,
    words: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Save a model in its place or elsewhere, and say which populations it has.

    Parameters
    ----------
    model : MixtureAnswers
        The changed model.
    path, out : Path or str
        Where it was loaded from, and where it is written to if not there.
    overwrite : bool
        If True, replace a model at `out`.
    action : str
        What was done, for the first line.
    words : sequence of str
        Lines after the first one.
    facts : mapping, optional
        Further facts for ``--json``.
    """
    # a store appears under its name when it is whole, so that the model in place is never half one
    target = model.save(out or path, overwrite=overwrite or out is None)
    rows = population_facts(model)
    lines = [f"model      {target}: {action}", *words, "populations", *population_lines(rows)]
    say("\n".join(lines), {"model": str(target), "populations": rows, **(facts or {})})


def own_names(model: MixtureAnswers) -> list[str]:
    """Return the names of populations that are no numbers."""
    names = model.population_names_.tolist()
    return [name for number, name in enumerate(names) if name != str(number)]


def dropped_names(before: Sequence[str], model: MixtureAnswers) -> str:
    """Say which names a model has no more; nothing if it has them all."""
    dropped = [one_line(name) for name in before if name not in model.population_names_]
    return f"; names dropped: {', '.join(dropped)}" if dropped else ""


def check_out(path: Address, out: Address | None, *, overwrite: bool) -> None:
    """Refuse an output that exists, before the model is loaded."""
    from bigtensor.cli.options import refuse_inputs
    from bigtensor.data.stores.outputs import check_target

    if out is not None:
        refuse_inputs(out, path, otherwise=", or leave --out out to change the model in place")
        check_target(out, overwrite=overwrite)


def populations_of(text: str) -> list[int | str]:
    """Return the numbers and names in a text such as ``2,18`` or ``"CD8, T",18``.

    A name with a comma is quoted as in CSV.
    """
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    return [population_of(cell) for line in lines for cell in line if cell.strip()]


def population_of(text: str) -> int | str:
    """Return the number or the name of a population."""
    name = text.strip()
    return int(name) if name.isdecimal() else name
