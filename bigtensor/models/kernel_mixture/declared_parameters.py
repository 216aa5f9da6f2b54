"""Parameters of a kernel mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Flag, Option, Parameter, Positive, Whole
from bigtensor.models.kernel_mixture.options import SpectralOptions

INITIALISATIONS = ("auto", "spectral", "kmeans")
BANDWIDTHS = ("auto", "gap", "cross-validation")
LANDMARKS = ("kmeans", "kmeans++", "uniform", "cholesky")
MERGING = (
    *("levels", "separation", "misclassification", "mean_misclassification"),
    *("quadratic_entropy", "overlap"),
)

MOST_LANDMARKS, MOST_BINS, MOST_PASSES = 2**16, 2**20, 10**6
"""Largest counts with which a fit is planned; the plan tells whether the memory holds it."""

PARAMETERS = (
    Parameter(
        "n_components",
        "auto",
        Whole(words=("auto",)),
        Option(("--components", "-k")),
        memory=("states",),
    ),
    Parameter("n_populations", None, Whole(words=("auto",)), Option(("--populations",))),
    Parameter("init", "auto", Choice(INITIALISATIONS), Option(("--init",))),
    Parameter("merging", "levels", Choice(MERGING), Option(("--merging",)), optional=True),
    Parameter("units", "auto", Choice(("auto", "own", "common")), Option(("--units",))),
    Parameter(
        "posterior_width",
        "auto",
        Positive(words=("auto",)),
        Option(("--posterior-width",), none="none"),
        optional=True,
        within=SpectralOptions,
    ),
    Parameter("bandwidth", "auto", Positive(words=BANDWIDTHS), Option(("--bandwidth",))),
    Parameter(
        "moments_rows",
        "auto",
        Whole(least=1000, words=("auto", "all")),
        Option(("--moments-rows",)),
        within=SpectralOptions,
        in_rounds=False,
    ),
    Parameter(
        "kernel",
        "gaussian",
        None,
        Option(
            ("--kernel",),
            kind=Choice(("gaussian", "laplace")),
            by_view=("gaussian", "laplace", "delta"),
        ),
    ),
    Parameter(
        "landmarks", "kmeans", Choice(LANDMARKS), Option(("--landmarks",)), within=SpectralOptions
    ),
    Parameter("views_share_components", False, Flag(), Option(("--shared-components",))),
    Parameter("view_groups", None, None),
    Parameter("max_iter", None, Whole(most=MOST_PASSES), Option(("--max-iter",)), in_rounds=False),
    Parameter("decomposition", "jacobi", Choice(("jacobi", "power")), within=SpectralOptions),
    Parameter("landmark_tolerance", None, Positive(below=1), within=SpectralOptions),
    Parameter(
        "n_landmarks",
        100,
        Whole(least=2, most=MOST_LANDMARKS),
        Option(("--n-landmarks",)),
        memory=("workspaces", "driver"),
        within=SpectralOptions,
    ),
    Parameter("n_directions", None, Whole(), memory=("states",), within=SpectralOptions),
    Parameter(
        "bins", None, Whole(least=16, most=MOST_BINS), memory=("states",), within=SpectralOptions
    ),
    Parameter("pilot_rows", None, Whole(least=100), Option(("--pilot-rows",)), memory=("driver",)),
    Parameter("feature_dtype", "float32", Choice(("float32", "float64")), within=SpectralOptions),
)
"""Parameters of this model alone.

Every model has views, missing, weights, sample_dim and random_state besides.
"""
