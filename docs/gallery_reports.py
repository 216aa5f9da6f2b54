"""Fits and reports of the gallery: ``python docs/gallery_reports.py FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from sklearn.datasets import load_wine

from bigtensor import (
    DiscreteMixture,
    HiddenMarkovModel,
    KernelMixture,
    TensorTrainDensity,
    TopicModel,
    simulate,
)
from bigtensor.report.html import write_report


def wines() -> xr.DataArray:
    """Return chemical measurements of 178 wines, with the names of the features."""
    table = load_wine(as_frame=True).data
    return xr.DataArray(table.to_numpy(), {"feature": list(table)}, ("sample", "feature"))


def answers() -> xr.Dataset:
    """Return simulated answers of three classes of people to five statements, some missing."""
    statements = ("I need a car", "Trains are on time", "Cycling is safe")
    statements += ("Petrol is cheap", "Buses are full")
    levels = ("agree fully", "agree", "disagree", "disagree fully")
    survey = simulate.discrete_mixture(
        5_000, 3, n_categories=4, views=5, missing=0.1, random_state=7
    )
    survey["X"].attrs["categories"] = dict.fromkeys(statements, levels)
    people = np.array(["class A", "class B", "class C"])
    return survey.assign_coords(feature=list(statements)).assign(
        label=("sample", people[survey["label"]])
    )


REPORTS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "cells": (
        lambda: KernelMixture(n_populations="auto", random_state=0),
        lambda: simulate.correlated_cells(30_000, random_state=1),
    ),
    "survey": (
        lambda: DiscreteMixture(3, missing="marginalise", random_state=0),
        answers,
    ),
    "sequences": (
        lambda: HiddenMarkovModel(3, random_state=0),
        lambda: simulate.hidden_markov(20_000, 3, stay=0.9, random_state=1),
    ),
    "documents": (
        lambda: TopicModel(5, random_state=0),
        lambda: simulate.topics(2_000, 5, frequencies="uniform", random_state=0),
    ),
    "table": (lambda: TensorTrainDensity(random_state=0), wines),
}
"""Model and data of every report."""


def write_reports(folder: Path) -> None:
    """Fit every model and write its report, unless it is there.

    After a change of a model, delete the folder.

    Parameters
    ----------
    folder : Path
        For ``gallery/NAME.html``.
    """
    pages = folder / "gallery"
    pages.mkdir(parents=True, exist_ok=True)
    for name, (make, data) in REPORTS.items():
        page = pages / f"{name}.html"
        if not page.exists():
            rows = data()
            write_report(make().fit(rows), page, data=rows)


if __name__ == "__main__":
    write_reports(Path(sys.argv[1]))
