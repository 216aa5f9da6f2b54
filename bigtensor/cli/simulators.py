"""Simulators of the command line and the options of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Choice:
    """Option of a simulator: a number, or one of a few words.

    Attributes
    ----------
    name : str
        Name of the writer's parameter.
    default : int, float or str
        Value without the option, which also gives the type.
    help : str
        Help text of the option.
    words : tuple of str
        Words to choose from; empty for a number.
    """

    name: str
    default: int | float | str
    help: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Simulator:
    """Command that writes rows with known truth.

    Attributes
    ----------
    name : str
        Module of `bigtensor.data.simulate`. Its writer has the same name after ``write_``.
    summary : str
        Sentence on the rows.
    choices : tuple of Choice
        Further parameters of the writer.
    truth : str
        True values that are written for every row, or beside the rows.
    names_components : bool
        If True, the components are those that the simulator names, and their number is no choice.
    """

    name: str
    summary: str
    choices: tuple[Choice, ...] = ()
    truth: str = "their labels"
    names_components: bool = False

    @property
    def command(self) -> str:
        """Name on the command line."""
        return self.name.replace("_", "-")

    def load(self) -> Callable[..., None]:
        """Return the writer."""
        module = import_module(f"bigtensor.data.simulate.{self.name}")
        writer: Callable[..., None] = getattr(module, f"write_{self.name}")
        return writer


_SIMULATORS = (
    Simulator(
        "kernel_mixture",
        "Three views of one feature each, Gaussian components.",
    ),
    Simulator(
        "blood",
        "White blood cells of eight markers and four donors: T, B and NK cells, monocytes, "
        "dendritic cells.",
        names_components=True,
    ),
    Simulator(
        "cytometry",
        "Cells of six skewed and heavy-tailed markers, populations of very different sizes, four "
        "samples.",
    ),
    Simulator(
        "discrete_mixture",
        "Views of categories, with missing entries.",
        (
            Choice("n_categories", 10, "Categories of every view."),
            Choice("views", 3, "Number of views."),
            Choice("concentration", 1.0, "Small values make components of few categories each."),
            Choice("missing", 0.0, "Share of the entries that are missing."),
        ),
    ),
    Simulator(
        "hidden_markov",
        "Sequences of symbols that hidden states show; components are states.",
        (
            Choice("n_symbols", 10, "Number of symbols."),
            Choice("sequences", 1, "Number of sequences."),
            Choice("concentration", 1.0, "Small values make states of few symbols each."),
            Choice("stay", 0.0, "Probability to stay in a state in any case."),
            Choice("missing", 0.0, "Share of the steps that are missing."),
        ),
    ),
    Simulator(
        "linear_mixture",
        "Three views of several features, a column and noise, with any number of components.",
        (
            Choice("n_features", 10, "Features of every view."),
            Choice("noise", 1.0, "Length of the noise of a view."),
        ),
    ),
    Simulator(
        "ica",
        "Linear mixtures of independent sources, and noise; components are sources.",
        (
            Choice("n_features", 10, "Number of features."),
            Choice("noise", 0.0, "Root mean square of the standard deviations of the noise."),
            Choice(
                "sources",
                "laplace",
                "Heavy tails, light tails, or zero in nine of ten rows.",
                ("laplace", "uniform", "sparse"),
            ),
        ),
        "the true mixing columns",
    ),
    Simulator(
        "latent_chain",
        "Variables that a latent chain runs along, for densities; components are states.",
        (
            Choice("n_features", 10, "Number of variables."),
            Choice("stay", 0.7, "Probability that the state stays in any case."),
        ),
        "the state of the first variable",
    ),
    Simulator(
        "topics",
        "Documents whose words come from a few topics each, as sparse counts of AnnData; "
        "components are topics.",
        (
            Choice("n_words", 1000, "Size of the vocabulary."),
            Choice("mean_length", 100.0, "Mean number of words of a document."),
            Choice("concentration", 1.0, "Small values make documents of few topics."),
            Choice("frequencies", "zipf", "Frequencies of words.", ("zipf", "uniform")),
        ),
        "the true topics",
    ),
    Simulator(
        "gaussian_mixture",
        "Gaussian components with one spherical covariance, with any number of components.",
        (
            Choice("n_features", 10, "Number of features."),
            Choice("noise", 1.0, "Length of the noise of a row."),
        ),
    ),
)

SIMULATORS = {simulator.command: simulator for simulator in _SIMULATORS}
"""Every simulator by its name on the command line."""
