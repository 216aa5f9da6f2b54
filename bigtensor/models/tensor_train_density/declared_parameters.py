"""Parameters of a tensor-train density, as users and the command line may set them."""

from bigtensor.models.contract.declarations import Choice, Option, Parameter, Positive, Whole
from bigtensor.models.tensor_train_density.options import TensorTrainOptions

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
        Option(("--rank",)),
        memory=("states", "workspaces", "driver"),
    ),
    Parameter("coordinates", "queries", Choice(COORDINATES), Option(("--coordinates",))),
    Parameter("method", "likelihood", Choice(METHODS), Option(("--method",))),
    Parameter("structure", "chain", Choice(STRUCTURES), Option(("--structure",))),
    Parameter("widths", "auto", None),
    Parameter(
        "least_width",
        "auto",
        Positive(words=("auto",)),
        Option(("--least-width",)),
        within=TensorTrainOptions,
    ),
    Parameter(
        "n_trains",
        "auto",
        Whole(most=MOST_TRAINS, words=("auto",)),
        Option(("--trains",)),
        memory=("states", "driver"),
        within=TensorTrainOptions,
    ),
    Parameter("max_iter", 4, Whole(1, MOST_PASSES), Option(("--max-iter",))),
    Parameter(
        "pilot_rows", 20_000, Whole(least=100), Option(("--pilot-rows",)), memory=("driver",)
    ),
)
"""Parameters that stand on their own; what they need of each other is checked in `settings`."""
