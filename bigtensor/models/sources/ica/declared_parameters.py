"""Parameters of an independent component analysis, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Whole

METHODS = ("auto", "whitened", "cumulant")

MOST_PASSES = 10**4
"""Largest number of passes with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        None,
        Whole(),
        Option(("--components", "-k")),
        memory=("states", "workspaces"),
    ),
    Parameter("method", "auto", Choice(METHODS), Option(("--method",))),
    Parameter("max_iter", 3, Whole(1, MOST_PASSES), Option(("--max-iter",))),
    Parameter("gauss_newton_steps", 2, Whole(0, MOST_PASSES), Option(("--gauss-newton-steps",))),
    Parameter("pilot_rows", None, Whole(), Option(("--pilot-rows",)), memory=("driver",)),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
