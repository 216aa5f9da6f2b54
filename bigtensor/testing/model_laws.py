"""Laws of models: what a model has without a line of its own, on a case with small data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
import xarray as xr

from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.answer_laws import ANSWER_LAWS
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.category_laws import CATEGORY_LAWS
from bigtensor.testing.column_laws import COLUMN_LAWS
from bigtensor.testing.degenerate_laws import DEGENERATE_LAWS
from bigtensor.testing.estimator_laws import ESTIMATOR_LAWS
from bigtensor.testing.fit_laws import FIT_LAWS
from bigtensor.testing.outlier_laws import OUTLIER_LAWS
from bigtensor.testing.population_laws import POPULATION_LAWS
from bigtensor.testing.round_laws import ROUND_LAWS
from bigtensor.testing.row_order_laws import ROW_ORDER_LAWS
from bigtensor.testing.sample_weight_laws import WEIGHT_LAWS
from bigtensor.testing.unit_laws import UNIT_LAWS

MODEL_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    *ESTIMATOR_LAWS,
    *FIT_LAWS,
    *WEIGHT_LAWS,
    *ROUND_LAWS,
    *ANSWER_LAWS,
    *POPULATION_LAWS,
    *ROW_ORDER_LAWS,
    *COLUMN_LAWS,
    *CATEGORY_LAWS,
    *UNIT_LAWS,
    *OUTLIER_LAWS,
    *DEGENERATE_LAWS,
)
"""Laws of models: functions of a `ModelCase`. A law that does not concern a case holds."""


def check_model(
    make: Callable[[], Estimator], data: xr.DataArray | sp.csr_array, **settings: Any
) -> None:
    """Hold a model to all laws, on data of one kind.

    Parameters
    ----------
    make : callable
        Returns an unfitted model with a fixed `random_state`: a class, or a function.
    data : DataArray or CSR array
        Some hundred rows without missing values; `small_data` makes them for every kind.
    **settings
        Further attributes of `ModelCase`.

    Raises
    ------
    AssertionError
        With the name of the first law that is broken, and the numbers.

    Examples
    --------
    >>> from bigtensor import GaussianMixture
    >>> from bigtensor.testing import check_model, small_data
    >>> def make():
    ...     return GaussianMixture(2, random_state=0)
    >>> check_model(make, small_data("measured"))
    """
    case = ModelCase(make, data, **settings)
    for holds in MODEL_LAWS:
        holds(case)
