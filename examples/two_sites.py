"""Two sites fit one model together, and no row leaves its site.

One site prepares a model from its own rows, and a copy goes to the other. What comes back is sums.
Each round of sums is merged and solved: the moments find the components, posterior sums refine
them. The result is that of all rows in one place. Run it with ``python examples/two_sites.py``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import StatisticsError

ROWS = 300_000
POPULATIONS = 4
ROUNDS = 3


def size_of(store: Path) -> int:
    """Return the bytes of all files of a store."""
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def write_sites(folder: Path) -> list[Path]:
    """Write three simulated patients to the stores of two sites."""
    cells = simulate.cytometry(ROWS, POPULATIONS, markers=6, samples=3, random_state=1)
    sites = []
    for name, patients in (("site_a", [0, 1]), ("site_b", [2])):
        here = np.isin(cells["sample_id"], patients)
        sites.append(folder / f"{name}.zarr")
        with SampleStoreWriter(sites[-1], cells["feature"].to_numpy().tolist()) as writer:
            writer.append(cells["X"].to_numpy()[here])
        print(f"{name}: {here.sum():,} cells of {len(patients)} patient(s)")
    return sites


def accumulate_at(site: Path, model: Path, out: Path) -> Path:
    """Do what runs at a site: it is sent a model, and sends sums back."""
    return bigtensor.load(model).accumulate(site, scheduler="threads").save(out)


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        sites = write_sites(folder)

        # Bandwidths, landmarks and grids come from a sample of one site, for the rows of both.
        first = KernelMixture(POPULATIONS, random_state=0)
        model = first.prepare(sites[0], rows=ROWS).save(folder / "prepared.zarr")
        print(f"the prepared model has {size_of(model):,} bytes and holds no row\n")

        for number in range(1, ROUNDS + 1):
            sent = [
                accumulate_at(site, model, folder / f"{site.stem}_sums_{number}.zarr")
                for site in sites
            ]
            both = bigtensor.merge(sent)
            solved = bigtensor.load(model).solve(both)
            print(f"round {number}: {both.pass_name} of {both.rows:,} rows in", end=" ")
            print(f"{size_of(sent[0]):,} bytes a site; weights {solved.weights_.round(4)}")
            model = solved.save(folder / f"model_{number}.zarr")

        # The same rounds with all rows in one place.
        union = bigtensor.load(folder / "prepared.zarr")
        for _ in range(ROUNDS):
            union.solve(union.accumulate(sites, scheduler="threads"))
        gap = np.abs(union.weights_ / solved.weights_ - 1).max()
        print(f"\nthe same rounds on both stores at once: weights within {gap:.0e}")

        # A fit on both stores has a pilot sample of both, hence slightly other kernels.
        fitted = KernelMixture(POPULATIONS, random_state=0).fit(sites, scheduler="threads")
        print(f"a fit on both stores: weights {fitted.weights_.round(4)}")
        mine, theirs = (np.asarray(one.predict(sites[1])) for one in (solved, fitted))
        print(f"labels of site b that agree with it: {np.mean(mine == theirs):.2%}\n")

        # Sums that were made with another preparation would not add up.
        other = KernelMixture(POPULATIONS, random_state=1).prepare(sites[1])
        sums = other.accumulate(sites[1], scheduler="threads")
        try:
            bigtensor.merge([folder / "site_a_sums_1.zarr", sums])
        except StatisticsError as error:
            print(f"refused: {str(error).replace(name, '.')}")


if __name__ == "__main__":
    main()
