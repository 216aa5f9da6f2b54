"""What merging costs: populations beside those of an oracle, which merges with classes in sight.

The oracle gives every component to the class of most of its mass. It is no bound: another
assignment of the same components can have a larger F1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor import KernelMixture
from tests.benchmarks.cytometry.cells import (
    Labels,
    import_activation,
    import_spleen,
    load_gvhd,
    random_rows,
)
from tests.benchmarks.cytometry.digits import load_digits_in_views
from tests.benchmarks.cytometry.methods import unsettled_fits_allowed
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.tables import Report, Row

BLOOD = ("hipc_w2", "hipc_iu1", "hipc_pm1", "pbmc_cytof")
"""Files of one array each, in which class 0 is no class."""


@dataclass(frozen=True)
class LabelledRows:
    """Rows (rows, features), the class of every row (-1 for none), and options of the model."""

    values: NDArray[Any]
    classes: Labels
    options: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """How many classes have rows."""
        return len(np.unique(self.classes[self.classes >= 0]))


def labelled_sets(
    data: Path, folder: Path, files: int, rows: int
) -> Iterator[tuple[str, list[LabelledRows]]]:
    """Yield the name of every set with its parts, which are fitted one by one."""
    for name, cells in (
        ("activation", import_activation(data / "activation", folder / "gated.zarr", files)),
        ("spleen", import_spleen(data / "mouse_spleen", folder / "spleen.zarr")),
    ):
        chosen = random_rows(len(cells.gates), rows)
        yield name, [LabelledRows(cells.values()[chosen], cells.gates[chosen], {})]
    samples = load_gvhd(data / "gvhd.npz")
    yield "GvHD", [LabelledRows(one.values, one.classes, {}) for one in samples]
    for name in BLOOD:
        with np.load(data / f"{name}.npz", allow_pickle=False) as stored:
            chosen = random_rows(len(stored["X"]), rows)
            classes = stored["labels"][chosen].astype(np.int32) - 1
            yield name, [LabelledRows(stored["X"][chosen], classes, {})]
    digits = load_digits_in_views(data / "mfeat.npz", rows)
    # the views have units of their own
    options = {"views": digits.views, "units": "auto"}
    yield "mfeat", [LabelledRows(digits.values, digits.classes, options)]


def oracle_labels(probabilities: NDArray[Any], classes: Labels) -> Labels:
    """Return the most probable class of every row, by the class that its components are given to.

    Parameters
    ----------
    probabilities : (rows, components) array
    classes : (rows,) integer array
        -1 for none.
    """
    member = np.eye(int(classes.max()) + 1)[classes[classes >= 0]]
    class_of_component = (member.T @ probabilities[classes >= 0]).argmax(axis=0)
    return np.asarray((probabilities @ np.eye(member.shape[1])[class_of_component]).argmax(axis=1))


def oracle_row(name: str, parts: list[LabelledRows], seeds: int) -> Row:
    """Fit every part with every seed, with as many populations as classes, and return the means."""
    scores, components = [], []
    for part in parts:
        for seed in range(seeds):
            options = {"units": "common", **part.options}
            model = KernelMixture(random_state=seed, n_populations=part.n_classes, **options)
            with unsettled_fits_allowed():
                model.fit(part.values)
            labels = np.asarray(model.predict(part.values))
            probabilities = np.asarray(model.predict_proba(part.values, level="component"))
            merged = oracle_labels(probabilities, part.classes)
            scores.append([match_clusters(one, part.classes).mean_f1 for one in (labels, merged)])
            components.append(len(model.weights_))
    tree, oracle = np.mean(scores, axis=0)
    return {
        "set": name,
        "classes": round(float(np.mean([part.n_classes for part in parts])), 1),
        "components": round(float(np.mean(components)), 1),
        "tree": float(tree),
        "oracle": float(oracle),
        "gap": float(oracle - tree),
        "sd of tree": float(np.std(scores, axis=0)[0]) if len(parts) == 1 else float("nan"),
    }


def add_oracle(report: Report, data: Path, folder: Path, seeds: int, files: int, rows: int) -> None:
    """Print the mean F1 of the tree and of the oracle on every set."""
    table = [oracle_row(*one, seeds) for one in labelled_sets(data, folder, files, rows)]
    means = {
        name: float(np.mean([row[name] for row in table])) for name in ("tree", "oracle", "gap")
    }
    notes = [
        "mean F1 of classes, clusters matched one to one; as many populations as classes",
        "oracle: every component given to the class of most of its mass",
    ]
    report.add("Merging against an oracle", [*table, {"set": "mean", **means}], notes)
