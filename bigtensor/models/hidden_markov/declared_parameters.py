"""Parameters of a hidden Markov model, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

KERNEL = "kernel"
"""Emissions that are densities of measured rows."""

EMISSIONS = ("categorical", KERNEL)

REFINEMENTS = ("auto", "triples", "sequences")

MOST_ITERATIONS = 10**6
"""Largest number of iterations with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "n_components",
        2,
        Whole(words=("auto",)),
        Option(
            ("--components", "-k"),
            "Number of hidden states; 'auto' chooses it by the likelihood of held-out triples.",
        ),
        memory=("states", "workspaces"),
    ),
    Parameter(
        "emissions",
        "categorical",
        Choice(EMISSIONS),
        Option(
            ("--emissions",),
            "What a row shows of its state: a category, or measured values with a density.",
        ),
    ),
    Parameter(
        "refine",
        "auto",
        Choice(REFINEMENTS),
        Option(
            ("--refine",),
            "Whether EM iterations end with those on windows of three rows, or go on along whole "
            "sequences; 'auto' goes on where that takes seconds.",
        ),
    ),
    Parameter(
        "ridge",
        2.0,
        Positive(),
        Option(
            ("--ridge",),
            "Pseudo-count that draws the states towards each other.",
            none="none",
        ),
        optional=True,
    ),
    Parameter(
        "max_iter",
        None,
        Whole(0, MOST_ITERATIONS),
        Option(("--max-iter",), "Most EM iterations along whole sequences."),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
