"""Parameters of a kernel mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Flag, Option, Parameter, Positive, Whole

STARTS = ("auto", "spectral", "kmeans")
BANDWIDTHS = ("auto", "gap", "cross-validation")
LANDMARKS = ("kmeans", "kmeans++", "uniform", "cholesky")
MERGING = (
    *("consensus", "separation", "misclassification", "mean_misclassification"),
    *("quadratic_entropy", "overlap"),
)

MOST_LANDMARKS, MOST_BINS, MOST_PASSES = 2**16, 2**20, 10**6
"""Largest counts with which a fit is planned; the plan tells whether the memory holds it."""

PARAMETERS = (
    Parameter(
        "n_components",
        "auto",
        Whole(words=("auto",)),
        Option(
            ("--components", "-k"),
            "Number of components; 'auto' counts them in the sample. They are many, and merged, "
            "with --populations or where features depend on each other within them.",
        ),
        memory=("states",),
    ),
    Parameter(
        "n_populations",
        None,
        Whole(words=("auto",)),
        Option(
            ("--populations",),
            "Merge the components into so many populations, which labels then stand for.",
        ),
    ),
    Parameter(
        "init",
        "auto",
        Choice(STARTS),
        Option(
            ("--init",),
            "Initialisation of the EM iterations: 'auto' is kmeans with --populations, and "
            "spectral without.",
        ),
    ),
    Parameter(
        "merging",
        "consensus",
        Choice(MERGING),
        Option(
            ("--merging",),
            "What components are merged by, with --populations or of itself: trees of all rows and "
            "of halves of the sample together (consensus), or one criterion for all rows.",
        ),
        optional=True,
    ),
    Parameter(
        "units",
        "auto",
        Choice(("auto", "own", "common")),
        Option(
            ("--units",),
            "Compare features in units of their own spread, or as they are because all have the "
            "same units, such as the markers of a cytometer. 'auto' is common where an import "
            "recorded that it put all features on one scale.",
        ),
    ),
    Parameter(
        "posterior_width",
        "auto",
        Positive(words=("auto",)),
        Option(
            ("--posterior-width",),
            "Least width of the densities that labels come from, in multiples of the scale inside "
            "components.",
            none="none",
        ),
        optional=True,
    ),
    Parameter(
        "bandwidth",
        "auto",
        Positive(words=BANDWIDTHS),
        Option(
            ("--bandwidth",),
            "Bandwidth of the spectral initialisation. A number multiplies the one of 'auto'.",
        ),
    ),
    Parameter(
        "moments_rows",
        "auto",
        Whole(least=1000, words=("auto", "all")),
        Option(
            ("--moments-rows",),
            "Rows that the moments of the spectral initialisation are summed over. 'auto' is all "
            "rows, and from four million rows on a million spread over the data.",
        ),
    ),
    Parameter(
        "kernel",
        "gaussian",
        None,
        Option(
            ("--kernel",),
            "Kernel of the views that have no other. A table [kernel] of name = 'laplace' or "
            "'delta' in the file of views gives views another one.",
            kind=Choice(("gaussian", "laplace")),
            by_view=("gaussian", "laplace", "delta"),
        ),
    ),
    Parameter(
        "landmarks",
        "kmeans",
        Choice(LANDMARKS),
        Option(
            ("--landmarks",),
            "How the landmarks of the kernel features are chosen from the sample.",
        ),
    ),
    Parameter(
        "views_share_components",
        False,
        Flag(),
        Option(
            ("--shared-components",),
            "A component has the same density in all views: repeated measurements.",
        ),
    ),
    Parameter("view_groups", None, None),
    Parameter(
        "max_iter",
        None,
        Whole(most=MOST_PASSES),
        Option(("--max-iter",), "Largest number of EM iterations, each a pass."),
    ),
    Parameter("decomposition", "jacobi", Choice(("jacobi", "power"))),
    Parameter("landmark_tolerance", None, Positive(below=1)),
    Parameter(
        "n_landmarks",
        100,
        Whole(least=2, most=MOST_LANDMARKS),
        memory=("workspaces", "driver"),
    ),
    Parameter("n_directions", None, Whole(), memory=("states",)),
    Parameter("bins", None, Whole(least=16, most=MOST_BINS), memory=("states",)),
    Parameter(
        "pilot_rows",
        None,
        Whole(least=100),
        Option(
            ("--pilot-rows",),
            "Rows of the pilot sample. By default 20,000, and 50,000 with --populations.",
        ),
        memory=("driver",),
    ),
    Parameter("feature_dtype", "float32", Choice(("float32", "float64"))),
)
"""Parameters of this model alone.

Every model has views, missing, weights, sample_dim and random_state besides.
"""
