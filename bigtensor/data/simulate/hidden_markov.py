"""Sequences of categories that a hidden Markov chain shows, with missing steps."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.simulate.rows import (
    Progress,
    RowBlock,
    Simulation,
    block_bounds,
    check_integer,
    check_positive,
    check_share,
    code_names,
    documented_writer,
    true_parameters,
)
from bigtensor.data.values.categories import MISSING_CODE, MOST_CATEGORIES
from bigtensor.data.values.random_states import RandomState, integer_seed
from bigtensor.descending_order import descending_order
from bigtensor.errors import ParameterError, Setting

FEATURE = "symbol"


@dataclass(frozen=True)
class _Chain:
    """Initial, transition (from a row to a column) and emission probabilities."""

    initial: FloatArray
    transition: FloatArray
    emission: FloatArray


def hidden_markov(
    rows: int,
    n_components: int,
    n_symbols: int = 10,
    sequences: int = 1,
    concentration: float = 1.0,
    stay: float = 0.0,
    missing: float = 0.0,
    random_state: RandomState = 0,
) -> xr.Dataset:
    """Draw sequences of symbols from a hidden Markov model.

    Initial, transition and emission probabilities are drawn from symmetric Dirichlet distributions.
    States are in the order of their shares in the long run, descending.

    One generator, ``numpy.random.default_rng(random_state)``, drives everything, in this order:
    initial, transition and emission probabilities, then states, symbols and missing steps of every
    block of 65,536 rows.

    Parameters
    ----------
    rows : int
        Steps of all sequences, at least 1.
    n_components : int
        Number of hidden states k, at least 1.
    n_symbols : int, default 10
        Number of symbols, at least 2.
    sequences : int, default 1
        Number of sequences, of one length but for the last, which has the rest; from 1 to `rows`.
    concentration : float, default 1.0
        Of the Dirichlet distributions: small values make states of few symbols each.
    stay : float, default 0.0
        Probability to stay in a state in any case, below 1: transitions are drawn for the rest.
    missing : float, default 0.0
        Share of the steps that are missing, at random, below 1.
    random_state : int, RandomState or Generator, default 0
        Seed, at least 0.

    Returns
    -------
    xarray.Dataset
        ``X`` (sample, feature) with the one feature ``symbol``, in the smallest integer type, -1
        where missing, with the attribute ``categories``; ``sequence`` (sample) and the hidden state
        ``label`` (sample), both int32; the truth in ``true_initial`` (state), ``true_transition``
        (state, next_state) and ``true_emission`` (state, category), float64; attributes
        ``simulator``, ``concentration``, ``stay``, ``missing`` and ``random_state``.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> data = hidden_markov(1000, 3, n_symbols=4, sequences=5, random_state=7)
    >>> data["X"].dtype, int(data["sequence"][-1]), data["true_emission"].shape
    (dtype('int8'), 4, (3, 4))
    """
    return _simulation(
        rows, n_components, n_symbols, sequences, concentration, stay, missing, random_state
    ).dataset()


@documented_writer
def write_hidden_markov(
    path: str | os.PathLike[str],
    rows: int,
    n_components: int,
    n_symbols: int = 10,
    sequences: int = 1,
    concentration: float = 1.0,
    stay: float = 0.0,
    missing: float = 0.0,
    random_state: RandomState = 0,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the rows of :func:`hidden_markov` to a Zarr store, in memory independent of `rows`."""
    simulation = _simulation(
        rows, n_components, n_symbols, sequences, concentration, stay, missing, random_state
    )
    simulation.write(path, overwrite=overwrite, progress=progress)


def _simulation(
    rows: int,
    n_components: int,
    n_symbols: int,
    sequences: int,
    concentration: float,
    stay: float,
    missing: float,
    random_state: RandomState,
) -> Simulation:
    """Check the parameters; return the truth and the rows to come."""
    check_integer("rows", rows, 1)
    k = check_integer("n_components", n_components, 1)
    n = check_integer("n_symbols", n_symbols, 2, MOST_CATEGORIES)
    check_integer("sequences", sequences, 1)
    seed = integer_seed(random_state)
    if sequences > rows:
        raise ParameterError(
            Setting("sequences") + f" must be at most the number of rows {rows:,}, not {sequences}"
        )
    check_positive("concentration", concentration)
    check_share("stay", stay)
    check_share("missing", missing)
    rng = np.random.default_rng(seed)
    chain = _drawn_chain(rng, k, n, float(concentration), float(stay))
    truth = true_parameters(
        "hidden_markov",
        {
            "true_initial": ("state", chain.initial),
            "true_transition": (("state", "next_state"), chain.transition),
            "true_emission": (("state", "category"), chain.emission),
        },
        [FEATURE],
        seed=seed,
        component_dim="state",
        attrs={
            "concentration": float(concentration),
            "stay": float(stay),
            "missing": float(missing),
        },
    )
    return Simulation(
        truth,
        _blocks(rng, chain, rows, -(-rows // sequences), float(missing)),
        rows,
        np.min_scalar_type(-n),
        {"sequence": None, "label": code_names("state", k)},
        {FEATURE: tuple(map(str, range(n)))},
    )


def _drawn_chain(
    rng: np.random.Generator, k: int, n: int, concentration: float, stay: float
) -> _Chain:
    """Draw the probabilities, with the states by their shares in the long run."""
    initial = rng.dirichlet(np.full(k, concentration))
    transition = stay * np.eye(k) + (1 - stay) * rng.dirichlet(np.full(k, concentration), size=k)
    emission = rng.dirichlet(np.full(n, concentration), size=k)
    share = np.linalg.matrix_power(transition, 2**20)[0]
    order = descending_order(share)
    return _Chain(initial[order], transition[np.ix_(order, order)], emission[order])


def _blocks(
    rng: np.random.Generator, chain: _Chain, rows: int, length: int, missing: float
) -> Iterator[RowBlock]:
    """Yield the symbols of rows, with their sequences and states."""
    state = 0
    for start, stop in block_bounds(rows):
        step = np.arange(start, stop)
        label = _states(rng.random(stop - start), step % length == 0, chain, state)
        state = int(label[-1])
        codes = np.empty((stop - start, 1), np.int32)
        uniform = rng.random(stop - start)
        for hidden, probabilities in enumerate(chain.emission):
            in_state = label == hidden
            codes[in_state, 0] = _inverse(probabilities, uniform[in_state])
        if missing:
            codes[rng.random(codes.shape) < missing] = MISSING_CODE
        yield {"X": codes, "sequence": step // length, "label": label}


def _states(
    uniform: FloatArray, begins: NDArray[np.bool_], chain: _Chain, before: int
) -> IndexArray:
    """Draw the states of consecutive rows, after the state before them.

    A step is a map of states, by its own random number; that of a first step is constant. The
    state of a row is the product of all maps up to it, which are made by doubling.
    """
    steps = np.stack([_inverse(row, uniform) for row in chain.transition], axis=1)
    steps[begins] = _inverse(chain.initial, uniform[begins])[:, None]
    reach = 1
    while reach < len(steps):
        steps[reach:] = np.take_along_axis(steps[reach:], steps[:-reach].copy(), axis=1)
        reach *= 2
    return np.asarray(steps[:, before])


def _inverse(probabilities: FloatArray, uniform: FloatArray) -> IndexArray:
    """Draw by inversion of a distribution."""
    return np.searchsorted(np.cumsum(probabilities)[:-1], uniform, side="right")
