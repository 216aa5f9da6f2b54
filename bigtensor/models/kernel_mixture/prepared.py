"""A prepared kernel mixture: what every round of statistics is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.custom_kernel import KernelFunction
from bigtensor.features.maps import FeatureMap
from bigtensor.models.base import content_key
from bigtensor.models.data_shape import NamedViews
from bigtensor.models.kernel_mixture.map_storage import found_under, map_arrays, named_under
from bigtensor.models.kernel_mixture.passes import moments_pass, posterior_pass
from bigtensor.models.kernel_mixture.preparation import Preparation
from bigtensor.models.kernel_mixture.preparation_storage import (
    preparation_arrays,
    preparation_attrs,
    preparation_from,
)
from bigtensor.models.kernel_mixture.solution import KernelSolution, solution_from_arrays
from bigtensor.statistics.base import Pass

_START = "start_"
"""Before the names of the arrays of the components to start from."""


@dataclass(frozen=True, eq=False)
class PreparedMixture:
    """A preparation without the rows that it was made from, and the components to start from.

    Attributes
    ----------
    preparation : Preparation
    start : KernelSolution, optional
        The components that the clusters of the pilot sample make; None where moments come first.
    rows : int
        Rows that are expected in all: the bandwidths depend on them.
    diagnostics : dict
        How the preparation went.
    """

    preparation: Preparation
    start: KernelSolution | None
    rows: int
    diagnostics: dict[str, Any]

    @classmethod
    def stored(
        cls,
        preparation: Preparation,
        start: KernelSolution | None,
        rows: int,
        functions: Mapping[str, KernelFunction],
    ) -> Any:
        """Return what is left of a preparation in a file: the same before saving and after.

        Kernels of one's own, which no file holds, are ``functions``, by their views.
        """
        made = cls(preparation, start, rows, {})
        return cls.from_contents(made.attrs(), made.arrays(), preparation.views, functions)

    @cached_property
    def digest(self) -> str:
        """Tells this preparation from others, on any machine: of what is stored, not computed."""
        attrs = {name: value for name, value in self.attrs().items() if name != "diagnostics"}
        return content_key((attrs, self.preparation.views, sorted(self.arrays().items())))

    def round(
        self, solution: KernelSolution | None, *, co_posterior: bool
    ) -> tuple[Pass[Any], str]:
        """Return the pass of a round, and the digest of the mixture that it starts from.

        Parameters
        ----------
        solution : KernelSolution, optional
            The components that rows are compared with; None asks for moments.
        co_posterior : bool
            Whether a posterior pass is to say what components share.
        """
        if solution is None:
            assert self.preparation.groups is not None
            return moments_pass(self.preparation.groups), ""
        mixture = _sharing_maps(solution, self.preparation).mixture()
        pass_ = posterior_pass(mixture, self.preparation, co_posterior=co_posterior)
        return pass_, solution_digest(solution)

    def attrs(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return {
            **preparation_attrs(self.preparation),
            "rows": self.rows,
            "starts": self.start is not None,
            "diagnostics": self.diagnostics,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the named arrays."""
        start = {} if self.start is None else self.start.arrays()
        return preparation_arrays(self.preparation) | named_under(_START, start)

    @classmethod
    def from_contents(
        cls,
        attrs: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        views: NamedViews,
        functions: Mapping[str, KernelFunction],
    ) -> PreparedMixture:
        """Return the prepared mixture whose `attrs` and `arrays` these are."""
        # C order: the bits of a sum depend on the layout, and a file does not keep it
        start = {
            name: np.array(array, order="C") for name, array in found_under(_START, arrays).items()
        }
        return cls(
            preparation_from(attrs, arrays, views, functions),
            solution_from_arrays(start, views, functions) if attrs["starts"] else None,
            attrs["rows"],
            attrs["diagnostics"],
        )


def solution_digest(solution: KernelSolution | None) -> str:
    """Return what tells the components of a solution from others; nothing where there are none."""
    return "" if solution is None else content_key(sorted(solution.arrays().items()))


def _sharing_maps(solution: KernelSolution, preparation: Preparation) -> KernelSolution:
    """Let the densities use the maps that are summed, where they are the same.

    A posterior pass evaluates one map once, and two equal ones twice.
    """
    summed = preparation.embedded_maps
    embedded = tuple(
        replace(view, feature_map=summed[view.name])
        if _same_map(view.feature_map, summed[view.name])
        else view
        for view in solution.embedded
    )
    return replace(solution, embedded=embedded)


def _same_map(left: FeatureMap, right: FeatureMap) -> bool:
    """Whether two maps give the same features."""
    one, other = map_arrays(left), map_arrays(right)
    return one.keys() == other.keys() and all(
        np.array_equal(array, other[name]) for name, array in one.items()
    )
