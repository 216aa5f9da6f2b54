"""Settings of a kernel mixture: what its parameters resolve to for the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bigtensor.decomposition.merging.component_merging import CRITERIA_OF_PRODUCTS
from bigtensor.decomposition.multiview.mixture_candidates import Method
from bigtensor.errors import (
    IdentifiabilityError,
    Message,
    ParameterError,
    Setting,
    ViewError,
)
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.parameters import NoEffect, ParameterValues, unused_parameter
from bigtensor.models.kernel_mixture.declared_parameters import PARAMETERS

DELTA = "delta"
"""The kernel of views that are categories."""

BINS, FEWER_BINS, MANY, FEW_ROWS = 2048, 512, 50, 2000
"""Bins of the histograms; there are fewer from 50 components on and below 2,000 rows.

The density of so few rows is at least 0.2 standard deviations of its component wide: it is resolved
by the fewer bins unless the component is narrower than 0.7 % of the grid.
"""

ROWS_OF_A_COMPONENT = 50
"""Rows that a component which is to be merged has at least, on average."""

ViewKernel = str | CustomKernel
"""The kernel of one view: its name, or one's own."""


@dataclass(frozen=True)
class KernelMixtureSettings:
    """Resolved model parameters.

    Attributes
    ----------
    shape : DataShape
        Size, names and types of the data.
    n_components : int
        Number of components.
    counted : bool
        True if the number of components is counted. It is then at most `n_components`.
    least_views : int
        Number of views without which components cannot be told apart.
    units : {"own", "common"}
        ``"own"``: features are compared in units of their spread. ``"common"``: as they are.
    units_by_data : bool
        True if the pilot sample chooses the units.
    kernels : mapping of str to "gaussian", "laplace", "delta" or CustomKernel
        The kernel of every view.
    groups : tuple of three tuples of str, optional
        Views that are decomposed together; None stands for a choice by the data.
    bandwidth : float or {"auto", "gap", "cross-validation"}
        Choice of the bandwidth of the moments. A number multiplies the one of ``"auto"``.
    spectral : bool
        True if the initialisation is spectral.
    shared : bool
        True if all views have the same components.
    posterior_width : float, optional
        Width of the densities of the posterior passes, in scales of the feature inside components;
        None stands for the width of the reported densities.
    max_iter : int, optional
        Largest number of iterations over all rows.
    moments_rows : int or {"auto", "all"}
        Rows that the moments are summed over.
    n_populations : int or "auto", optional
        Number of populations that the components are merged into.
    merging : str, optional
        Criterion of merging.
    decomposition : {"jacobi", "power"}
        Algorithm of the orthogonal decomposition.
    landmarks : {"kmeans", "kmeans++", "uniform", "cholesky"}
        Choice of the landmarks.
    landmark_tolerance : float, optional
        Error of the kernel at which no further landmark is chosen.
    n_landmarks, pilot_rows : int
        Number of landmarks of a kernel, and of rows of the pilot sample.
    wanted_bins : int, optional
        Bins of the histograms.
    wanted_directions : int, optional
        Projected features of every group.
    feature_dtype : {"float32", "float64"}
        Type of kernel features and densities.
    random_state : int
        Seed of the model.
    notes : tuple of str
        Choices that follow from the data's description, as sentences.
    if_dependent : KernelMixtureSettings, optional
        Settings of populations, which replace these if the pilot sample shows that features depend
        on each other within components. None unless that is left to the data.
    if_no_moments : KernelMixtureSettings, optional
        Settings with the k-means initialisation; see `without_moments`. None unless the
        initialisation is spectral and was not asked for.
    posterior_width_of_two_views : float, optional
        ``posterior_width`` of `of_two_views`.
    """

    shape: DataShape
    n_components: int
    counted: bool
    least_views: int
    units: str
    units_by_data: bool
    kernels: Mapping[str, ViewKernel]
    groups: tuple[tuple[str, ...], ...] | None
    bandwidth: float | str
    spectral: bool
    shared: bool
    posterior_width: float | None
    max_iter: int | None
    moments_rows: int | str
    n_populations: int | str | None
    merging: str
    decomposition: Method
    landmarks: str
    landmark_tolerance: float | None
    n_landmarks: int
    wanted_directions: int | None
    wanted_bins: int | None
    pilot_rows: int
    feature_dtype: str
    random_state: int
    notes: tuple[str, ...] = ()
    if_dependent: KernelMixtureSettings | None = None
    if_no_moments: KernelMixtureSettings | None = None
    posterior_width_of_two_views: float | None = None

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return self.shape.slices

    def with_views(
        self,
        views: NamedViews,
        groups: tuple[tuple[str, ...], ...] | None,
    ) -> KernelMixtureSettings:
        """Return the settings for fewer views or features."""
        other, of_clusters = self.if_dependent, self.if_no_moments
        return replace(
            self,
            shape=replace(self.shape, views=views),
            kernels={name: self.kernels[name] for name, _ in views},
            groups=groups,
            if_dependent=None if other is None else other.with_views(views, other.groups),
            if_no_moments=None if of_clusters is None else of_clusters.with_views(views, None),
        )

    @property
    def largest_sample(self) -> KernelMixtureSettings:
        """Settings with the larger pilot sample, if the data decide between two."""
        return self if self.if_dependent is None else self.if_dependent

    @property
    def without_moments(self) -> KernelMixtureSettings:
        """Settings with the k-means initialisation, unless the other one was asked for."""
        if self.if_no_moments is None:
            return self
        return replace(
            self.if_no_moments,
            n_components=self.n_components,
            counted=self.counted,
            if_dependent=self.if_dependent,
        )

    @property
    def of_two_views(self) -> KernelMixtureSettings:
        """Settings if constant features leave two views of more, too few for moments."""
        settings = self.without_moments
        return replace(settings, posterior_width=settings.posterior_width_of_two_views)

    @property
    def merges_by_products(self) -> bool:
        """True if the criterion of merging compares products of posterior probabilities."""
        return self.merging in CRITERIA_OF_PRODUCTS

    @property
    def bandwidth_factor(self) -> float:
        """Factor of the rule for the bandwidth of the moments."""
        return 1.0 if isinstance(self.bandwidth, str) else float(self.bandwidth)

    @property
    def bins(self) -> int:
        """Bins of the histograms: fewer for few rows, and where tables would be large."""
        fewer = self.n_components >= MANY or self.shape.all_rows < FEW_ROWS
        return self.wanted_bins or (FEWER_BINS if fewer else BINS)

    @property
    def n_directions(self) -> int:
        """Projected features of every group: 3 k unless it is said otherwise, 2 k from k = 20."""
        k = self.n_components
        return self.wanted_directions or (3 * k if k < 20 else 2 * k)

    @property
    def tabulated(self) -> tuple[str, ...]:
        """The views whose densities are smoothed histograms: of one measured feature."""
        return tuple(name for name, _ in self.shape.views if name not in self.embedded)

    @property
    def tabulated_columns(self) -> tuple[int, ...]:
        """The columns of the views in `tabulated`."""
        return tuple(self.slices[name].start for name in self.tabulated)

    @property
    def embedded(self) -> tuple[str, ...]:
        """The views whose densities are sums of features: all others."""
        return tuple(
            name
            for name, members in self.shape.views
            if len(members) > 1
            or self.kernels[name] == DELTA
            or isinstance(self.kernels[name], CustomKernel)
        )

    @property
    def categorical_columns(self) -> list[int]:
        """The columns of categories in the values of a block."""
        return [self.slices[name].start for name, kind in self.kernels.items() if kind == DELTA]


BROAD_WIDTH = 1.25
"""Width of the posterior passes after k-means, in multiples of the scale inside components.

On 12 samples of gated cells a width of 0.5, 1 and 1.25 gave a mean class-weighted F1 of 0.915,
0.924 and 0.934; half the whole spread of a feature gave 0.922, but lost components of well
separated mixtures. Two views have fine densities. With the number of classes the mean adjusted Rand
index was 0.31 with a width of 1.25, 0.38 with 0.5 and 0.37 with fine densities, on pairs of
features of six sets, two sets of blobs and a banana.
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
20,000 rows, and by up to 0.06 between five seeds with 50,000. The mean F1 of 10 populations over
three seeds was 0.54 and 0.59, and that of blood cells in 21 markers 0.44 and 0.48.
"""

SPECTRAL_VIEWS = 3
"""Fewest views of a spectral initialisation."""

MOST_COUNTED = 20
"""Largest number of components that is looked for."""

MANY_COMPONENTS = 150
"""Most components that are merged into populations, unless it is said otherwise.

With one tree a fit, the F1 of 10 populations of activation cells was 0.53 with 150 components (four
seeds) and 0.47 with 100 (two seeds).
"""


def _view_kernels(
    kernels: ViewKernel | Mapping[str, ViewKernel], shape: DataShape, *, shared: bool
) -> dict[str, ViewKernel]:
    """Return the kernel of every view, Gaussian unless it is said otherwise."""
    lengths = {name: len(members) for name, members in shape.views}
    if isinstance(kernels, Mapping):
        unknown = sorted(str(name) for name in kernels.keys() - lengths.keys())
        if unknown:
            raise ViewError(
                Setting("kernel")
                + f" names the views {', '.join(unknown)}; the data have {', '.join(lengths)}"
            )
        by_view = {name: kernels.get(name, "gaussian") for name in lengths}
    else:
        by_view = dict.fromkeys(lengths, kernels)
    for name, kernel in by_view.items():
        if kernel == DELTA and lengths[name] > 1:
            raise ViewError(
                f"view {name!r} has {lengths[name]} features and the delta kernel, which is for "
                "one feature of codes; give every category a view of its own"
            )
    if shared and len({*by_view.values()}) > 1:
        listed = ", ".join(f"{name}: {kernel}" for name, kernel in by_view.items())
        raise ViewError(
            Setting("views_share_components", True)
            + f" needs one kernel for all views; got {listed}"
        )
    return by_view


def settings_of(
    parameters: ParameterValues, shape: DataShape, *, least_views: int | None = None
) -> KernelMixtureSettings:
    """Resolve the parameters of a `KernelMixture` for the data.

    Parameters
    ----------
    parameters : ParameterValues
        Parameters of the model.
    shape : DataShape
        Size, names and types of the data.
    least_views : int, optional
        Number of views that components need; by default three for moments, and two otherwise.

    Raises
    ------
    ViewError
        When the views are too few for the initialisation, or too different to share their
        components.
    IdentifiabilityError
        When there are fewer rows than components.
    """
    start = initialisation_of(parameters, len(shape.views))
    least_views = least_views or (SPECTRAL_VIEWS if start == "spectral" else 2)
    kernels = _view_kernels(parameters.kernel, shape, shared=parameters.views_share_components)
    check_views(shape.views, least_views, kernels, shared=parameters.views_share_components)
    k = n_components_of(parameters, int(shape.effective_rows))
    if shape.most_occurrences < max(2, k):
        raise IdentifiabilityError(
            Setting("n_components", k)
            + " needs more rows; got "
            + Setting("n_samples", shape.rows)
            + "; use a smaller number of components"
        )
    return KernelMixtureSettings(
        shape=shape,
        n_components=k,
        counted=parameters.n_components == "auto" and parameters.n_populations is None,
        least_views=least_views,
        units=_units(parameters, shape),
        units_by_data=_units_by_data(parameters, shape),
        kernels=kernels,
        groups=_view_groups(parameters, shape),
        bandwidth=parameters.bandwidth,
        spectral=start == "spectral",
        shared=parameters.views_share_components,
        posterior_width=_posterior_width(parameters, start, len(shape.views)),
        max_iter=parameters.max_iter,
        moments_rows=parameters.moments_rows,
        n_populations=parameters.n_populations,
        merging=parameters.merging,
        decomposition=parameters.decomposition,
        landmarks=parameters.landmarks,
        landmark_tolerance=parameters.landmark_tolerance,
        # narrow integers of NumPy would overflow in sizes
        n_landmarks=int(parameters.n_landmarks),
        wanted_directions=parameters.n_directions,
        wanted_bins=parameters.bins,
        pilot_rows=_pilot_rows(parameters),
        feature_dtype=parameters.feature_dtype,
        random_state=parameters.random_state,
        notes=_notes(parameters, shape),
        if_dependent=_settings_if_dependent(parameters, shape),
        if_no_moments=_settings_if_no_moments(parameters, shape, start),
        posterior_width_of_two_views=_posterior_width(parameters, "kmeans", SPECTRAL_VIEWS - 1),
    )


def _settings_if_dependent(
    parameters: ParameterValues, shape: DataShape
) -> KernelMixtureSettings | None:
    """Return the settings of populations where the data may decide for them.

    They do if neither components nor populations were asked for. Later steps of a fit in rounds see
    no rows of the sample, so that the data decide nothing there.
    """
    undecided = (
        not shape.in_rounds
        and parameters.n_components == "auto"
        and parameters.n_populations is None
        and parameters.merging is not None
        and parameters.init == "auto"
        and not parameters.views_share_components
    )
    if not undecided:
        return None
    return settings_of(parameters.changed(n_populations="auto", view_groups=None), shape)


def _settings_if_no_moments(
    parameters: ParameterValues, shape: DataShape, start: str
) -> KernelMixtureSettings | None:
    """Return the settings of the initialisation of two views, unless another one was asked for."""
    if parameters.init != "auto" or start != "spectral" or parameters.view_groups is not None:
        return None
    return settings_of(parameters.changed(init="kmeans"), shape)


def _pilot_rows(parameters: ParameterValues) -> int:
    """Return the rows of the pilot sample."""
    if parameters.pilot_rows is not None:
        return int(parameters.pilot_rows)
    return PILOT_ROWS if parameters.n_populations is None else PILOT_ROWS_OF_POPULATIONS


def _units(parameters: ParameterValues, shape: DataShape) -> str:
    """Return how features are compared: by the import's record where nothing else is said."""
    if parameters.units != "auto":
        return str(parameters.units)
    return "common" if shape.common_units else "own"


def _units_by_data(parameters: ParameterValues, shape: DataShape) -> bool:
    """Return True if populations are asked for, and neither user nor import says the units.

    The density of a view of several features depends on an embedding that the units change.
    Likelihoods of such views do not compare units.
    """
    return (
        parameters.units == "auto"
        and not shape.common_units
        and parameters.n_populations is not None
        and all(len(members) == 1 for _, members in shape.views)
    )


def _notes(parameters: ParameterValues, shape: DataShape) -> tuple[str, ...]:
    """Return notes on choices that follow from the data, and on parameters without effect."""
    notes: list[str] = []
    unused = without_effect(parameters, len(shape.views))
    if unused is not None:
        notes.append(unused)
    if shape.left_out and parameters.views is None:
        listed = ", ".join(shape.left_out)
        notes.append(
            f"The features {listed} are left out, because they are no markers by their roles, or "
            "not on the scale of the others. Name them in " + Setting("views") + " to use them"
        )
    if parameters.units == "auto" and shape.common_units:
        notes.append(
            "Features are compared as they are, because the import put them on one scale. With "
            + Setting("units", "own")
            + " they are compared by their spread"
        )
    return tuple(notes)


def initialisation_of(parameters: ParameterValues, n_views: int = SPECTRAL_VIEWS) -> str:
    """Return the initialisation: k-means suffices for many components, and for two views."""
    if parameters.init != "auto":
        return str(parameters.init)
    can_be_spectral = parameters.n_populations is None and n_views >= SPECTRAL_VIEWS
    return "spectral" if can_be_spectral else "kmeans"


_OF_MOMENTS = (
    NoEffect(
        ("bandwidth", "moments_rows", "decomposition", "n_directions"),
        "init",
        ("kmeans",),
        "which is the default with populations or two views and uses no moments ("
        + Setting("init", "spectral")
        + " uses them)",
    ),
)

_OF_MERGING = tuple(
    NoEffect(
        ("merging",),
        other,
        None,
        "which keeps all components unless " + Setting("n_populations") + " is given",
    )
    for other in ("n_components", "init", "views_share_components")
)


def without_effect(parameters: ParameterValues, n_views: int = SPECTRAL_VIEWS) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None."""
    resolved = parameters.changed(init=initialisation_of(parameters, n_views))
    unused = unused_parameter(resolved, PARAMETERS, _OF_MOMENTS)
    # None says that components are never merged, which holds in all cases
    if unused is None and parameters.n_populations is None and parameters.merging is not None:
        unused = unused_parameter(parameters, PARAMETERS, _OF_MERGING)
    return unused


def _posterior_width(parameters: ParameterValues, start: str, n_views: int) -> float | None:
    """Return the width of the posterior passes in scales inside components, if any."""
    if parameters.posterior_width == "auto":
        if start != "kmeans":
            return None
        if parameters.n_populations is not None:
            return BROAD_WIDTH_OF_POPULATIONS
        # two broad densities hardly tell components apart, and these become one
        return BROAD_WIDTH if n_views >= SPECTRAL_VIEWS else None
    return None if parameters.posterior_width is None else float(parameters.posterior_width)


def n_components_of(parameters: ParameterValues, rows: int) -> int:
    """Return the number of components, or the largest that may be found.

    Parameters
    ----------
    parameters : ParameterValues
        Parameters of the model.
    rows : int
        Rows of the data. A component that is merged needs a few tens of them.
    """
    if parameters.n_components != "auto":
        return int(parameters.n_components)
    if parameters.n_populations is None:
        return min(MOST_COUNTED, max(2, rows // 2))
    many = min(MANY_COMPONENTS, max(1, rows // ROWS_OF_A_COMPONENT))
    return many if parameters.n_populations == "auto" else max(int(parameters.n_populations), many)


def _view_groups(
    parameters: ParameterValues, shape: DataShape
) -> tuple[tuple[str, ...], ...] | None:
    """Return the groups of views that were given, or None; raise where they make no sense."""
    if parameters.view_groups is None:
        return None
    names = [name for name, _ in shape.views]
    groups = tuple(tuple(group) for group in parameters.view_groups)
    listed = [name for group in groups for name in group]
    if len(groups) != 3 or not all(groups) or len({*listed}) < len(listed):
        raise ParameterError(
            Setting("view_groups")
            + f" is {parameters.view_groups!r}; expected three lists of views, none empty and "
            "no view twice"
        )
    unknown = [str(name) for name in listed if name not in names]
    if unknown:
        raise ViewError(
            Setting("view_groups")
            + f" names the views {', '.join(unknown)}; the data have {', '.join(names)}"
        )
    if parameters.views_share_components and len(listed) < len(names):
        raise ParameterError(
            "with "
            + Setting("views_share_components", True)
            + " every view belongs to a group; missing: "
            + ", ".join(name for name in names if name not in listed)
        )
    return groups


def check_views(
    views: NamedViews, needed: int, kernels: Mapping[str, ViewKernel], *, shared: bool
) -> None:
    """Raise a ViewError unless views are enough for the initialisation and fit together.

    Parameters
    ----------
    views : tuple of (name, features)
        Views of the data, or those that are left without constant features.
    needed : int
        Number of views without which components cannot be told apart.
    kernels : mapping of str to kernel
        The kernel of every view.
    shared : bool
        True if the views share their components.
    """
    lengths = {name: len(members) for name, members in views}
    if len(views) < needed:
        spectral = needed == SPECTRAL_VIEWS
        who = Setting("init", "spectral") if spectral else "a kernel mixture"
        alternative = (
            Setting("init", "kmeans") + ", or views of fewer features"
            if spectral and len(views) > 1
            else "more views, or fit a GaussianMixture"
        )
        raise ViewError(
            who + f" needs at least {needed} views that are independent given the component; got "
            f"{len(views)} view(s) of {sum(lengths.values())} feature(s); use " + alternative
        )
    if shared and len({*lengths.values()}) > 1:
        raise ViewError(
            Setting("views_share_components", True)
            + " needs views with equally many features, one for one the same quantity; got "
            + ", ".join(f"{name}: {d}" for name, d in lengths.items())
            + "; leave a feature out of all views or of none"
        )
    for name, d in lengths.items():
        kernel = kernels[name]
        if isinstance(kernel, CustomKernel) and kernel.width != d:
            raise ViewError(
                f"view {name!r} has {d} feature(s), but its kernel is for {kernel.width}; give a "
                f"kernel for {d}"
            )
