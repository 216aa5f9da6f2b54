"""Rows that are the mean of a component, drawn with equal probabilities, and spherical noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.simulate.rows import (
    RowBlock,
    Simulation,
    block_bounds,
    check_integer,
    check_positive,
    code_names,
    true_parameters,
)
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.random_states import RandomState, integer_seed


def noisy_columns(
    simulator: str,
    rows: int,
    n_components: int,
    n_features: int,
    noise: float,
    random_state: RandomState,
    *,
    views: tuple[str, ...],
) -> Simulation:
    """Check the parameters; return the truth and the rows to come.

    Parameters
    ----------
    simulator : str
        Name of the simulator, an attribute of the data.
    rows, n_components : int
        Number of rows and of components.
    n_features : int
        Of every view.
    noise : float
        Root of the mean squared length of the noise of a view.
    random_state : int, RandomState or Generator, optional
        Source of the seed of all random choices.
    views : tuple of str
        Names of the views, which features are named after.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    check_integer("rows", rows, 1)
    k = check_integer("n_components", n_components, 1)
    d = check_integer("n_features", n_features, 1)
    check_positive("noise", noise)
    seed = integer_seed(random_state)
    rng = np.random.default_rng(seed)
    means = _unit_columns(rng, (len(views), d, k)).reshape(-1, k)
    truth = true_parameters(
        simulator,
        {
            "true_weights": ("component", np.full(k, 1 / k)),
            "true_means": ((FEATURE_DIM, "component"), means),
        },
        [f"{view}{i}" for view in views for i in range(d)],
        seed=seed,
        attrs={"noise": float(noise)},
    )
    blocks = _blocks(rng, means, float(noise) / np.sqrt(d), rows)
    return Simulation(truth, blocks, rows, np.float32, {"label": code_names("component", k)})


def _unit_columns(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw columns that are uniform on the unit sphere.

    The last entry but one of ``shape`` is the length of a column, the last one the number of
    columns.
    """
    columns = rng.standard_normal(shape)
    columns /= np.linalg.norm(columns, axis=-2, keepdims=True)
    return columns


def _blocks(
    rng: np.random.Generator, means: FloatArray, deviation: float, rows: int
) -> Iterator[RowBlock]:
    """Yield rows and their labels.

    The means are ``(features, k)``. The noise of a feature has the standard deviation
    ``deviation``.
    """
    transposed = np.ascontiguousarray(means.T, np.float32)
    for start, stop in block_bounds(rows):
        label = rng.integers(len(transposed), size=stop - start)
        values = rng.standard_normal((stop - start, means.shape[0]), np.float32)
        values *= np.float32(deviation)
        values += transposed[label]
        yield {"X": values, "label": label}
