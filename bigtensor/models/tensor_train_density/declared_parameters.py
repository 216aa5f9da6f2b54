"""Parameters of a tensor-train density, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole

COORDINATES = ("queries", "density", "z", "ns", "pca", "ns-pca", "zca", "ns-zca")

METHODS = ("likelihood", "embedding")

STRUCTURES = ("chain", "balanced")

MOST_RANK = 64
MOST_TRAINS = 100
MOST_PASSES = 10**4
"""Largest numbers with which a fit is planned."""

PARAMETERS = (
    Parameter(
        "rank",
        "auto",
        Whole(most=MOST_RANK, words=("auto",)),
        Option(("--rank",), "Values of the latent states; by default chosen by validation."),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter(
        "coordinates",
        "queries",
        Choice(COORDINATES),
        Option(
            ("--coordinates",),
            "Coordinates of the rows: standardised (z), normal scores (ns), and either along "
            "principal axes (pca) or whitened (zca). 'queries' chooses between z and ns, which "
            "answer every query, and 'density' among all.",
        ),
    ),
    Parameter(
        "method",
        "likelihood",
        Choice(METHODS),
        Option(
            ("--method",),
            "Trains by likelihood, or the published kernel embedding of at most 2,000 rows.",
        ),
    ),
    Parameter(
        "structure",
        "chain",
        Choice(STRUCTURES),
        Option(("--structure",), "Latent states along a chain, or in a balanced binary tree."),
    ),
    Parameter("widths", "auto", None),
    Parameter(
        "least_width",
        "auto",
        Positive(words=("auto",)),
        Option(
            ("--least-width",),
            "Smallest standard deviation of a bump, in standard deviations of the variables.",
        ),
    ),
    Parameter(
        "n_trains",
        "auto",
        Whole(most=MOST_TRAINS, words=("auto",)),
        Option(
            ("--trains",),
            "Tensor trains from different starts, whose average is the density; by default several "
            "for few rows and one for many.",
        ),
        memory=("states", "driver"),
    ),
    Parameter(
        "max_iter",
        4,
        Whole(1, MOST_PASSES),
        Option(("--max-iter",), "Most passes of expectation maximisation over all rows."),
    ),
    Parameter(
        "pilot_rows",
        20_000,
        Whole(least=100),
        Option(("--pilot-rows",), "Rows of the sample in which everything is chosen."),
        memory=("driver",),
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
