"""Documents whose words come from a few topics each, as sparse counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.simulate.rows import Progress, block_bounds, check_integer, check_positive
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.errors import ParameterError, Setting

if TYPE_CHECKING:
    from anndata import AnnData

FREQUENCIES = ("zipf", "uniform")
"""Frequencies of words over all topics: one over the rank, or equal."""

CONCENTRATION = 0.1
"""Parameter of the Dirichlet distribution of the words of a topic, of a word of mean frequency."""

_LEAST_PARAMETER = 1e-3
"""Smallest parameter of the Dirichlet distribution of the words of a topic."""

_LEAST_LENGTH = 3
"""Words of the shortest document: a shorter one has no triple of words."""


def topics(
    rows: int,
    n_components: int,
    n_words: int = 1000,
    mean_length: float = 100.0,
    concentration: float = 1.0,
    frequencies: str = "zipf",
    random_state: RandomState = 0,
) -> AnnData:
    """Draw documents from a model of latent Dirichlet allocation.

    Topics are drawn from a Dirichlet distribution whose parameters are 0.1 times the relative
    frequencies of the words, and at least 0.001. Lengths of documents are Poisson numbers of at
    least three.

    Parameters
    ----------
    rows : int
        Number of documents, at least 1.
    n_components : int
        Number of topics k, at least 1.
    n_words : int, default 1000
        Size of the vocabulary V.
    mean_length : float, default 100
        Mean number of words of a document.
    concentration : float, default 1
        Sum of the parameters of the Dirichlet distribution of the shares, all of them equal.
    frequencies : {"zipf", "uniform"}, default "zipf"
        Whether words are the rarer the higher their number, or not.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    AnnData
        ``X`` (rows, V) int32 CSR; the truth in ``varm["true_topics"]`` (V, k),
        ``obsm["true_shares"]`` (rows, k) and ``uns["true_concentration"]`` (k,).

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    MissingDependencyError
        If anndata is not installed.

    Examples
    --------
    >>> data = topics(500, 4, n_words=200, random_state=1)
    >>> data.shape
    (500, 200)
    """
    anndata = optional_module("anndata", "cytometry")
    truth, prior, blocks = _simulation(
        rows, n_components, n_words, mean_length, concentration, frequencies, random_state
    )
    counts, shares = zip(*blocks, strict=True)
    data = anndata.AnnData(vstack(counts, format="csr"))
    data.var_names = _names(n_words)
    data.varm["true_topics"] = truth
    data.obsm["true_shares"] = np.concatenate(shares)
    data.uns["true_concentration"] = prior
    return data


def write_topics(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_words: int = 1000,
    mean_length: float = 100.0,
    concentration: float = 1.0,
    frequencies: str = "zipf",
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the documents of :func:`topics` to AnnData in Zarr, block by block.

    True shares are not written: they would be larger than the counts.

    Parameters
    ----------
    path : path or URL
        It appears under this name when it is whole.
    rows, n_components, n_words, mean_length, concentration, frequencies, random_state
        As for :func:`topics`.
    overwrite : bool, default False
        Replace a store of this name.
    progress : callable, optional
        Called after every block with the number of rows done and of all rows.

    Raises
    ------
    ParameterError, OutputError
    """
    truth, prior, blocks = _simulation(
        rows, n_components, n_words, mean_length, concentration, frequencies, random_state
    )
    with CountStoreWriter(path, _names(n_words), overwrite=overwrite) as store:
        store.add("varm/true_topics", truth)
        store.add("uns/true_concentration", prior)
        for counts, _ in blocks:
            store.append(counts)
            if progress is not None:
                progress(store.rows, rows)


def _simulation(
    rows: int,
    n_components: int,
    n_words: int,
    mean_length: float,
    concentration: float,
    frequencies: str,
    random_state: RandomState,
) -> tuple[FloatArray, FloatArray, Iterator[tuple[csr_array, FloatArray]]]:
    """Return topics, prior, and the counts and shares of the blocks."""
    rows, k = check_integer("rows", rows, 1), check_integer("n_components", n_components, 1)
    V, seed = check_integer("n_words", n_words, 1), integer_seed(random_state)
    check_positive("mean_length", mean_length)
    check_positive("concentration", concentration)
    if frequencies not in FREQUENCIES:
        raise ParameterError(
            Setting("frequencies") + f" is {frequencies!r}; expected one of {FREQUENCIES}"
        )
    rng = np.random.default_rng(seed)
    base = np.ones(V)
    if frequencies == "zipf":
        base = 1 / np.arange(1.0, V + 1)
        base *= V / base.sum()
    truth = rng.dirichlet(np.maximum(CONCENTRATION * base, _LEAST_PARAMETER), k).T
    prior = np.full(k, concentration / k)
    return truth, prior, _blocks(rng, rows, truth, prior, mean_length)


def _blocks(
    rng: np.random.Generator,
    rows: int,
    truth: FloatArray,
    prior: FloatArray,
    mean_length: float,
) -> Iterator[tuple[csr_array, FloatArray]]:
    """Yield counts and shares of blocks of documents."""
    levels = np.cumsum(truth, axis=0)
    for start, stop in block_bounds(rows):
        n = stop - start
        lengths = np.maximum(_LEAST_LENGTH, rng.poisson(mean_length, n))
        shares = rng.dirichlet(prior, n)
        # small parameters may round every share of a document to zero
        shares[~(shares.sum(axis=1) > 0)] = prior / prior.sum()
        topic_lengths = rng.multinomial(lengths, shares / shares.sum(axis=1, keepdims=True))
        yield _counts(rng, topic_lengths, levels), shares


def _counts(rng: np.random.Generator, topic_lengths: IntArray, levels: FloatArray) -> csr_array:
    """Draw the words of documents, given how many of every topic they have."""
    n, V = len(topic_lengths), len(levels)
    places = list[IntArray]()
    for j, numbers in enumerate(topic_lengths.T):
        drawn = rng.random(int(numbers.sum())) * levels[-1, j]
        words = np.minimum(np.searchsorted(levels[:, j], drawn, side="right"), V - 1)
        places.append(np.repeat(np.arange(n) * V, numbers) + words)
    distinct, counts = np.unique(np.concatenate(places), return_counts=True)
    starts = np.searchsorted(distinct, np.arange(n + 1) * V)
    return csr_array((counts.astype(np.int32), (distinct % V).astype(np.int32), starts), (n, V))


def _names(n_words: int) -> list[str]:
    """Return the names of the words."""
    return [f"word{word}" for word in range(n_words)]
