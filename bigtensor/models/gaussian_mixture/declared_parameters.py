"""Parameters of a Gaussian mixture, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Flag, Option, Parameter, Positive, Whole

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical", "shared_spherical")

CRITERIA = ("held_out", "bic")
"""Ways to choose the number of components."""

INITIALISATIONS = ("auto", "kmeans", "moments")
"""Initialisations that EM iterations start from."""

MOST_ITERATIONS = 10**6
"""Largest number of iterations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        "auto",
        Whole(words=("auto",)),
        Option(("--components", "-k")),
        memory=("states", "workspaces"),
    ),
    Parameter("covariance_type", "full", Choice(COVARIANCE_TYPES), Option(("--covariance-type",))),
    Parameter(
        "n_populations", None, Whole(words=("auto",)), Option(("--populations",)), in_rounds=False
    ),
    Parameter("criterion", "held_out", Choice(CRITERIA), Option(("--criterion",))),
    Parameter("init", "auto", Choice(INITIALISATIONS), Option(("--init",))),
    Parameter("n_init", 10, Whole(), Option(("--n-init",))),
    Parameter(
        "reg_covar", "auto", Positive(words=("auto",), or_zero=True), Option(("--reg-covar",))
    ),
    Parameter("weights_init", None, None),
    Parameter("means_init", None, None),
    Parameter("precisions_init", None, None),
    Parameter("warm_start", False, Flag()),
    Parameter("max_iter", 10, Whole(0, MOST_ITERATIONS), Option(("--max-iter",))),
    Parameter("tol", 1e-5, Positive(), Option(("--tol",))),
    Parameter("pilot_rows", None, Whole(), Option(("--pilot-rows",)), memory=("driver",)),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
