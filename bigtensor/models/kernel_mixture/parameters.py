"""The parameters of a kernel mixture: checked alone, and against the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from bigtensor.decomposition.component_merging import CRITERIA
from bigtensor.decomposition.consensus_tree import CONSENSUS
from bigtensor.errors import IdentifiabilityError, ParameterError, ViewError
from bigtensor.features.custom_kernel import CustomKernel, KernelFunction
from bigtensor.features.kernel_choice import KERNELS
from bigtensor.features.landmarks import METHODS
from bigtensor.models.data_shape import DataShape
from bigtensor.models.kernel_mixture.bandwidth_choice import CHOICES
from bigtensor.models.kernel_mixture.settings import (
    DELTA,
    ROWS_OF_A_COMPONENT,
    Settings,
    ViewKernel,
)
from bigtensor.models.parameters import check_choice, check_integer

STARTS = ("auto", "spectral", "kmeans")
DECOMPOSITIONS = ("jacobi", "power")

BROAD_WIDTH = 1.25
"""Width of the posterior passes after k-means, in multiples of the scale inside components.

On 12 samples of gated cells a width of 0.5, 1 and 1.25 gave a mean class-weighted F1 of 0.915,
0.924 and 0.934; half the whole spread of a feature gave 0.922, but lost components of well
separated mixtures.
"""

BROAD_WIDTH_OF_POPULATIONS = 1.0
"""The same where components are merged.

Over five seeds the F1 of 15,000 spleen cells in 6 and 8 populations was 0.80 and 0.95 with this
width, 0.79 and 0.90 with 1.25, and 0.77 and 0.95 with 0.9. Chosen with these gates in sight; of
600,000 activated T cells it was 0.63, 0.62 and 0.63, averaged over 10 to 30 populations.
"""

PILOT_ROWS, PILOT_ROWS_OF_POPULATIONS = 20_000, 50_000
"""Rows of the pilot sample, and where components are merged.

The F1 of 10 to 30 populations of activation cells varied by up to 0.12 between three seeds with
20,000 rows, and by up to 0.06 between five seeds with 50,000.
"""

MOST_LANDMARKS, MOST_BINS, MOST_PASSES = 2**16, 2**20, 10**6
"""Largest counts with which a fit is planned; the plan tells whether the memory holds it."""

MOST_COUNTED = 20
"""Largest number of components that is looked for."""

MANY_COMPONENTS = 150
"""Most components that are merged into populations, unless it is said otherwise.

With one tree a fit, the F1 of 10 populations of activation cells was 0.53 with 150 components (four
seeds) and 0.47 with 100 (two seeds).
"""


def check_parameters(model: Any) -> None:
    """Raise a ParameterError for a parameter of a `KernelMixture` that is out of range."""
    check_choice("start", model.start, STARTS)
    check_choice("units", model.units, ("auto", "own", "common"))
    check_choice("decomposition", model.decomposition, DECOMPOSITIONS)
    check_choice("landmarks", model.landmarks, METHODS)
    _check_kernels(model.kernels)
    check_choice("feature_dtype", model.feature_dtype, ("float32", "float64"))
    if model.n_components != "auto":
        check_integer("n_components", model.n_components, 1)
    k = model.n_components if isinstance(model.n_components, int) else 1
    check_integer("n_landmarks", model.n_landmarks, 2, MOST_LANDMARKS)
    if model.bins is not None:
        check_integer("bins", model.bins, 16, MOST_BINS)
    if model.sample_size != "auto":
        check_integer("sample_size", model.sample_size, max(100, k))
    if model.posterior_passes is not None:
        check_integer("posterior_passes", model.posterior_passes, 1, MOST_PASSES)
    if model.moments_rows not in ("auto", "all"):
        _check_moments_rows(model.moments_rows)
    if model.n_directions is not None:
        most = 3 * k if model.n_components != "auto" else None
        check_integer("n_directions", model.n_directions, k, most)
    if model.n_populations is not None and model.n_populations != "auto":
        most = k if model.n_components != "auto" else None
        check_integer("n_populations", model.n_populations, 1, most)
    if model.merging is not None:
        check_choice("merging", model.merging, (CONSENSUS, *CRITERIA))
    elif model.n_populations is not None:
        raise ParameterError(
            f"merging is None, but n_populations is {model.n_populations!r}; populations are "
            "merged components: leave out one of the two"
        )
    if isinstance(model.bandwidth, str):
        check_choice("bandwidth", model.bandwidth, ("rule", *CHOICES))
    else:
        _check_positive("bandwidth", model.bandwidth)
    if model.groups is not None and not _are_lists(model.groups):
        raise ParameterError(f"groups is {model.groups!r}; expected three lists of views")
    if model.landmark_tolerance is not None:
        _check_share("landmark_tolerance", model.landmark_tolerance)
    if isinstance(model.posterior_width, str):
        check_choice("posterior_width", model.posterior_width, ("auto",))
    elif model.posterior_width is not None:
        _check_positive("posterior_width", model.posterior_width)


def _check_moments_rows(value: Any) -> None:
    """Raise a ParameterError unless the value is a number of rows that moments can be made of."""
    if isinstance(value, str):
        raise ParameterError(
            f"moments_rows is {value!r}; expected a number of rows, 'auto' or 'all'"
        )
    check_integer("moments_rows", value, 1000)


def _check_positive(name: str, value: Any) -> None:
    """Raise a ParameterError unless the value is a positive finite number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < float(value) < np.inf:
        raise ParameterError(f"{name} is {value!r}; expected a positive number")


def _are_lists(groups: Any) -> bool:
    """Whether this is a list of lists."""
    parts = [groups, *groups] if isinstance(groups, Sequence) else [groups]
    return all(isinstance(part, Sequence) and not isinstance(part, str) for part in parts)


def _check_share(name: str, value: Any) -> None:
    """Raise a ParameterError unless the value is a number between zero and one."""
    _check_positive(name, value)
    if not float(value) < 1:
        raise ParameterError(f"{name} is {value!r}; expected a number between 0 and 1")


def _check_kernels(kernels: Any) -> None:
    """Raise a ParameterError unless this is a kernel, or a mapping of views to kernels."""
    for kernel in kernels.values() if isinstance(kernels, Mapping) else [kernels]:
        if not isinstance(kernel, CustomKernel) and kernel not in (*KERNELS, DELTA):
            raise ParameterError(
                f"kernels has {kernel!r}; expected one of {', '.join(KERNELS)}, {DELTA} or a "
                "CustomKernel, or a mapping of view names to these"
            )


def _view_kernels(kernels: Any, shape: DataShape, *, shared: bool) -> dict[str, ViewKernel]:
    """Return the kernel of every view, Gaussian unless it is said otherwise."""
    lengths = {name: len(members) for name, members in shape.views}
    if isinstance(kernels, Mapping):
        unknown = sorted(str(name) for name in kernels.keys() - lengths.keys())
        if unknown:
            raise ViewError(
                f"kernels names the views {', '.join(unknown)}; the data have {', '.join(lengths)}"
            )
        found = {name: kernels.get(name, "gaussian") for name in lengths}
    else:
        found = dict.fromkeys(lengths, kernels)
    for name, kernel in found.items():
        if kernel == DELTA and lengths[name] > 1:
            raise ViewError(
                f"view {name!r} has {lengths[name]} features and the delta kernel, which is for "
                "one feature of codes; give every category a view of its own"
            )
        if isinstance(kernel, CustomKernel) and kernel.width != lengths[name]:
            raise ViewError(
                f"view {name!r} has {lengths[name]} features, but its kernel is for {kernel.width}"
            )
    if shared and len({*found.values()}) > 1:
        listed = ", ".join(f"{name}: {kernel}" for name, kernel in found.items())
        raise ViewError(f"views_share_components=True needs one kernel for all views; got {listed}")
    return found


def kernel_functions(kernels: Any, views: Iterable[str]) -> dict[str, KernelFunction]:
    """Return the callables of kernels of one's own by their views: no array stands for them."""
    given = kernels if isinstance(kernels, Mapping) else dict.fromkeys(views, kernels)
    return {
        name: kernel.function for name, kernel in given.items() if isinstance(kernel, CustomKernel)
    }


def check_storable(kernels: Any) -> None:
    """Raise a ParameterError when a file could not hold the kernels."""
    names = sorted(kernel_functions(kernels, ["all views"]))
    if names:
        raise ParameterError(
            f"the kernel of {', '.join(names)} is the user's own, and no file holds a callable: a "
            "model with such a kernel cannot be saved; write its answers, or use another kernel"
        )


def settings_of(model: Any, shape: DataShape) -> Settings:
    """Return what the preparation of a `KernelMixture` needs to know of its parameters.

    Raises
    ------
    ViewError
        When the views are too few for the start, or too different to share their components.
    IdentifiabilityError
        When there are fewer rows than components.
    """
    start = start_of(model)
    _check_views(model, start, shape)
    k = n_components_of(model, shape.rows)
    if shape.rows < max(2, k):
        raise IdentifiabilityError(f"n_components={k} needs more rows; got n_samples={shape.rows}")
    return Settings(
        n_components=k,
        counted=model.n_components == "auto" and model.n_populations is None,
        rows=shape.rows,
        views=shape.views,
        units=_units(model, shape),
        kernels=_view_kernels(model.kernels, shape, shared=model.views_share_components),
        groups=_view_groups(model, shape),
        bandwidth=model.bandwidth,
        spectral=start == "spectral",
        shared=model.views_share_components,
        posterior_width=_posterior_width(model, start),
        posterior_passes=model.posterior_passes,
        moments_rows=model.moments_rows,
        n_populations=model.n_populations,
        merging=model.merging,
        decomposition=model.decomposition,
        landmarks=model.landmarks,
        landmark_tolerance=model.landmark_tolerance,
        # narrow integers of NumPy would overflow in sizes
        n_landmarks=int(model.n_landmarks),
        wanted_directions=model.n_directions,
        wanted_bins=model.bins,
        sample_size=_sample_size(model),
        feature_dtype=model.feature_dtype,
        random_state=0 if model.random_state is None else int(model.random_state),
        notes=_notes(model, shape),
        if_dependent=_settings_if_dependent(model, shape),
    )


def _settings_if_dependent(model: Any, shape: DataShape) -> Settings | None:
    """Return the settings of populations where the data may decide for them.

    They do if neither components nor populations were asked for.
    """
    undecided = (
        model.n_components == "auto"
        and model.n_populations is None
        and model.merging is not None
        and model.start == "auto"
        and not model.views_share_components
    )
    if not undecided:
        return None
    merged = clone(model).set_params(n_populations="auto", groups=None)
    return settings_of(merged, shape)


def _sample_size(model: Any) -> int:
    """Return the rows of the pilot sample."""
    if model.sample_size != "auto":
        return int(model.sample_size)
    return PILOT_ROWS if model.n_populations is None else PILOT_ROWS_OF_POPULATIONS


def _units(model: Any, shape: DataShape) -> str:
    """Return how features are compared: by the import's record where nothing else is said."""
    if model.units != "auto":
        return str(model.units)
    return "common" if shape.common_units else "own"


def _notes(model: Any, shape: DataShape) -> tuple[str, ...]:
    """Say what was chosen because an import put features on one scale."""
    notes = []
    if shape.left_out and model.views is None:
        listed = ", ".join(shape.left_out)
        notes.append(
            f"The features {listed} are left out, because the import did not put them on the "
            "scale of the others. Name them in views to use them"
        )
    if model.units == "auto" and shape.common_units:
        notes.append(
            "Features are compared as they are, because the import put them on one scale. With "
            "units='own' they are compared by their spread"
        )
    return tuple(notes)


def start_of(model: Any) -> str:
    """Return where the posterior passes start: many components need no more than k-means."""
    if model.start != "auto":
        return str(model.start)
    return "spectral" if model.n_populations is None else "kmeans"


def _posterior_width(model: Any, start: str) -> float | None:
    """Return the width of the posterior passes in scales inside components, if any."""
    if model.posterior_width == "auto":
        if start != "kmeans":
            return None
        return BROAD_WIDTH if model.n_populations is None else BROAD_WIDTH_OF_POPULATIONS
    return None if model.posterior_width is None else float(model.posterior_width)


def n_components_of(model: Any, rows: int) -> int:
    """Return the number of components, or the largest that may be found.

    Parameters
    ----------
    model : KernelMixture
    rows : int
        Of the data: a component that is to be merged wants a few tens of them.
    """
    if model.n_components != "auto":
        return int(model.n_components)
    if model.n_populations is None:
        return MOST_COUNTED
    many = min(MANY_COMPONENTS, max(1, rows // ROWS_OF_A_COMPONENT))
    return many if model.n_populations == "auto" else max(int(model.n_populations), many)


def _view_groups(model: Any, shape: DataShape) -> tuple[tuple[str, ...], ...] | None:
    """Return the groups of views that were given, or None; raise where they make no sense."""
    if model.groups is None:
        return None
    names = [name for name, _ in shape.views]
    groups = tuple(tuple(group) for group in model.groups)
    listed = [name for group in groups for name in group]
    if len(groups) != 3 or not all(groups) or len({*listed}) < len(listed):
        raise ParameterError(
            f"groups is {model.groups!r}; expected three lists of views, none empty and no view "
            "twice"
        )
    unknown = [str(name) for name in listed if name not in names]
    if unknown:
        raise ViewError(
            f"groups names the views {', '.join(unknown)}; the data have {', '.join(names)}"
        )
    if model.views_share_components and len(listed) < len(names):
        raise ParameterError(
            "with views_share_components=True every view belongs to a group; missing: "
            + ", ".join(name for name in names if name not in listed)
        )
    return groups


def _check_views(model: Any, start: str, shape: DataShape) -> None:
    """Raise unless the views are enough for the start and fit together."""
    needed = 3 if start == "spectral" else 2
    if len(shape.views) < needed:
        raise ViewError(
            f"start={start!r} needs at least {needed} views that are independent given "
            f"the component; got {len(shape.views)} view(s) of {len(shape.features)} feature(s)"
            + ("; use start='kmeans', or views of fewer features" if needed == 3 else "")
        )
    lengths = {name: len(members) for name, members in shape.views}
    if model.views_share_components and len({*lengths.values()}) > 1:
        raise ViewError(
            "views_share_components=True needs views with equally many features, one for one the "
            f"same quantity; got {', '.join(f'{name}: {d}' for name, d in lengths.items())}"
        )
