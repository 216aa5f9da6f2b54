"""Feature maps as named arrays, so that models and preparations can be saved without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ModelFileError, ParameterError
from bigtensor.features.custom_kernel import KernelFunction
from bigtensor.features.kernel_storage import kernel_arrays, kernel_from_arrays
from bigtensor.features.maps import FeatureMap
from bigtensor.features.nystroem import Nystroem
from bigtensor.features.plain_maps import OneHot


def map_arrays(feature_map: FeatureMap) -> dict[str, NDArray[Any]]:
    """Return a feature map as named arrays.

    Parameters
    ----------
    feature_map : FeatureMap

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ParameterError
        When the map is of a class that no file can hold.
    """
    is_float32 = np.array(feature_map.dtype == "float32")
    if isinstance(feature_map, OneHot):
        return {
            "categories": feature_map.categories,
            "projection": feature_map.mixing,
            "is_float32": is_float32,
        }
    if not isinstance(feature_map, Nystroem):
        raise ParameterError(
            f"a {type(feature_map).__name__} cannot be saved; kernels at landmarks and indicators "
            "of categories can"
        )
    return {
        "landmarks": feature_map.landmarks,
        "centre": feature_map.centre,
        "projection": feature_map.projection,
        "is_float32": is_float32,
        **kernel_arrays(feature_map.kernel),
    }


def map_from_arrays(
    arrays: Mapping[str, NDArray[Any]], function: KernelFunction | None = None
) -> FeatureMap:
    """Return the feature map whose `map_arrays` these are; other arrays are ignored.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    function : callable, optional
        The callable of a kernel of one's own, which no file holds.

    Raises
    ------
    ModelFileError
        When arrays are missing.
    ParameterError
        When the kernel is one's own and its callable is not given.
    """
    kind = {"categories"} if "categories" in arrays else {"landmarks", "centre"}
    missing = ({"projection", "is_float32"} | kind) - arrays.keys()
    if missing:
        raise ModelFileError(
            f"the arrays {sorted(missing)} of a feature map are missing; the file is damaged or "
            "newer: restore it from a copy, or upgrade bigtensor"
        )
    dtype = "float32" if arrays["is_float32"] else "float64"
    if "categories" in arrays:
        return OneHot(arrays["categories"], arrays["projection"], dtype)
    kernel = kernel_from_arrays(arrays, function)
    return Nystroem(arrays["landmarks"], kernel, arrays["centre"], arrays["projection"], dtype)


def named_under(head: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays with a word before their names."""
    return {head + name: array for name, array in arrays.items()}


def found_under(head: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that have this word before their names, without it."""
    return {
        name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)
    }
