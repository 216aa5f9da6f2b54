"""Parameters of a linear mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Whole

MOST_ITERATIONS = 10**6
"""Largest number of passes with which a fit is planned."""

METHODS = ("auto", "sample", "compressed", "explicit", "passes", "power")
"""Ways to find the components."""

PARAMETERS = (
    Parameter(
        "n_components",
        None,
        Whole(),
        Option(("--components", "-k")),
        required=True,
        memory=("states", "workspaces"),
    ),
    Parameter("method", "auto", Choice(METHODS), Option(("--method",))),
    Parameter(
        "gauss_newton_steps", 1, Whole(0, MOST_ITERATIONS), Option(("--gauss-newton-steps",))
    ),
    Parameter("max_iter", None, Whole(0, MOST_ITERATIONS), Option(("--max-iter",))),
    Parameter("pilot_rows", None, Whole(), Option(("--pilot-rows",)), memory=("driver",)),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
