"""Populations made of components: markers that rise and fall together inside a population.

Four populations of cells, two of which are curved or stretched clouds, in three patients. One
component a population splits them; many components, merged where several trees unite them early,
do not. Run it with ``python examples/populations.py``.
"""

import warnings

import numpy as np
import xarray as xr
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture
from bigtensor.errors import ConditioningWarning, RefinementWarning

CELLS = 60_000
MARKERS = ["CD3", "CD4", "CD8", "CD19"]
CENTRES = np.array(
    [[3.0, 4.0, 0.5, 0.3], [3.0, 0.5, 4.0, 0.3], [0.3, 0.4, 0.4, 4.0], [0.3, 2.5, 0.4, 0.3]]
)
SHARES = np.array([[0.40, 0.30, 0.20, 0.10], [0.30, 0.40, 0.20, 0.10], [0.45, 0.20, 0.20, 0.15]])


def make_cells(seed: int) -> xr.Dataset:
    """Draw cells of three patients: brightness is common to all markers of a cell."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(3), CELLS // 3)
    population = (rng.random(CELLS)[:, None] > SHARES[patient].cumsum(axis=1)).sum(axis=1)
    brightness = rng.normal(1.0, 0.18, size=(CELLS, 1))
    values = CENTRES[population] * brightness + 0.2 * rng.normal(size=(CELLS, 4))
    values[:, 0] += np.where(population == 2, 0.5 * (values[:, 3] - 4.0) ** 2, 0.0)
    return xr.Dataset(
        {
            "X": (("sample", "feature"), values.astype("float32")),
            "sample_id": ("sample", patient.astype("int32"), {"categories": ["p1", "p2", "p3"]}),
            "label": ("sample", population.astype("int32")),
        },
        coords={"feature": MARKERS},
    )


def main() -> None:
    cells = make_cells(seed=1)
    label = cells["label"].to_numpy()

    with warnings.catch_warnings():
        # a model that does not fit the data has reason to warn
        warnings.simplefilter("ignore", ConditioningWarning)
        warnings.simplefilter("ignore", RefinementWarning)
        one_each = KernelMixture(4, random_state=0).fit(cells)
    merged = KernelMixture(n_populations=4, units="common", random_state=0).fit(cells)
    found = adjusted_rand_score(label, one_each.predict(cells))
    print(f"4 components                   {found:.3f} adjusted Rand index")
    found = adjusted_rand_score(label, merged.predict(cells))
    print(f"{len(merged.weights_)} components, 4 populations   {found:.3f} adjusted Rand index\n")

    tree = merged.merge_tree_
    print("similarity of the last pairs that were merged, by", tree.criterion)
    for left, height in zip(range(8, 0, -1), tree.heights[-8:], strict=True):
        print(f"  from {left + 1} populations to {left}: {height:.3f}")
    merged.cut_populations("auto")
    print(f"halves of the sample agree on {len(merged.population_weights_)} populations\n")

    merged.cut_populations(4)
    members = np.bincount(merged.population_of_component_)
    print("components of every population:", members)
    agree = (merged.predict_proba(cells).max("population") > 0.95).mean().item()
    print(f"{agree:.1%} of the cells belong to one population with 95 % probability\n")

    table = merged.weights_by(cells, by="sample_id")
    print("mixing weights of every patient")
    print(table["weight"].to_pandas().round(3).to_string())
    print("the shares they were drawn with")
    print(SHARES)


if __name__ == "__main__":
    main()
