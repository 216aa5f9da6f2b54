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
        Option(("--components", "-k"), "Number of components, which may exceed the features."),
        required=True,
        memory=("states", "workspaces"),
    ),
    Parameter(
        "method",
        "auto",
        Choice(METHODS),
        Option(
            ("--method",),
            "Way to find the components: in a pilot sample, in a compressed or an explicit moment "
            "tensor, in full passes, or by the published power updates; in a sample by default, "
            "unless another costs clearly less.",
        ),
    ),
    Parameter(
        "gauss_newton_steps",
        1,
        Whole(0, MOST_ITERATIONS),
        Option(
            ("--gauss-newton-steps",),
            "Gauss-Newton steps over all rows, after the fit of a pilot sample.",
        ),
    ),
    Parameter(
        "max_iter",
        2,
        Whole(0, MOST_ITERATIONS),
        Option(("--max-iter",), "EM iterations over all rows, after the moments are solved."),
    ),
    Parameter(
        "pilot_rows",
        None,
        Whole(),
        Option(
            ("--pilot-rows",),
            "Rows of the sample in which the components are found; by default 200 a component, "
            "and at least 20,000.",
        ),
        memory=("driver",),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
