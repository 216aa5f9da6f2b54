"""Labelled real data: Gaussian mixtures beside scikit-learn and k-means, with no option but k.

``python -m tests.benchmarks.gaussian_mixture.real_sets FOLDER --seeds 3 --out real.json``

FOLDER holds ``uci/*.npz``, ``mfeat.npz``, ``gvhd.npz`` and ``hipc_w2.npz``; sets that are not there
are left out. Every set is fitted as it is and standardised.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Peer

from bigtensor import GaussianMixture
from tests.benchmarks.cytometry.cells import load_gvhd
from tests.benchmarks.tables import Report, Row

BUNDLED = ("iris", "wine", "breast_cancer", "digits")
MFEAT_VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
KINDS = {"shared_spherical": "spherical", "tied": "tied"}
FEW = 4
"""Most components for which a tied covariance is refused, but one."""


@dataclass(frozen=True)
class LabelledSet:
    """Rows and their classes."""

    name: str
    values: NDArray[Any]
    classes: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.classes))

    def standardised(self) -> LabelledSet:
        """Return features of mean zero and variance one; constant ones stay."""
        scales = self.values.std(axis=0)
        scales[scales == 0] = 1
        centred = (self.values - self.values.mean(axis=0)) / scales
        return LabelledSet(f"{self.name}, standardised", centred, self.classes)


def bundled_sets() -> Iterator[LabelledSet]:
    """Yield the labelled sets that scikit-learn brings."""
    for name in BUNDLED:
        values, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield LabelledSet(name, values, classes)


def sets_in(folder: Path) -> Iterator[LabelledSet]:
    """Yield the labelled sets of a folder, rows with missing values left out."""
    for path in [*sorted((folder / "uci").glob("*.npz")), folder / "hipc_w2.npz"]:
        if path.exists():
            with np.load(path) as stored:
                values, classes = stored["X"].astype(np.float64), stored["labels"]
            whole = np.isfinite(values).all(axis=1)
            yield LabelledSet(path.stem, values[whole], classes[whole])
    if (folder / "mfeat.npz").exists():
        with np.load(folder / "mfeat.npz") as stored:
            for view in MFEAT_VIEWS:
                yield LabelledSet(
                    f"mfeat {view}", stored[view].astype(np.float64), stored["labels"]
                )
    if (folder / "gvhd.npz").exists():
        for sample in load_gvhd(folder / "gvhd.npz"):
            values = sample.values.astype(np.float64)
            yield LabelledSet(f"gvhd {sample.number}", values, sample.classes)


def set_row(labelled: LabelledSet, kind: str, seeds: int) -> Row:
    """Return the adjusted Rand indices of a set."""
    values, k = labelled.values, labelled.n_classes
    form = KINDS[kind]
    models: dict[str, list[Any]] = {
        "ours": [
            GaussianMixture(k, covariance_type=kind, random_state=seed) for seed in range(seeds)
        ],
        "scikit-learn x1": [Peer(k, covariance_type=form, random_state=s) for s in range(seeds)],
        "scikit-learn x10": [Peer(k, covariance_type=form, n_init=10, random_state=0)],
        "k-means x10": [KMeans(k, n_init=10, random_state=0)],
    }
    row: Row = {"set": labelled.name, "classes": k}
    with warnings.catch_warnings():
        # advice on data that are no mixture of Gaussians, and unsettled fits of the peer
        warnings.simplefilter("ignore")
        for name, fits in models.items():
            labels = [model.fit(values).predict(values) for model in fits]
            found = [adjusted_rand_score(labelled.classes, of_rows) for of_rows in labels]
            row[name] = round(float(np.mean(found)), 3)
    return row


def mean_row(rows: Sequence[Row], name: str) -> Row:
    """Return the means over the sets."""
    columns = [column for column in rows[0] if column not in ("set", "classes")]
    means = {column: round(float(np.mean([row[column] for row in rows])), 3) for column in columns}
    return {"set": name, "classes": len(rows), **means}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the sets that are no part of Python")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    report = Report("gaussian_mixture_real", {"seeds": options.seeds}, options.out)
    sets = [*bundled_sets(), *sets_in(options.folder)]
    for kind in KINDS:
        chosen = [
            one for one in sets if kind != "tied" or FEW < one.n_classes <= one.values.shape[1]
        ]
        raw = [set_row(one, kind, options.seeds) for one in chosen]
        scaled = [set_row(one.standardised(), kind, options.seeds) for one in chosen]
        means = [mean_row(raw, "mean"), mean_row(scaled, "mean, standardised")]
        report.add(f"adjusted Rand index, {kind}", [*raw, *scaled, *means])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
