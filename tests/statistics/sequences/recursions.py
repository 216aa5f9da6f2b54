"""Forward-backward recursions and best paths of one sequence after the other, as oracle.

Everything is in logarithms and over whole sequences: no blocks, no scales, no messages.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.sequences.chain import HiddenChain

Array = NDArray[np.float64]

LOG_SUM = np.logaddexp.reduce


@dataclass(frozen=True)
class Chain:
    """Initial (k,), transition (k, k) from a row to a column, and emission (k, symbols)."""

    initial: Array
    transition: Array
    emission: Array

    @classmethod
    def drawn(cls, k: int, symbols: int, rng: np.random.Generator) -> "Chain":
        """Return a chain of uniform distributions."""
        return cls(
            rng.dirichlet(np.ones(k)),
            rng.dirichlet(np.ones(k), size=k),
            rng.dirichlet(np.ones(symbols), size=k),
        )

    def hidden(self) -> HiddenChain:
        """Return the chain of the package."""
        tables = CodeTables.of_probabilities((self.emission.T,))
        return HiddenChain(
            self.initial, self.transition, MixtureDensities(np.ones(len(self.initial)), tables)
        )

    def log_emission(self, codes: NDArray[np.integer]) -> Array:
        """Return (rows, k); zeros for missing codes."""
        logs = np.log(self.emission.T)[codes]
        logs[codes < 0] = 0.0
        return np.asarray(logs)

    def drawn_codes(self, lengths: list[int], rng: np.random.Generator) -> NDArray[np.int16]:
        """Return the codes of sequences of these lengths, one behind the other."""
        codes = []
        for length in lengths:
            state = rng.choice(len(self.initial), p=self.initial)
            for _ in range(length):
                codes.append(rng.choice(self.emission.shape[1], p=self.emission[state]))
                state = rng.choice(len(self.initial), p=self.transition[state])
        return np.array(codes, np.int16)


def coded_sequences(codes: NDArray[np.integer], lengths: list[int]) -> xr.Dataset:
    """Return the codes of consecutive sequences as data with one feature of five categories."""
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), codes[:, None]),
            "sequence": ("sample", np.repeat(np.arange(len(lengths)), lengths)),
        },
        coords={"feature": ["symbol"]},
    )
    data["X"].attrs["categories"] = {"symbol": list("abcde")}
    return data


def runs(lengths: list[int]) -> Iterator[slice]:
    """Yield the rows of every sequence."""
    edges = np.cumsum([0, *lengths])
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))


def forward_backward(chain: Chain, codes: NDArray[np.integer]) -> tuple[Array, Array, Array]:
    """Return log alpha and log beta, each (rows, k), and log densities (rows,) of one sequence."""
    with np.errstate(divide="ignore"):
        initial, transition = np.log(chain.initial), np.log(chain.transition)
    emission = chain.log_emission(codes)
    alpha, beta = np.empty_like(emission), np.zeros_like(emission)
    alpha[0] = initial + emission[0]
    for t in range(1, len(codes)):
        alpha[t] = LOG_SUM(alpha[t - 1][:, None] + transition, axis=0) + emission[t]
    for t in range(len(codes) - 2, -1, -1):
        beta[t] = LOG_SUM(transition + emission[t + 1] + beta[t + 1], axis=1)
    return alpha, beta, np.diff(LOG_SUM(alpha, axis=1), prepend=0.0)


def posterior(chain: Chain, codes: NDArray[np.integer]) -> Array:
    """Return the probabilities of the states of one sequence: (rows, k)."""
    alpha, beta, _ = forward_backward(chain, codes)
    joint = alpha + beta
    return np.asarray(np.exp(joint - LOG_SUM(joint, axis=1, keepdims=True)))


def pair_counts(chain: Chain, codes: NDArray[np.integer], weight: Array) -> Array:
    """Return the expected number of transitions of one sequence, by the later row's weight."""
    alpha, beta, _ = forward_backward(chain, codes)
    emission, counts = chain.log_emission(codes), np.zeros_like(chain.transition)
    with np.errstate(divide="ignore"):
        transition = np.log(chain.transition)
    for t in range(1, len(codes)):
        joint = alpha[t - 1][:, None] + transition + emission[t] + beta[t]
        counts += weight[t] * np.exp(joint - LOG_SUM(joint, axis=None))
    return counts


def path_log_probability(
    chain: Chain, codes: NDArray[np.integer], path: NDArray[np.integer]
) -> float:
    """Return the log joint probability of a path and its sequence."""
    with np.errstate(divide="ignore"):
        steps = np.log(chain.initial[path[0]]) + np.log(chain.transition[path[:-1], path[1:]]).sum()
    return float(steps + chain.log_emission(codes)[np.arange(len(codes)), path].sum())


def best_log_probability(chain: Chain, codes: NDArray[np.integer]) -> float:
    """Return the log joint probability of the best path of one sequence."""
    with np.errstate(divide="ignore"):
        initial, transition = np.log(chain.initial), np.log(chain.transition)
    emission = chain.log_emission(codes)
    score = initial + emission[0]
    for t in range(1, len(codes)):
        score = np.max(score[:, None] + transition, axis=0) + emission[t]
    return float(score.max())
