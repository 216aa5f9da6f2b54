"""Parameters of a discrete mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

METHODS = ("ex", "ex_literal", "svd", "svd_joint", "std", "em")

MOST_ITERATIONS = 10**6
"""Largest number of iterations or initialisations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        "auto",
        Whole(words=("auto",)),
        Option(("--components", "-k")),
        memory=("states", "workspaces"),
    ),
    Parameter("method", "ex", Choice(METHODS), Option(("--method",))),
    Parameter(
        "ridge",
        "cross-validation",
        Positive(words=("cross-validation",)),
        Option(("--ridge",), none="none"),
        optional=True,
    ),
    Parameter("max_iter", None, Whole(0, MOST_ITERATIONS), Option(("--max-iter",))),
    Parameter("n_starts", 40, Whole(1, MOST_ITERATIONS), Option(("--starts",))),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
