"""Laws of mixtures: names and merges of populations survive files, rounds and moved columns."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from bigtensor.data.exporters.labels import open_labels
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.store import read_group
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import require, require_same
from bigtensor.testing.model_runs import model_law, temporary_folder
from bigtensor.testing.unit_laws import ORIGIN, UNIT

LEAST_AGREEMENT = 0.8
"""Smallest share of rows that keep the name of their label in the next round of a fit."""


@model_law
def names_and_merges_survive_files(case: ModelCase) -> None:
    """Assert that a loaded model has the names and merges, and that stored labels have the names.

    Models without populations are left out.
    """
    if not isinstance(case.fitted, MixtureAnswers):
        return
    model = _with_named_populations(deepcopy(case.fitted))
    names = model.population_names_.tolist()
    labels = np.asarray(model.predict(case.data))
    with temporary_folder() as folder:
        loaded = type(model).from_contents(read_group(model.save(folder / "model.zarr")))
        store = open_labels(model.write(case.data, folder / "labels.zarr"))
        stored = np.concatenate([block.label for block in store.blocks()])
    require(
        loaded.population_names_.tolist() == names,
        f"a loaded model has the names {loaded.population_names_.tolist()} in place of {names}",
    )
    require_same(
        {"label": np.asarray(loaded.predict(case.data))}, {"label": labels}, "labels after loading"
    )
    require(list(store.names) == names, f"labels are stored with the names {store.names}")
    require(labels.dtype == np.int32, f"labels are {labels.dtype}")
    require_same({"label": stored}, {"label": labels}, "stored labels")
    require(
        labels.max() < len(names) and len({*names}) == len(names),
        f"labels up to {labels.max()} have the names {names}",
    )


@model_law
def names_and_merges_survive_rounds(case: ModelCase) -> None:
    """Assert that rows keep the names of their labels when another round refines a named model.

    The named model is saved and loaded, as it is sent to other sites.
    """
    if not isinstance(case.fitted, MixtureAnswers):
        return
    model: Any = case.make().prepare(case.data)
    while not _is_solved(model, case):
        if model.next_pass is None:
            return
        model.solve(model.accumulate(case.data))
    if model.next_pass is None:
        return
    _with_named_populations(model)
    names, named = {*model.population_names_.tolist()}, _named_labels(model, case)
    with temporary_folder() as folder:
        site = type(model).from_contents(read_group(model.save(folder / "model.zarr")))
    site.solve(site.accumulate(case.data))
    if not _is_solved(site, case):
        return
    after = {*site.population_names_.tolist()}
    require(after <= names, f"the next round has the names {after}, and not {names}")
    agreement = float(np.mean(_named_labels(site, case) == named))
    require(
        agreement >= LEAST_AGREEMENT,
        f"{agreement:.0%} of the rows keep the name of their label in the next round",
    )


@model_law
def suggested_names_follow_the_features(case: ModelCase) -> None:
    """Assert that suggested names are equal for permuted columns in another unit and origin.

    The unit is another in cases with ``any_unit``, and the origin in cases with ``any_origin``.
    Features without labels are left out, because they are named after their positions.
    """
    if not isinstance(case.fitted, MixtureAnswers) or not case.is_labelled:
        return
    moved = case.data[:, ::-1]
    if case.samples.kind == "measured" and case.any_origin:
        values = np.asarray(moved)
        moved = moved + ORIGIN * np.abs(values - values.mean(axis=0)).max()
    if case.samples.kind == "measured" and case.any_unit:
        moved = moved * UNIT
    model: Any = fitted(case.make(), moved)
    names = case.fitted.suggest_population_names()
    suggested = model.suggest_population_names()
    require(
        suggested == names,
        f"suggested names of permuted columns are {suggested}, expected {names}",
    )


POPULATION_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    names_and_merges_survive_files,
    names_and_merges_survive_rounds,
    suggested_names_follow_the_features,
)


def _with_named_populations(model: MixtureAnswers) -> MixtureAnswers:
    """Return a model with two populations merged if it has more than two, and names for all."""
    if len(model.population_names_) > 2:
        model.merge_populations([0, 2])
    names: dict[int | str, str | None] = {
        number: f"type {number}" for number in range(len(model.population_names_))
    }
    return model.rename_populations(names)


def _named_labels(model: MixtureAnswers, case: ModelCase) -> Any:
    """Return the name of the label of every row."""
    return model.population_names_[np.asarray(model.predict(case.data))]


def _is_solved(model: MixtureAnswers, case: ModelCase) -> bool:
    """Return True if a model can answer."""
    try:
        model.predict(case.data[:1])
    except NotFittedError:
        return False
    return True
