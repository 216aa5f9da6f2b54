"""Options of the spectral method and the densities of a kernel mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtensor.models.contract.declarations import Options


@dataclass(frozen=True, kw_only=True, repr=False)
class SpectralOptions(Options):
    """Details of the spectral method of a `KernelMixture`: kernel features, moments, densities.

    The defaults suit most data. ``decomposition``, ``n_directions`` and ``moments_rows`` matter to
    the spectral initialisation alone. Landmarks matter to it, and after any initialisation to the
    densities of views of several features. ``feature_dtype``, ``bins`` and ``posterior_width``
    describe densities and posterior probabilities, after k-means as well.

    Parameters
    ----------
    decomposition : {"jacobi", "power"}, default "jacobi"
        Joint diagonalisation, or the robust tensor power method with deflation. Their results
        differ little.
    n_directions : int, optional
        Projected features of every group of views, between k and 3 k; 3 k, or 2 k from k = 20.
    moments_rows : int or {"auto", "all"}, default "auto"
        Rows of the moments of the spectral initialisation: ``"auto"`` is all rows of fewer than
        four million, and a million rows spread over larger data. EM iterations over the same
        million and over all rows follow. A doubtful initialisation is then compared with two others
        by the likelihood. A number is the least number of rows. ``"all"`` sums all rows, and 4 EM
        iterations over all rows follow. Rounds (`prepare`, `accumulate`, `solve`) use all rows.
    landmarks : {"kmeans", "kmeans++", "uniform", "cholesky"}, default "kmeans"
        Landmarks of the kernel features: centres of clusters of the pilot sample, rows that seed
        clusters, rows at random, or the pivots of a Cholesky decomposition. The decomposition is
        incomplete and randomly pivoted (Chen, Epperly, Tropp and Webber 2023).
    n_landmarks : int, default 100
        Number of landmarks of every view. With a tolerance it is the largest number.
    landmark_tolerance : float, optional
        Relative trace error of the kernel matrix down to which landmarks are added.
    feature_dtype : {"float32", "float64"}, default "float32"
        Precision of kernel features, densities and posterior probabilities of rows. Sums over rows
        are float64. With ``"float64"`` parameters agree to 1e-8 for any chunks of the data.
    bins : int, optional
        Bins of the histograms of views of one feature. By default 2048, and 512 from 50 components
        on or below 2,000 rows.
    posterior_width : float or None, default "auto"
        Smallest width of the densities behind labels and posterior probabilities, in multiples of
        the scale of a feature inside the clusters of the pilot sample. It applies to views of one
        measured feature. None uses the reported densities, which have a width of each component's
        own. ``"auto"`` is None after a spectral initialisation or with two views, 1.25 after
        k-means, and 1 if components are merged. Broad densities keep labels steady if components
        are no products of views, as in cytometry.

    Examples
    --------
    >>> from bigtensor import KernelMixture, SpectralOptions
    >>> KernelMixture(3, spectral=SpectralOptions(n_landmarks=200))
    KernelMixture(n_components=3, spectral=SpectralOptions(n_landmarks=200))
    """

    parameter: ClassVar[str] = "spectral"

    decomposition: str = "jacobi"
    n_directions: int | None = None
    moments_rows: int | str = "auto"
    landmarks: str = "kmeans"
    n_landmarks: int = 100
    landmark_tolerance: float | None = None
    feature_dtype: str = "float32"
    bins: int | None = None
    posterior_width: float | str | None = "auto"
