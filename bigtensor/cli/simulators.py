"""Simulators of the command line and the options of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Choice:
    """Number or word that a simulator may be told.

    Attributes
    ----------
    name : str
        Of the parameter of the writer.
    default : int, float or str
        Its type is that of the answer.
    help : str
        Help text of the option.
    words : tuple of str
        Which words there are; empty for a number.
    """

    name: str
    default: int | float | str
    help: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Simulator:
    """Writer of rows with known truth, of so many components.

    Attributes
    ----------
    module, writer : str
        Place and name of the function.
    summary : str
        Sentence on the rows.
    choices : tuple of Choice
        Further parameters of the writer.
    truth : str
        True values that are written for every row, or beside the rows.
    """

    module: str
    writer: str
    summary: str
    choices: tuple[Choice, ...] = ()
    truth: str = "their labels"

    def load(self) -> Callable[..., None]:
        """Return the function."""
        writer: Callable[..., None] = getattr(import_module(self.module), self.writer)
        return writer


SIMULATORS = {
    "kernel-mixture": Simulator(
        "bigtensor.data.simulate.kernel_mixture",
        "write_kernel_mixture",
        "Three views of one feature each, Gaussian components.",
    ),
    "cytometry": Simulator(
        "bigtensor.data.simulate.cytometry",
        "write_cytometry",
        "Cells of six skewed and heavy-tailed markers, populations of very different sizes, four "
        "samples.",
    ),
    "discrete-mixture": Simulator(
        "bigtensor.data.simulate.discrete_mixture",
        "write_discrete_mixture",
        "Views of categories, with missing entries.",
        (
            Choice("n_categories", 10, "Categories of every view."),
            Choice("views", 3, "Number of views."),
            Choice("concentration", 1.0, "Small values make components of few categories each."),
            Choice("missing", 0.0, "Share of the entries that are missing."),
        ),
    ),
    "hidden-markov": Simulator(
        "bigtensor.data.simulate.hidden_markov",
        "write_hidden_markov",
        "Sequences of symbols that hidden states show; components are states.",
        (
            Choice("n_symbols", 10, "Number of symbols."),
            Choice("sequences", 1, "Number of sequences."),
            Choice("concentration", 1.0, "Small values make states of few symbols each."),
            Choice("stay", 0.0, "Probability to stay in a state in any case."),
            Choice("missing", 0.0, "Share of the steps that are missing."),
        ),
    ),
    "linear-mixture": Simulator(
        "bigtensor.data.simulate.linear_mixture",
        "write_linear_mixture",
        "Three views of several features, a column and noise, with any number of components.",
        (
            Choice("n_features", 10, "Features of every view."),
            Choice("noise", 1.0, "Length of the noise of a view."),
        ),
    ),
    "ica": Simulator(
        "bigtensor.data.simulate.ica",
        "write_ica",
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
    "latent-chain": Simulator(
        "bigtensor.data.simulate.latent_chain",
        "write_latent_chain",
        "Variables that a latent chain runs along, for densities; components are states.",
        (
            Choice("n_features", 10, "Number of variables."),
            Choice("stay", 0.7, "Probability that the state stays in any case."),
        ),
        "the state of the first variable",
    ),
    "topics": Simulator(
        "bigtensor.data.simulate.topics",
        "write_topics",
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
    "gaussian-mixture": Simulator(
        "bigtensor.data.simulate.gaussian_mixture",
        "write_gaussian_mixture",
        "Gaussian components with one spherical covariance, with any number of components.",
        (
            Choice("n_features", 10, "Number of features."),
            Choice("noise", 1.0, "Length of the noise of a row."),
        ),
    ),
}
"""Every simulator by its name on the command line."""
