"""The accessor ``bigtensor`` of xarray objects: estimators from the data's side.

``import bigtensor.accessor`` registers it; ``import bigtensor`` alone changes nothing in xarray.

Examples
--------
>>> import bigtensor.accessor
>>> from bigtensor import KernelMixture, simulate
>>> data = simulate.kernel_mixture(3000, 3, random_state=1)
>>> model = data.bigtensor.fit(KernelMixture(3, random_state=0))
>>> data.bigtensor.predict(model).dims
('sample',)
"""

from __future__ import annotations

from typing import Any

import xarray as xr

__all__ = ["BigtensorAccessor"]


@xr.register_datatree_accessor("bigtensor")  # type: ignore[no-untyped-call]
@xr.register_dataarray_accessor("bigtensor")  # type: ignore[no-untyped-call]
@xr.register_dataset_accessor("bigtensor")  # type: ignore[no-untyped-call]
class BigtensorAccessor:
    """Forwards to the methods of an estimator, with the data in their place.

    Parameters
    ----------
    data : xarray Dataset, DataArray or DataTree
        Data. Of a tree the data set of its root is used. Take ``tree["name"]`` for a branch.
    """

    def __init__(self, data: xr.Dataset | xr.DataArray | xr.DataTree) -> None:
        self._data = data.to_dataset() if isinstance(data, xr.DataTree) else data

    def fit(self, model: Any, **parameters: Any) -> Any:
        """Fit a model to the data and return it.

        Parameters
        ----------
        model : estimator
            Estimator, which is changed as by its own ``fit``.
        **parameters
            Those of the model's ``fit``, such as ``workers`` or ``checkpoint``.
        """
        return model.fit(self._data, **parameters)

    def predict(self, model: Any, **options: Any) -> Any:
        """Return the label of every row.

        Parameters
        ----------
        model : estimator
            Fitted model.
        **options
            Parameters of the model's ``predict``, such as ``sequence``.
        """
        return model.predict(self._data, **options)

    def predict_proba(self, model: Any, **options: Any) -> Any:
        """Return the posterior of every component; see the model's ``predict_proba``."""
        return model.predict_proba(self._data, **options)

    def score_samples(self, model: Any, **options: Any) -> Any:
        """Return the log-density of every row or sequence; see the model's ``score_samples``."""
        return model.score_samples(self._data, **options)

    def decode(self, model: Any, **options: Any) -> Any:
        """Return the most probable paths; see ``HiddenMarkovModel.decode``."""
        return model.decode(self._data, **options)
