"""Parameters of a kernel component analysis, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

KERNELS = ("gaussian", "laplace", "linear")

MOST_LANDMARKS = 10**4
MOST_PASSES = 10**4
"""Largest numbers with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        None,
        Whole(),
        Option(("--components", "-k"), "Number of sources, which may exceed the features."),
        required=True,
    ),
    Parameter(
        "kernel",
        "gaussian",
        Choice(KERNELS),
        Option(("--kernel",), "Kernel whose features are mixtures of the sources."),
    ),
    Parameter(
        "bandwidth",
        "auto",
        Positive(words=("auto",)),
        Option(
            ("--bandwidth",),
            "Standard deviation of the kernel, in standard deviations of the features; by default "
            "the root of the number of features.",
        ),
    ),
    Parameter(
        "n_landmarks",
        500,
        Whole(least=2, most=MOST_LANDMARKS),
        Option(
            ("--n-landmarks",),
            "Most points at which the kernel is evaluated; with as many as rows it is exact.",
        ),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter(
        "max_iter",
        3,
        Whole(1, MOST_PASSES),
        Option(("--max-iter",), "Most fixed-point iterations over all rows."),
    ),
    Parameter(
        "pilot_rows",
        None,
        Whole(),
        Option(
            ("--pilot-rows",),
            "Rows of the sample in which the landmarks are chosen and the sources are found first; "
            "by default 200 a source, and at least 20,000.",
        ),
        memory=("driver",),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
