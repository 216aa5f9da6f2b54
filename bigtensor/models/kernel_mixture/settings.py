"""Settings of a kernel mixture: its parameters for the data, and what follows from them.

Fields hold parameters and decisions of the pilot sample. Numbers that depend on decisions are
properties, so that a decision replaces a field and every number follows.
"""

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
from bigtensor.models.contract.data_shape import DataShape
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
    may_merge : bool
        True if the pilot sample decides between components and populations.
    units : {"own", "common"}
        ``"own"``: features are compared in units of their spread. ``"common"``: as they are.
    units_undecided : bool
        True if the pilot sample chooses the units where components are merged.
    kernels : mapping of str to "gaussian", "laplace", "delta" or CustomKernel
        The kernel of every view.
    groups : tuple of three tuples of str, optional
        Views that are decomposed together; None stands for a choice by the data.
    bandwidth : float or {"auto", "gap", "cross-validation"}
        Choice of the bandwidth of the moments. A number multiplies the one of ``"auto"``.
    init : {"auto", "spectral", "kmeans"}
        Initialisation; ``"auto"`` stands for a choice by the number of views and populations.
    shared : bool
        True if all views have the same components.
    wanted_posterior_width : float or "auto", optional
        Width of the densities of the posterior passes; see `posterior_width`.
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
    n_landmarks : int
        Number of landmarks of a kernel.
    wanted_directions : int, optional
        Projected features of every group.
    wanted_bins : int, optional
        Bins of the histograms.
    wanted_pilot_rows : int, optional
        Rows of the pilot sample.
    feature_dtype : {"float32", "float64"}
        Type of kernel features and densities.
    random_state : int
        Seed of the model.
    least_views : int
        Number of views without which k-means cannot tell components apart.
    unused : mapping of str to str
        Sentence on a parameter without effect, by the initialisation that is used.
    notes : tuple of str
        Choices that follow from the data, as sentences.
    """

    shape: DataShape
    n_components: int
    counted: bool
    may_merge: bool
    units: str
    units_undecided: bool
    kernels: Mapping[str, ViewKernel]
    groups: tuple[tuple[str, ...], ...] | None
    bandwidth: float | str
    init: str
    shared: bool
    wanted_posterior_width: float | str | None
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
    wanted_pilot_rows: int | None
    feature_dtype: str
    random_state: int
    least_views: int
    unused: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view in the values of a block."""
        return self.shape.slices

    @property
    def if_dependent(self) -> KernelMixtureSettings | None:
        """Settings of populations, if the data may decide for them; see `choices.dependence`."""
        if not self.may_merge:
            return None
        many = components_to_merge("auto", int(self.shape.effective_rows))
        merged = replace(self, n_components=many, n_populations="auto", groups=None)
        return replace(merged, counted=False, may_merge=False)

    @property
    def initialisation(self) -> str:
        """The initialisation that is used."""
        # groups of views are given for moments, however few views constant features leave
        n_views = SPECTRAL_VIEWS if self.groups is not None else len(self.shape.views)
        return initialisation_of(self.init, self.n_populations, n_views)

    @property
    def spectral(self) -> bool:
        """True if the initialisation is spectral."""
        return self.initialisation == "spectral"

    @property
    def posterior_width(self) -> float | None:
        """Width of the densities of the posterior passes, in scales of features inside components.

        None stands for the width of the reported densities.
        """
        if self.wanted_posterior_width != "auto":
            width = self.wanted_posterior_width
            return None if width is None else float(width)
        if self.spectral:
            return None
        if self.n_populations is not None:
            return BROAD_WIDTH_OF_POPULATIONS
        # two broad densities hardly tell components apart, and these become one
        return BROAD_WIDTH if len(self.shape.views) >= SPECTRAL_VIEWS else None

    @property
    def pilot_rows(self) -> int:
        """Rows of the pilot sample."""
        of_choice = PILOT_ROWS if self.n_populations is None else PILOT_ROWS_OF_POPULATIONS
        return self.wanted_pilot_rows or of_choice

    @property
    def units_by_data(self) -> bool:
        """True if the pilot sample chooses the units."""
        return self.units_undecided and self.n_populations is not None

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
    parameters: ParameterValues, shape: DataShape, *, least_views: int = 2
) -> KernelMixtureSettings:
    """Resolve the parameters of a `KernelMixture` for the data.

    Parameters
    ----------
    parameters : ParameterValues
        Parameters of the model.
    shape : DataShape
        Size, names and types of the data.
    least_views : int, default 2
        Number of views that components need after k-means. Moments need three.

    Raises
    ------
    ViewError
        When the views are too few for the initialisation, or too different to share their
        components.
    IdentifiabilityError
        When there are fewer rows than components.
    """
    settings = KernelMixtureSettings(
        shape=shape,
        n_components=n_components_of(parameters, int(shape.effective_rows)),
        counted=parameters.n_components == "auto" and parameters.n_populations is None,
        may_merge=_may_merge(parameters, shape),
        units=_units(parameters, shape),
        units_undecided=_units_undecided(parameters, shape),
        kernels=_view_kernels(parameters.kernel, shape, shared=parameters.views_share_components),
        groups=None,
        bandwidth=parameters.bandwidth,
        init=parameters.init,
        shared=parameters.views_share_components,
        wanted_posterior_width=parameters.posterior_width,
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
        wanted_pilot_rows=None if parameters.pilot_rows is None else int(parameters.pilot_rows),
        feature_dtype=parameters.feature_dtype,
        random_state=parameters.random_state,
        least_views=least_views,
        unused={
            init: sentence
            for init in ("spectral", "kmeans")
            if (sentence := without_effect(parameters, init)) is not None
        },
        notes=_notes(parameters, shape),
    )
    check_views(settings)
    k = settings.n_components
    if shape.most_occurrences < max(2, k):
        raise IdentifiabilityError(
            Setting("n_components", k)
            + " needs more rows; got "
            + Setting("n_samples", shape.rows)
            + "; use a smaller number of components"
        )
    return replace(settings, groups=_view_groups(parameters, shape))


def _may_merge(parameters: ParameterValues, shape: DataShape) -> bool:
    """Return True if the data may decide for populations: if nothing that excludes them was given.

    Later steps of a fit in rounds see no rows of the sample, so that the data decide nothing there.
    """
    return (
        not shape.in_rounds
        and parameters.n_components == "auto"
        and parameters.n_populations is None
        and parameters.merging is not None
        and parameters.init == "auto"
        and not parameters.views_share_components
    )


def _units(parameters: ParameterValues, shape: DataShape) -> str:
    """Return how features are compared: by the import's record where nothing else is said."""
    if parameters.units != "auto":
        return str(parameters.units)
    return "common" if shape.common_units else "own"


def _units_undecided(parameters: ParameterValues, shape: DataShape) -> bool:
    """Return True if neither user nor import says the units, and views have one feature each.

    The density of a view of several features depends on an embedding that the units change.
    Likelihoods of such views do not compare units.
    """
    return (
        parameters.units == "auto"
        and not shape.common_units
        and all(len(members) == 1 for _, members in shape.views)
    )


def _notes(parameters: ParameterValues, shape: DataShape) -> tuple[str, ...]:
    """Return notes on choices that follow from the description of the data."""
    notes: list[str] = []
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


def initialisation_of(init: str, n_populations: int | str | None, n_views: int) -> str:
    """Return the initialisation: k-means suffices for many components, and for two views."""
    if init != "auto":
        return init
    return "spectral" if n_populations is None and n_views >= SPECTRAL_VIEWS else "kmeans"


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


def without_effect(parameters: ParameterValues, start: str | None = None) -> Message | None:
    """Return a sentence on a parameter that is given although nothing uses it, or None.

    Parameters
    ----------
    parameters : ParameterValues
        Parameters of the model.
    start : {"spectral", "kmeans"}, optional
        Initialisation, by default the one of three views.
    """
    if start is None:
        start = initialisation_of(parameters.init, parameters.n_populations, SPECTRAL_VIEWS)
    unused = unused_parameter(parameters.changed(init=start), PARAMETERS, _OF_MOMENTS)
    # None says that components are never merged, which holds in all cases
    if unused is None and parameters.n_populations is None and parameters.merging is not None:
        unused = unused_parameter(parameters, PARAMETERS, _OF_MERGING)
    return unused


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
    return components_to_merge(parameters.n_populations, rows)


def components_to_merge(n_populations: int | str, rows: int) -> int:
    """Return the number of components that are merged into populations."""
    many = min(MANY_COMPONENTS, max(1, rows // ROWS_OF_A_COMPONENT))
    return many if n_populations == "auto" else max(int(n_populations), many)


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


def check_views(settings: KernelMixtureSettings) -> None:
    """Raise a ViewError unless views are enough for the initialisation and fit together."""
    views = settings.shape.views
    lengths = {name: len(members) for name, members in views}
    needed = SPECTRAL_VIEWS if settings.spectral else settings.least_views
    if len(views) < needed:
        who = Setting("init", "spectral") if settings.spectral else "a kernel mixture"
        alternative = (
            Setting("init", "kmeans") + ", or views of fewer features"
            if settings.spectral and len(views) > 1
            else "more views, or fit a GaussianMixture"
        )
        raise ViewError(
            who + f" needs at least {needed} views that are independent given the component; got "
            f"{len(views)} view(s) of {sum(lengths.values())} feature(s); use " + alternative
        )
    if settings.shared and len({*lengths.values()}) > 1:
        raise ViewError(
            Setting("views_share_components", True)
            + " needs views with equally many features, one for one the same quantity; got "
            + ", ".join(f"{name}: {d}" for name, d in lengths.items())
            + "; leave a feature out of all views or of none"
        )
    for name, d in lengths.items():
        kernel = settings.kernels[name]
        if isinstance(kernel, CustomKernel) and kernel.width != d:
            raise ViewError(
                f"view {name!r} has {d} feature(s), but its kernel is for {kernel.width}; give a "
                f"kernel for {d}"
            )
