"""A preparation in a file: everything but the rows that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.custom_kernel import KernelFunction
from bigtensor.features.group_map import GroupMap
from bigtensor.models.data_shape import NamedViews, view_slices
from bigtensor.models.kernel_mixture.groups import Groups, OtherView
from bigtensor.models.kernel_mixture.histogram_densities import Grids
from bigtensor.models.kernel_mixture.map_storage import (
    found_under,
    map_arrays,
    map_from_arrays,
    named_under,
)
from bigtensor.models.kernel_mixture.preparation import Preparation

Arrays = dict[str, NDArray[Any]]


def preparation_attrs(preparation: Preparation) -> dict[str, Any]:
    """Return what JSON holds of a preparation; its diagnostics are kept elsewhere."""
    groups = preparation.groups
    return {
        "n_components": preparation.n_components,
        "shared": preparation.shared,
        "bins": preparation.grids.bins,
        "grid_dtype": preparation.grids.dtype,
        "embedded": list(preparation.embedded_maps),
        "groups": None if groups is None else [list(group.views) for group in groups],
        "others": [other.name for other in preparation.others],
    }


def preparation_arrays(preparation: Preparation) -> Arrays:
    """Return the arrays of a preparation; those with an entry for every row are left out."""
    grids = preparation.grids
    arrays: Arrays = {
        "grid_columns": np.asarray(grids.columns, np.int64),
        "grid_low": grids.low,
        "grid_step": grids.step,
    }
    if preparation.posterior_widths is not None:
        arrays["posterior_widths"] = preparation.posterior_widths
    for position, feature_map in enumerate(preparation.embedded_maps.values()):
        arrays |= named_under(f"embedded_{position}_", map_arrays(feature_map))
    for position, group in enumerate(preparation.groups or ()):
        for place, feature_map in enumerate(group.maps):
            arrays |= named_under(f"group_{position}_{place}_", map_arrays(feature_map))
    for position, other in enumerate(preparation.others):
        arrays |= named_under(f"other_{position}_", map_arrays(other.feature_map))
        arrays |= {
            f"other_{position}_moments_{group}": moments
            for group, moments in enumerate(other.cross_moments)
        }
    return arrays


def preparation_from(
    attrs: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    views: NamedViews,
    functions: Mapping[str, KernelFunction],
) -> Preparation:
    """Return the preparation that was stored, without the rows that it was made from.

    Parameters
    ----------
    attrs, arrays : mapping
        From `preparation_attrs` and `preparation_arrays`.
    views : tuple of (name, features)
    functions : mapping of str to callable
        Kernels of one's own, which no file holds, by their views.

    Returns
    -------
    Preparation
        Its ``assignment`` is empty.
    """
    # C order: the bits of a sum depend on the layout, and a file does not keep it
    plain = {name: np.array(array, order="C") for name, array in arrays.items()}
    columns = tuple(int(column) for column in plain["grid_columns"])
    return Preparation(
        n_components=attrs["n_components"],
        views=views,
        slices=view_slices(views),
        assignment=np.empty(0, np.intp),
        clustering_weight=None,
        shared=attrs["shared"],
        grids=Grids(
            columns,
            plain["grid_low"],
            plain["grid_step"],
            attrs["bins"],
            attrs.get("grid_dtype", "float64"),
        ),
        posterior_widths=plain.get("posterior_widths"),
        embedded_maps={
            name: map_from_arrays(found_under(f"embedded_{position}_", plain), functions.get(name))
            for position, name in enumerate(attrs["embedded"])
        },
        groups=None if attrs["groups"] is None else _groups(attrs["groups"], plain, functions),
        others=tuple(
            _other(name, found_under(f"other_{position}_", plain))
            for position, name in enumerate(attrs["others"])
        ),
        diagnostics={},
    )


def _other(name: str, arrays: Arrays) -> OtherView:
    """Return a view outside the groups."""
    first, second, third = (arrays[f"moments_{group}"] for group in range(3))
    return OtherView(name, map_from_arrays(arrays), (first, second, third))


def _groups(
    members: list[list[str]], arrays: Arrays, functions: Mapping[str, KernelFunction]
) -> Groups:
    """Return the three groups of views with their features."""
    first, second, third = (
        GroupMap(
            tuple(names),
            tuple(
                map_from_arrays(
                    found_under(f"group_{position}_{place}_", arrays), functions.get(name)
                )
                for place, name in enumerate(names)
            ),
        )
        for position, names in enumerate(members)
    )
    return first, second, third
