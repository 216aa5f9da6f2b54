"""Parameters of a kernel component analysis, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

KERNELS = ("gaussian", "laplace", "linear")

MOST_LANDMARKS = 10**4
MOST_PASSES = 10**4
"""Largest numbers with which a fit is planned."""

PARAMETERS = (
    Parameter("n_components", None, Whole(), Option(("--components", "-k")), required=True),
    Parameter("kernel", "gaussian", Choice(KERNELS), Option(("--kernel",))),
    Parameter("bandwidth", "auto", Positive(words=("auto",)), Option(("--bandwidth",))),
    Parameter(
        "n_landmarks",
        500,
        Whole(least=2, most=MOST_LANDMARKS),
        Option(("--n-landmarks",)),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter("max_iter", 3, Whole(1, MOST_PASSES), Option(("--max-iter",))),
    Parameter("pilot_rows", None, Whole(), Option(("--pilot-rows",)), memory=("driver",)),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
