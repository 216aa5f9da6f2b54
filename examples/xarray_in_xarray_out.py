"""Labelled arrays in, labelled arrays out: coordinates stay, lazy input gives lazy output.

Run it with ``python examples/xarray_in_xarray_out.py``.
"""

import numpy as np
import xarray as xr

from bigtensor import KernelMixture, simulate


def main() -> None:
    data = simulate.cytometry(200_000, 4, samples=3, random_state=1)
    cells = xr.DataArray(
        data["X"].to_numpy(),
        dims=("cell", "channel"),
        coords={
            "channel": data["feature"].to_numpy(),
            "cell": np.arange(1, 200_001),
        },
    ).chunk({"cell": 50_000})
    cells = cells.assign_coords(donor=("cell", data["sample_id"].to_numpy()))

    model = KernelMixture(4, sample_dim="cell", random_state=0).fit(cells)
    print(repr(model), "\n")

    probability = model.predict_proba(cells)
    print("a lazy answer with the coordinates of the question:")
    print(f"  dims {probability.dims}, chunks {probability.chunks[0]}")
    print(f"  coordinates {sorted(map(str, probability.coords))}\n")

    # Everything of xarray goes on from here, and nothing is computed until it has to be.
    composition = probability.groupby("donor").mean("cell").compute()
    print("expected share of every population, by donor")
    print(composition.to_pandas().round(3).to_string(), "\n")

    doubtful = (probability.max("component") < 0.9).mean().compute().item()
    print(f"{doubtful:.2%} of the cells belong to no population with 90 % probability\n")

    points = xr.DataArray(np.linspace(-1, 6, 8), dims="CD3", coords={"CD3": np.linspace(-1, 6, 8)})
    print("density of CD3 in every population")
    print(model.component_density("CD3", points).to_pandas().round(3).to_string())


if __name__ == "__main__":
    main()
